#pragma once
// Trainings that are to be compared: the same data in the same order, as much of it as a budget
// allows, through models of any configs of one task.

#include <string>
#include <vector>

#include "analysis/comparison.h"
#include "analysis/train_dynamics.h"

namespace zoo {

enum class BudgetUnit { tokens, steps, seconds };
template <>
struct EnumNames<BudgetUnit> {
  static constexpr std::array values{std::pair{BudgetUnit::tokens, "tokens"},
                                     std::pair{BudgetUnit::steps, "steps"},
                                     std::pair{BudgetUnit::seconds, "seconds"}};
};

struct Budget {
  BudgetUnit unit = BudgetUnit::steps;
  double amount = 0;  ///< above 0; a whole number of tokens or steps
};

/// "tokens=2e6", "steps=500", "seconds=90". @throws ConfigError
Budget parse_budget(const std::string& text);

/// Makes all trainings read the same batches: what decides them (seed, sizes, label smoothing), and
/// when loss and metrics are taken, becomes as in the first one. Learning rate, schedule,
/// optimizer, clipping and precision stay each config's own. None stops early.
/// @return what was changed, in words
/// @throws ConfigError: fewer than two, or other tasks, data, tokenizers or longest texts
std::vector<std::string> align_trainings(std::vector<DynamicsRun>& runs);

/// Replaces the limits of all trainings. Seconds are those of training alone, without evaluations
/// and checkpoints: as many steps as they hold at the speed of the first ones, so that learning
/// rates fall to the end of them.
/// @throws as train()
void set_budget(std::vector<DynamicsRun>& runs, const Budget& budget, torch::Device device,
                TrainObserver& observer);

/// That all trainings have read the same, step by step, as far as both went.
/// @throws DataError naming the first step where they have not
void require_same_order(const std::vector<TrainedDynamics>& trainings);

/// The first `pairs` pairs of the validation split, translated greedily by the run's best
/// checkpoint: BLEU and exact matches by words of the reference. Empty for other tasks than
/// translation. @throws as load_model(), DataError for files that are gone
std::vector<LengthScore> scores_by_length(const fs::path& run, int64_t pairs, torch::Device device);

}  // namespace zoo
