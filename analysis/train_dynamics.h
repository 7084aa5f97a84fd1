#pragma once
// Trainings that are looked into: what analysis/dynamics.h holds, measured in the steps of the one
// trainer there is (training/train.h), of any config of any task.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/dynamics.h"
#include "training/train.h"

namespace zoo {

/// The part of one parameter that belongs to one group.
struct ParameterPart {
  size_t parameter = 0;         ///< its place in the list
  int64_t first = 0, rows = 0;  ///< of its first dimension
  ParameterGroup group;
};

/// Cuts parameters into the groups of ParameterGroup: one matrix of queries, keys and values into
/// these, a recurrent layer's into its gates. Each number belongs to one part.
/// @param parameters of a model of this config, by name
std::vector<ParameterPart> parameter_parts(const ModelConfig& config,
                                           const NamedTensors& parameters);

/// How far the loss of each row's last target reaches back: see GradientReach. The module is put
/// into evaluation mode meanwhile; its parameters' gradients stay as they are.
/// @param module a CausalLm or Seq2Seq; of other kinds there is nothing to say, since they read all
/// places at once  @param batch of a task that learns it
std::vector<GradientReach> gradient_reach(torch::nn::Module& module, const Batch& batch,
                                          int64_t step);

struct DynamicsLook {
  int64_t every = 10;                    ///< steps from one look to the next
  bool by_layer = true, by_time = true;  ///< DynamicsStep, GradientReach
};

/// Looks into the first step and every `every`-th one, and counts clipped steps in between.
class DynamicsWatch final : public StepWatch {
 public:
  /// @param result is filled as training goes on; it and the task must outlive this
  DynamicsWatch(const ProjectConfig& project, Task& task, const DynamicsLook& look,
                Dynamics& result);

  void begin(int64_t step, std::span<const Batch> window) override;
  void before_update(const StepView& view) override;
  void after_update(const StepView& view) override;

 private:
  bool is_due(int64_t step) const { return step == 1 || step % look_.every == 0; }
  void measure_gradients(const StepView& view);
  void measure_update(const StepView& view);

  ModelConfig model_;
  Task& task_;
  DynamicsLook look_;
  Dynamics& result_;
  std::vector<ParameterPart> parts_;
  std::vector<size_t> group_of_;  // of each part, its place in Dynamics::groups
  Batch probe_;                   // for gradient_reach()
  // Of the step that is looked into.
  std::vector<Tensor> gradients_, weights_;  // copies of each parameter's, gradients unscaled
  // Since the last one.
  Tensor clipped_;  // scalar int64
  int64_t steps_ = 0;
};

/// A training to be looked into.
struct DynamicsRun {
  std::string name;  ///< of its folder
  ProjectConfig project;
  std::optional<fs::path> init_from;  ///< weights to start from
};

/// Does something with the config of `run`, whose name a ConfigError then begins with.
void with_name_of(const DynamicsRun& run, const std::function<void()>& work);

/// What a user names: a config file, or the folder of a run or checkpoint, whose own config is used
/// and whose weights are gone on from.
/// @param name a path; the training is named after its last part, without its ending
/// @param more config files that are laid over it  @param settings win over all
/// @throws ConfigError, DataError, FormatError
DynamicsRun dynamics_run(const std::string& name, const std::vector<fs::path>& more,
                         const std::vector<ConfigSetting>& settings);
/// Several; equal names are numbered.
std::vector<DynamicsRun> dynamics_runs(const std::vector<std::string>& names,
                                       const std::vector<fs::path>& more,
                                       const std::vector<ConfigSetting>& settings);

struct TrainDynamicsOptions {
  fs::path output;  ///< each training gets the run folder output/NAME
  DynamicsLook look;
  bool overwrite = false;  ///< older runs in those folders
  torch::Device device = torch::kCPU;
  std::string command_line;
  std::function<bool()> stop = [] { return false; };  ///< asked after each step
  std::function<void(const DynamicsRun&)> on_start = [](const DynamicsRun&) {};
};

struct TrainedDynamics {
  std::string name;
  TrainResult result;
  Dynamics dynamics;
};

/// Trains one after the other, each into a run folder with dynamics.csv, gradient_time.csv and
/// charts by layer and by group beside the usual files. Ends early, with what there is, when `stop`
/// says so.
/// @throws as train()
std::vector<TrainedDynamics> train_dynamics(const std::vector<DynamicsRun>& runs,
                                            const TrainDynamicsOptions& options,
                                            TrainObserver& observer);

/// Writes into `folder`: train.csv and reach.csv of all trainings, gradnorm.json with their checks,
/// reach.svg and clipping.svg. @throws DataError
void write_train_dynamics(const std::vector<TrainedDynamics>& trainings, const fs::path& folder);

/// G12 and G13 of all of them.
std::vector<TheoryCheck> dynamics_checks(const std::vector<TrainedDynamics>& trainings);

}  // namespace zoo
