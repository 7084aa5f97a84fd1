#pragma once
// The training loop: steps, logs, evaluations, checkpoints, and when to stop. One for all tasks.

#include <functional>

#include "training/observer.h"
#include "training/run_folder.h"
#include "training/training_step.h"

namespace zoo {

/// Why a training ended.
enum class TrainEnd { steps, epochs, tokens, time, early_stopping, stopped };
template <>
struct EnumNames<TrainEnd> {
  static constexpr std::array values{std::pair{TrainEnd::steps, "max_steps"},
                                     std::pair{TrainEnd::epochs, "epochs"},
                                     std::pair{TrainEnd::tokens, "max_tokens"},
                                     std::pair{TrainEnd::time, "max_time"},
                                     std::pair{TrainEnd::early_stopping, "early_stopping"},
                                     std::pair{TrainEnd::stopped, "stopped"}};
};

/// A checkpoint and the value of the metric that ranks it.
struct RankedCheckpoint {
  int64_t step = 0;
  double value = 0;
};

/// How far a training is. Saved as trainer.json.
struct TrainerState {
  int64_t step = 0;      ///< optimizer steps done
  int64_t position = 0;  ///< training examples read
  double seconds = 0;    ///< of training, evaluations and checkpoints left out
  int64_t tokens = 0;    ///< read, padding left out
  double flops = 0;      ///< done on them, see training_flops()
  int64_t skipped_steps = 0;
  int64_t evaluations_since_best = 0;
  int64_t evaluations_since_reduction = 0;  ///< that gave no better value, for the plateau schedule
  int64_t reductions = 0;                   ///< of the learning rate by that schedule
  std::vector<RankedCheckpoint> best;       ///< the best evaluations, best first
  double report_loss_sum = 0;               ///< of the steps since the last report
  int64_t report_targets = 0;
  double loss_scale = 1;
  int64_t loss_scale_good_steps = 0;
};
Json to_json(const TrainerState& state);
/// @throws FormatError
TrainerState read_trainer_state(const fs::path& file);

/// Steps that `config` allows, the number from epochs and tokens counted out; 0: no limit but time.
/// @throws ConfigError if nothing ends the training
int64_t count_steps(const TrainingConfig& config, const Task& task);

struct TrainerParts {
  Task& task;
  const TrainingConfig& config;  ///< must outlive the trainer
  const RunFolder& run;
  TrainObserver& observer;
  torch::Device device = torch::kCPU;
  int64_t d_model = 0;                                ///< for the noam schedule
  std::function<void(const fs::path&)> save_model;    ///< writes weights and configs into a folder
  std::function<bool()> stop = [] { return false; };  ///< asked after each step
  StepWatch* watch = nullptr;                         ///< must outlive the trainer
  /// Floating-point operations to learn from a batch.
  std::function<double(const Batch&)> flops = [](const Batch&) { return 0.0; };
};

class Trainer {
 public:
  /// @throws ConfigError for limits, schedules and metrics that do not fit
  explicit Trainer(const TrainerParts& parts);

  /// Goes on from a checkpoint that the trainer wrote; the module's weights are loaded already.
  /// @throws DataError, FormatError
  void resume(const fs::path& checkpoint);

  /// Trains until a limit is reached or `stop` says so.
  /// @throws NumericError if training diverges, DataError if a checkpoint cannot be written
  TrainEnd run();

  const TrainerState& state() const { return state_; }
  int64_t total_steps() const { return total_steps_; }
  /// The last evaluation's metrics by their plain names; empty before the first.
  const Metrics& last_metrics() const { return last_metrics_; }

 private:
  std::vector<Batch> next_window();
  void report();
  void evaluate();
  void save();
  void sample();
  void add_seconds(double seconds);
  void read_device();
  void require_progress() const;
  bool is_better(double value, double than) const;
  bool is_kept_as_best(int64_t step) const;

  TrainerParts parts_;
  int64_t total_steps_;
  TrainingStep step_;
  TrainerState state_;
  Metrics last_metrics_;

  // Since the last report; tensors on the device.
  Tensor loss_sum_, skipped_;
  StepOutcome last_;
  int64_t tokens_ = 0, steps_ = 0;
  double interval_seconds_ = 0;
};

}  // namespace zoo
