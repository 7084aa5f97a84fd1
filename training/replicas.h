#pragma once
// Threads that train on parts of a batch side by side (data parallelism within one process). The
// operators of a small model are too short to share among threads: most of the time would go into
// waiting for one another, dozens of times a layer; here they wait once a step.

#include <memory>
#include <vector>

#include "training/task.h"

namespace zoo {

/// Rows [begin, end) of a batch.
Batch rows_of(Batch batch, int64_t begin, int64_t end);

class Replicas {
 public:
  /// As many as there are threads, for a small model on CPU without dropout; otherwise one, which
  /// is the task's module itself. Replicas share the parameters' storage and own their gradients.
  Replicas(Task& task, torch::Device device);

  int64_t count() const { return static_cast<int64_t>(modules_.size()); }

  /// Adds the gradient of scale * loss_sum(batch) to the task's module, each replica taking a part
  /// of the rows, in an order that does not depend on the threads.
  /// @param scale a number or, with a loss scale, scalar float32  @return scalar, the loss sum
  Tensor backward(const Batch& batch, const Tensor& scale, Precision precision);

 private:
  Task& task_;
  torch::Device device_;
  std::vector<torch::nn::Module*> modules_;                // the task's own first
  std::vector<std::shared_ptr<torch::nn::Module>> owned_;  // the others
  std::vector<std::vector<Tensor>> parameters_;            // of each module, in one order
};

}  // namespace zoo
