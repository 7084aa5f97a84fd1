#include "analysis/memory_meter.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <mutex>

namespace zoo {

/// Stands in the slot of LibTorch's profiler. A GPU's backward pass reports from another thread.
class MemoryMeter::Counter final : public c10::MemoryReportingInfoBase {
 public:
  explicit Counter(torch::DeviceType type) : type_(type) {}

  void reportMemoryUsage(void* /*place*/, int64_t bytes, size_t /*allocated*/, size_t /*reserved*/,
                         c10::Device device) override {
    if (device.type() != type_) return;
    const std::lock_guard lock(mutex_);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  bool memoryProfilingEnabled() const override { return true; }

  int64_t live() const {
    const std::lock_guard lock(mutex_);
    return live_;
  }
  int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  torch::DeviceType type_;
  mutable std::mutex mutex_;
  int64_t live_ = 0, peak_ = 0;
};

struct MemoryMeter::Guard {
  explicit Guard(std::shared_ptr<Counter> counter)
      : guard(c10::DebugInfoKind::PROFILER_STATE, std::move(counter)) {}
  c10::DebugInfoGuard guard;
};

MemoryMeter::MemoryMeter(torch::Device device)
    : counter_(std::make_shared<Counter>(device.type())),
      guard_(std::make_unique<Guard>(counter_)) {}
MemoryMeter::~MemoryMeter() = default;

int64_t MemoryMeter::live() const { return counter_->live(); }
int64_t MemoryMeter::peak() const { return counter_->peak(); }

}  // namespace zoo
