#include "training/averaging.h"

#include <algorithm>

#include "core/error.h"
#include "training/trainer.h"

namespace zoo {

std::vector<fs::path> checkpoints_to_average(const RunFolder& run, int64_t count, AverageOf of) {
  const std::vector<int64_t> steps = run.checkpoint_steps();
  std::vector<int64_t> chosen = steps;
  if (of == AverageOf::best) {
    chosen.clear();
    if (!steps.empty())
      for (const RankedCheckpoint& best :
           read_trainer_state(run.checkpoint(steps.back()) / "trainer.json").best)
        if (std::binary_search(steps.begin(), steps.end(), best.step)) chosen.push_back(best.step);
  }
  const auto found = static_cast<int64_t>(chosen.size());
  if (found < count)
    throw DataError(
        cat(utf8(run.path()), ": has ", found,
            of == AverageOf::best ? " checkpoints that rank as its best ones" : " checkpoints",
            ", and ", count, " are to be averaged; train with a larger training.",
            of == AverageOf::best ? "keep_best" : "keep_last", ", or average fewer"));
  if (of == AverageOf::last)
    chosen.erase(chosen.begin(), chosen.end() - count);
  else
    chosen.resize(static_cast<size_t>(count));
  std::vector<fs::path> folders;
  for (const int64_t step : chosen) folders.push_back(run.checkpoint(step));
  return folders;
}

}  // namespace zoo
