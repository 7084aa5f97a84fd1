#pragma once
// Beam search over a decoder-only model (Graves 2012; Sutskever et al. 2014, section 3.2).

#include "decoding/generate.h"

namespace zoo {

/// The best outputs of each prompt, by the sum of log-probabilities over length^length_penalty,
/// where the length counts the output's tokens, the end token included.
///
/// At each step the end token of every running hypothesis is offered to the finished ones, and the
/// beam_size most probable other continuations run on. A prompt's search ends when none of them can
/// still win: log-probabilities only fall, so a sum s of L tokens ends with a score of at most the
/// larger of s / (L + 1)^p and s / limit^p. With a beam as wide as the tree the search is
/// exhaustive.
///
/// Arguments, result and errors as in generate(), which calls this when beam_size > 1; `limits`
/// holds the most new tokens of each prompt.
std::vector<std::vector<Generation>> beam_search(CausalLm& model,
                                                 const std::vector<std::vector<int64_t>>& prompts,
                                                 const std::vector<int64_t>& limits,
                                                 const GenerationOptions& options,
                                                 const GenerateArgs& args);

}  // namespace zoo
