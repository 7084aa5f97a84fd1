#pragma once
// Learning rate as a pure function of the step (and, for plateau, of how often it was reduced):
// it has no state of its own that resuming could shift.

#include <cstdint>

#include "training/config.h"

namespace zoo {

class Schedule {
 public:
  /// @param total_steps optimizer steps of the whole training, 0: unknown
  /// @param d_model width of the model, for noam
  /// @throws ConfigError if the schedule needs an end and there is none, or warm-up is longer than
  /// training
  Schedule(const ScheduleConfig& config, double learning_rate, int64_t total_steps,
           int64_t d_model);

  /// The rate of optimizer step `step`, counted from 1.
  /// @param reductions how often the validation metric has stood still so far, for plateau
  double at(int64_t step, int64_t reductions = 0) const;

  /// Evaluations without a better value after which the rate is reduced; 0: it never is.
  int64_t patience() const;

 private:
  ScheduleConfig config_;
  double learning_rate_;
  int64_t total_steps_, d_model_;
};

}  // namespace zoo
