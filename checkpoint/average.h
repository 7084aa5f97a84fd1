#pragma once
// The mean of several checkpoints' weights: Vaswani et al. 2017, "Attention Is All You Need",
// section 6.1.

#include <vector>

#include "core/files.h"

namespace zoo {

/// Fills `output`, a folder that exists, with a checkpoint whose weights are the mean of those in
/// `checkpoints`, taken in float64 and rounded once; configs and tokenizer are those of the first.
/// One tensor at a time is in memory.
/// @param checkpoints at least one; whatever resolve_checkpoint() takes
/// @throws DataError, FormatError; ConfigError if the checkpoints are not of one model: other
/// tensors, shapes or dtypes, or another tokenizer
void average_checkpoints(const std::vector<fs::path>& checkpoints, const fs::path& output);

}  // namespace zoo
