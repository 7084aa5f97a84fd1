#pragma once
// How probable given texts are under a model.

#include <cstdint>
#include <vector>

#include "models/contracts.h"

namespace zoo {

/// A source and the target that follows it, as ids: both with their end tokens.
struct LikelihoodPair {
  std::vector<int64_t> source, target;
};

/// The natural log-probability of each target token, given the source and the tokens before it.
/// @param begin what the decoder reads first  @param batch_tokens tokens of the longer side in a
/// batch, padding included; changes no result beyond rounding
/// @return a row for each pair, as long as its target
/// @throws ShapeError for a side longer than the model's
std::vector<std::vector<double>> target_log_probabilities(Seq2Seq& model,
                                                          const std::vector<LikelihoodPair>& pairs,
                                                          int64_t begin,
                                                          int64_t batch_tokens = 4096);

/// The natural log-probability of each token but the first of each row, under a decoder-only model.
/// @param rows ids, each at least 2 and at most max_length() + 1  @throws ShapeError
std::vector<std::vector<double>> token_log_probabilities(
    CausalLm& model, const std::vector<std::vector<int64_t>>& rows, int64_t batch_tokens = 4096);

}  // namespace zoo
