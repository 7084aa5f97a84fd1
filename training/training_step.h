#pragma once
// One optimizer step: forward and backward over a window of micro-batches, clipping, update.

#include <functional>
#include <span>

#include "training/optimizer.h"
#include "training/precision.h"
#include "training/replicas.h"
#include "training/schedule.h"
#include "training/task.h"

namespace zoo {

/// What a step did. The tensors are on the model's device; reading one waits for it.
struct StepOutcome {
  Tensor loss_sum;           ///< over the window's targets, in nats: scalar float64
  int64_t target_count = 0;  ///< 0: nothing to learn, nothing was updated
  int64_t token_count = 0;   ///< tokens read; padding does not count
  Tensor grad_norm;          ///< before clipping: scalar float64
  Tensor skipped;  ///< 1 if the gradient was not finite and nothing was updated: scalar float32
  double learning_rate = 0;
  double watch_seconds = 0;  ///< that a StepWatch took, which are not the step's
};

/// A step as a StepWatch sees it.
struct StepView {
  int64_t step = 0;  ///< counted from 1
  const NamedTensors&
      parameters;  ///< that are trained, each storage once, their gradients in grad()
  const StepOutcome& outcome;
  Tensor loss_scale;  ///< scalar float32, a factor of the gradients before the update; undefined: 1
};

/// Looks into every step of a training. It must change nothing, and is best quick.
class StepWatch {
 public:
  virtual ~StepWatch() = default;
  /// What the step will learn from.
  virtual void begin(int64_t /*step*/, std::span<const Batch> /*window*/) {}
  /// The gradients are complete; nothing is clipped or updated yet.
  virtual void before_update(const StepView& /*view*/) {}
  /// The parameters are updated, unless the step was skipped; grad() now holds what they were
  /// updated by: clipped, and without the loss scale.
  virtual void after_update(const StepView& /*view*/) {}
};

class TrainingStep {
 public:
  /// @param config must outlive this
  TrainingStep(Task& task, const TrainingConfig& config, const Schedule& schedule,
               torch::Device device);

  /// Step `step`, counted from 1. The loss is the mean over all targets of the window, so that
  /// accumulated micro-batches equal the joined batch. A gradient with NaN or infinity is not
  /// applied. Seeds torch's generators from (seed, step): dropout does not depend on the past.
  /// @param reductions of the learning rate so far, see Schedule::at()
  StepOutcome run(std::span<const Batch> window, int64_t step, int64_t reductions = 0);

  /// @param watch looks into the steps from now on and must outlive this; null: nobody
  void set_watch(StepWatch* watch) { watch_ = watch; }

  /// Steps in a row, up to the last one, that were skipped; waits for the device.
  int64_t skipped_in_a_row() const;
  /// How many of those mean that training has diverged.
  int64_t skip_limit() const;

  const Schedule& schedule() const { return schedule_; }
  Precision precision() const { return precision_; }
  /// Exchanges the weights and their running mean; nothing without ema.
  void swap_mean_weights();
  bool has_mean_weights() const { return !mean_weights_.empty(); }

  /// What resuming needs beside the weights in use: tensors of this step, to save or to copy over.
  /// With ema that is the other set of weights: those proper while the mean is in use.
  NamedTensors state() const;
  LossScale& loss_scale() { return loss_scale_; }

 private:
  void look(StepOutcome& outcome, const std::function<void()>& use) const;

  Task& task_;
  const TrainingConfig& config_;
  Schedule schedule_;
  torch::Device device_;
  Precision precision_;
  Optimizer optimizer_;
  Replicas replicas_;
  LossScale loss_scale_;
  std::vector<Tensor> weights_, mean_weights_;  // of the optimizer's parameters
  Tensor skipped_in_a_row_;                     // scalar float32
  StepWatch* watch_ = nullptr;
};

}  // namespace zoo
