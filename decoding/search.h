#pragma once
// What generate() and translate() share: the ways to choose tokens, over any model's context.

#include "decoding/context.h"
#include "decoding/generate.h"

namespace zoo {

struct DecodeJob {
  DecodeContext& context;  ///< a row for each prompt
  const std::vector<std::vector<int64_t>>& prompts;
  const std::vector<int64_t>& limits;  ///< the most new tokens of each prompt
  int64_t vocabulary;                  ///< V, the width of the context's logits
  const GenerationOptions& options;
  const GenerateArgs& args;
};

/// @throws ConfigError for options that contradict one another
void check_search(const GenerationOptions& options, const GenerateArgs& args);

/// Beam search where options.beam_size > 1, else draw().
std::vector<std::vector<Generation>> search(const DecodeJob& job);

/// Greedy decoding and sampling.
std::vector<std::vector<Generation>> draw(const DecodeJob& job);

/// Beam search (Graves 2012; Sutskever et al. 2014, section 3.2): the best outputs of each prompt,
/// by the score of options.length_norm, where a length counts the output's tokens, the end token
/// included.
///
/// With EarlyStopping::exact the end token of every running hypothesis is offered to the finished
/// ones at each step, and the beam_size most probable other continuations run on. A prompt's search
/// ends when none of them can still win: log-probabilities only fall, so a sum of L tokens ends
/// with a score of at most the larger of what it is worth at the lengths L + 1 and the limit. With
/// a beam as wide as the tree the search is exhaustive. In the other two modes, as elsewhere, an
/// end token counts only if it is among the beam_size best continuations of its step.
std::vector<std::vector<Generation>> beam_search(const DecodeJob& job);

}  // namespace zoo
