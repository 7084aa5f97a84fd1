#pragma once
// A whole training, from a project config to a run folder.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "training/observer.h"
#include "training/trainer.h"

namespace zoo {

struct TrainOptions {
  fs::path output;  ///< the run folder; made if it is not there
  /// Where to go on: "auto" (the last checkpoint if there is one, else from the start), "last",
  /// "best", or a checkpoint's path. Unset: from the start, in an empty folder.
  std::optional<std::string> resume;
  bool overwrite = false;             ///< remove an older run from the folder first
  std::optional<fs::path> init_from;  ///< a checkpoint whose weights (and tokenizer) to start from
  std::vector<ConfigSetting> overrides;  ///< changes to the config of the run that is resumed
  torch::Device device = torch::kCPU;
  std::string command_line;                           ///< for the receipt
  std::function<bool()> stop = [] { return false; };  ///< asked after each step: save and end
  /// Makes what looks into the steps, when model and task stand; null: nobody does.
  std::function<std::unique_ptr<StepWatch>(const ProjectConfig& project, Task& task)> watch = {};
};

struct TrainResult {
  TrainEnd end = TrainEnd::steps;
  int64_t step = 0;
  std::string metric;     ///< that `best_value` is of
  double best_value = 0;  ///< NaN before the first evaluation
  int64_t best_step = 0;
  fs::path checkpoint;        ///< the best one, else the last one
  bool had_finished = false;  ///< a resumed run that had no step left to do
};

/// The config of the run that `options` resumes, with the overrides; nothing if it starts afresh.
/// @throws DataError if there is nothing to resume
std::optional<ProjectConfig> resumed_project(const TrainOptions& options);

/// Trains as `project` says and writes the run folder. The same project, seed, device and number of
/// threads give the same weights, bit for bit on one thread; a run that was interrupted and resumed
/// gives those of one that was not.
/// @throws ConfigError: limits, names and sizes that do not fit, a resumed run whose config differs
/// without an override · DataError: files, folders, a full disk · NumericError: divergence
TrainResult train(const ProjectConfig& project, const TrainOptions& options,
                  TrainObserver& observer);

/// What a training would take.
struct TrainEstimate {
  int64_t parameters = 0;
  double flops_per_token = 0;  ///< forward and backward, at the batch's length (models/cost.h),
                               ///< the mean over the tokens that are read, of sources and targets
  int64_t tokens_per_step = 0;
  int64_t total_steps = 0;  ///< 0: no limit but time
  double seconds_per_step = 0;
  double seconds = 0;     ///< of all steps; evaluations and checkpoints are left out
  double peak_bytes = 0;  ///< CPU: measured, all of this process; CUDA: worked out, on the device
};

/// Builds everything, times a few steps and throws them away; the output folder is not touched.
/// @throws as train()
TrainEstimate estimate_training(const ProjectConfig& project, const TrainOptions& options,
                                TrainObserver& observer);

}  // namespace zoo
