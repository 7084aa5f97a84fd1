#pragma once
// Translation with an encoder–decoder: greedy, by sampling, or by beam search.

#include <vector>

#include "decoding/generate.h"

namespace zoo {

/// What translate() needs beside the options that travel with a model.
struct TranslateArgs {
  GenerateArgs search;  ///< its tokenizer is the target's; its rows are the sources
  /// What the decoder reads first; unset: begin_token() of the tokenizer.
  std::optional<int64_t> begin = {};
  /// Tokens that each translation begins with: one row for each source, or none at all.
  std::vector<std::vector<int64_t>> prefixes = {};
  /// Most tokens of a translation for each source token, and ten more; 0: up to the model's longest
  /// target. options.max_new_tokens, where it is set, replaces it.
  double max_length_ratio = 3;
  /// Source tokens in a batch, padding included; changes no translation.
  int64_t batch_tokens = 1024;
};

/// Translates each source. Sentences of like length are computed together, and what a sentence gets
/// depends on itself, its number, the seed and the options alone. In the outputs, `tokens` are the
/// new ones, and `text` begins with the prefix.
/// @param sources rows of ids, none empty, as the model was trained on them (with their end token)
/// @return num_samples outputs of each source, in the order of the sources; fewer only if a beam
/// finds fewer
/// @throws ConfigError: options that contradict one another, ids outside the vocabularies, an empty
/// or over-long source, no token to begin with
std::vector<std::vector<Generation>> translate(Seq2Seq& model,
                                               const std::vector<std::vector<int64_t>>& sources,
                                               const GenerationOptions& options,
                                               const TranslateArgs& args = {});

/// The token that a decoder reads first, as SpecialIds::decoder_start() has it.
/// @throws ConfigError if the tokenizer has none
int64_t begin_token(const Tokenizer& tokenizer);

/// What a model looks at while it reads a source and chooses each token of a target: the weights of
/// each layer, float32 on the CPU; empty where the model has no such attention.
struct TranslationAttention {
  std::vector<Tensor> encoder;  ///< (H, S, S): the source to itself
  std::vector<Tensor> decoder;  ///< (H, T, T): the decoder's inputs, which begin with `begin`
  std::vector<Tensor> cross;    ///< (H, T, S): row i while token i of the target was chosen
};

/// @param source S ids  @param target T ids, at least one, the begin token left out
/// @throws ShapeError if they exceed the model's lengths
TranslationAttention translation_attention(Seq2Seq& model, const std::vector<int64_t>& source,
                                           int64_t begin, const std::vector<int64_t>& target);

/// How much each target token looked at each source token while it was chosen: the mean over the
/// heads of the last layer that has attention.
/// @param source S ids  @param target T ids, the begin token left out
/// @return (T, S) float32 on the CPU; undefined if the model has no attention
Tensor source_attention(Seq2Seq& model, const std::vector<int64_t>& source, int64_t begin,
                        const std::vector<int64_t>& target);

}  // namespace zoo
