#pragma once
// Greedy decoding of encoder–decoders, a batch at a time: what a training looks at in between.

#include <cstdint>
#include <vector>

#include "models/contracts.h"

namespace zoo {

struct GreedyOptions {
  int64_t begin = 0, end = 0;  ///< the tokens that begin and end a target
  int64_t max_tokens = 0;      ///< most tokens of a target, at most the model's max_length()
};

/// The most probable token after each, until `end` comes, which is left out. The model is in
/// evaluation mode.
/// @param source (B, S) int64  @param lengths (B) int64, both on the model's device
/// @return B rows of ids
std::vector<std::vector<int64_t>> decode_greedily(Seq2Seq& model, const Tensor& source,
                                                  const Tensor& lengths,
                                                  const GreedyOptions& options);

}  // namespace zoo
