#pragma once
// Bytes that LibTorch's allocators hand out, as they report them themselves.

#include <memory>

#include "core/shape.h"

namespace zoo {

/// Counts while it lives: what this thread, and the backward passes that it starts, allocate and
/// free. The CPU's numbers are bytes asked for, a GPU's those of its blocks. What oneDNN and BLAS
/// take for themselves is not among them. Tensors made before should outlive the meter, since
/// freeing them is not counted; meters do not nest.
class MemoryMeter {
 public:
  explicit MemoryMeter(torch::Device device);
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter&) = delete;
  MemoryMeter& operator=(const MemoryMeter&) = delete;

  int64_t live() const;  ///< allocated since the start and not freed
  int64_t peak() const;  ///< the most that was live at once

 private:
  class Counter;
  std::shared_ptr<Counter> counter_;
  struct Guard;
  std::unique_ptr<Guard> guard_;
};

}  // namespace zoo
