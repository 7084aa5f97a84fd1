#pragma once
// Rows of ids of different lengths, for models that take them as one tensor.

#include <span>
#include <vector>

#include "core/shape.h"

namespace zoo {

/// Rows padded at the right with 0: (B, T) int64 on the CPU, T the longest length.
Tensor pad_rows(const std::vector<std::span<const int64_t>>& rows);

/// The numbers of the rows, those of like length together, in batches of at most `tokens` tokens,
/// padding included, or of a single row.
/// @param groups of each row: rows of different ones share no batch; empty: all may
std::vector<std::vector<size_t>> batches_of_like_length(const std::vector<int64_t>& lengths,
                                                        int64_t tokens,
                                                        const std::vector<int64_t>& groups = {});

}  // namespace zoo
