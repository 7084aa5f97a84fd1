#pragma once
// LibTorch's threads for a while.

#include <torch/torch.h>

namespace zoo {

/// LibTorch's threads for an operator while this lives.
class WithThreads {
 public:
  explicit WithThreads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~WithThreads() { at::set_num_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

}  // namespace zoo
