#pragma once
// Steps that change a row's logits before a token is chosen. Each is a pure function of the row's
// own tokens, so that no row depends on its batch. No torch here: a row is a span of V floats.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "decoding/options.h"

namespace zoo {

/// What a step may know of its row.
struct RowHistory {
  std::span<const int64_t> tokens;  ///< prompt and output so far
  int64_t num_new = 0;              ///< how many of them are output
};

/// Divides the positive logits of the tokens in `history` by `penalty` and multiplies the negative
/// ones, each distinct token once (Keskar et al. 2019, "CTRL", section 4.1).
void penalize_repetition(std::span<float> logits, std::span<const int64_t> history, double penalty);

/// Subtracts `presence` once from the logit of each distinct token in `history`, and `frequency`
/// for each time it stands there.
void penalize_counts(std::span<float> logits, std::span<const int64_t> history, double presence,
                     double frequency);

/// Forbids (logit -inf) each token that would complete an n-gram of `size` tokens which `history`
/// holds already (Paulus et al. 2018, section 2.5).
void forbid_repeated_ngrams(std::span<float> logits, std::span<const int64_t> history,
                            int64_t size);

/// Forbids each token that would complete one of `sequences` at the end of `history`.
void forbid_sequences(std::span<float> logits, std::span<const int64_t> history,
                      const std::vector<std::vector<int64_t>>& sequences);

/// The steps that `options` ask for, in this order:
///   adjust: logit_bias, repetition_penalty, presence_penalty and frequency_penalty;
///   forbid: logit_bias of -inf, no_repeat_ngram_size, banned_sequences, min_new_tokens.
/// Temperature and truncation come after them (decoding/sampler.h). The two halves stand apart
/// because beam search scores with the adjusted distribution and then leaves forbidden tokens out,
/// without making the others more probable.
class LogitsProcessors {
 public:
  /// @param eos the end token, if there is one  @throws ConfigError for ids outside [0, vocab_size)
  LogitsProcessors(const GenerationOptions& options, std::optional<int64_t> eos,
                   int64_t vocab_size);

  bool empty() const { return adjust_.empty() && forbid_.empty(); }
  /// @param logits (V)
  void adjust(std::span<float> logits, const RowHistory& history) const;
  void forbid(std::span<float> logits, const RowHistory& history) const;

 private:
  using Step = std::function<void(std::span<float>, const RowHistory&)>;
  std::vector<Step> adjust_, forbid_;
};

}  // namespace zoo
