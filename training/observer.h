#pragma once
// What a training tells while it runs. The library prints nothing; the command line, the log files
// and TensorBoard are observers.

#include <string>

#include "core/files.h"
#include "training/task.h"

namespace zoo {

/// The steps since the last report.
struct StepReport {
  int64_t step = 0, total_steps = 0;  ///< total 0: unknown
  double epoch = 0;                   ///< passes over the training data so far
  double loss = 0;                    ///< mean over the targets of these steps, in nats
  double learning_rate = 0;           ///< of the last step
  double grad_norm = 0;               ///< of the last step, before clipping
  int64_t skipped_steps = 0;          ///< since the start: gradients that were not finite
  int64_t tokens = 0;                 ///< read since the start, of sources too, padding left out
  double flops = 0;                   ///< floating-point operations on them (models/cost.h)
  double tokens_per_second = 0;
  double seconds = 0;       ///< of training since the start, resumed parts included
  double seconds_left = 0;  ///< estimate; negative: unknown
};

struct EvaluationReport {
  int64_t step = 0;
  Metrics metrics;  ///< "valid_loss", … : the whole validation split
  bool is_best = false;
  double seconds = 0;  ///< that the evaluation took
};

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// The run folder stands; training begins after `step` steps done before.
  virtual void started(const fs::path& /*run*/, int64_t /*step*/) {}
  virtual void steps(const StepReport& /*report*/) {}
  virtual void evaluated(const EvaluationReport& /*report*/) {}
  virtual void saved(const fs::path& /*checkpoint*/, int64_t /*step*/) {}
  virtual void sampled(const std::string& /*text*/, int64_t /*step*/) {}
  /// Something to know that is no error.
  virtual void notice(const std::string& /*message*/) {}
};

/// "step 100/2,000 | loss 2.3456 | lr 9.9e-04 | …": the line of logs and terminals.
std::string log_line(const StepReport& report);
std::string log_line(const EvaluationReport& report);

/// The same as one object of metrics.jsonl.
Json to_json(const StepReport& report);
Json to_json(const EvaluationReport& report);

}  // namespace zoo
