#pragma once
// Which checkpoints of a run to average.

#include <vector>

#include "training/config.h"
#include "training/run_folder.h"

namespace zoo {

/// The last `count` checkpoints of a run, oldest first, or those with the best values that its
/// trainer kept, best first.
/// @throws DataError if there are fewer, saying how many
std::vector<fs::path> checkpoints_to_average(const RunFolder& run, int64_t count, AverageOf of);

}  // namespace zoo
