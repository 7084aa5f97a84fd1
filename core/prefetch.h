#pragma once
// Values that are made on worker threads before they are asked for.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace zoo {

/// Values have keys, and after the value of key k that of next(k) is usually asked for. Asking for
/// another one begins anew there.
template <class Value>
class Prefetch {
 public:
  /// @param workers threads; 0: values are made when they are asked for
  /// @param ahead values that are made before they are asked for, at most
  /// @param make called by several threads at once; what it throws, take() throws
  Prefetch(int64_t workers, int64_t ahead, std::function<Value(int64_t)> make,
           std::function<int64_t(int64_t)> next)
      : ahead_(ahead), make_(std::move(make)), next_(std::move(next)) {
    for (int64_t i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      jobs_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  /// For one thread at a time.
  Value take(int64_t key) {
    if (threads_.empty()) return make_(key);
    if (coming_.empty() || coming_.front().key != key) {
      const std::lock_guard lock(mutex_);
      coming_.clear();
      jobs_.clear();
    }
    int64_t last = coming_.empty() ? key : next_(coming_.back().key);
    while (static_cast<int64_t>(coming_.size()) <= ahead_) {
      order(last);
      last = next_(last);
    }
    std::future<Value> value = std::move(coming_.front().value);
    coming_.pop_front();
    return value.get();
  }

 private:
  struct Coming {
    int64_t key;
    std::future<Value> value;
  };

  void order(int64_t key) {
    std::packaged_task<Value()> job([this, key] { return make_(key); });
    coming_.push_back({key, job.get_future()});
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

  void work() {
    while (true) {
      std::packaged_task<Value()> job;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
        if (stop_) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  int64_t ahead_;
  std::function<Value(int64_t)> make_;
  std::function<int64_t(int64_t)> next_;
  std::deque<Coming> coming_;  // of take()'s thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<Value()>> jobs_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace zoo
