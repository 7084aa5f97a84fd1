#pragma once
// How well a language model predicts a text. Letters of the shapes: core/shape.h.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "models/contracts.h"

namespace zoo {

/// Tokens of any length, read a piece at a time.
struct TokenSource {
  int64_t size = 0;
  /// Copies the tokens from `first` on.
  std::function<void(int64_t first, std::span<int64_t> out)> read;
};

struct PerplexityOptions {
  int64_t context = 0;  ///< tokens that the model sees at once; 0: its max_length
  int64_t stride = 0;   ///< tokens that the window moves by, at most context; 0: context
  std::optional<int64_t>
      bos;                 ///< a token put before the text, so that its first token is predicted
  int64_t batch_size = 0;  ///< windows in a forward pass; 0: as many as keep the logits small
  std::function<void(int64_t done, int64_t total)> progress;
};

struct PerplexityScore {
  int64_t tokens = 0;  ///< predicted, each exactly once
  double nats = 0;     ///< -ln p summed over them
  int64_t right = 0;   ///< whose most probable token was the true one
  double loss() const { return nats / static_cast<double>(tokens); }
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(tokens); }
};

/// Scores the whole text. Every token after the first (with `bos`, every token) is predicted once,
/// from at most `context` tokens before it: a window of `context` tokens moves by `stride`, and of
/// each window the targets that no earlier window had are counted. With stride = context the
/// windows do not overlap; a smaller stride gives each token a longer past at more cost. Memory
/// does not grow with the text.
/// @throws ConfigError for a context or stride that the model cannot have, DataError for a text
/// with nothing to predict, NumericError if the loss is not a number
PerplexityScore measure_perplexity(CausalLm& model, const TokenSource& text,
                                   const PerplexityOptions& options = {});

struct LossEstimateOptions {
  int64_t batches = 20, batch_size = 12;
  int64_t context = 0;  ///< 0: the model's max_length
  uint64_t seed = 1337;
};

/// nanoGPT's estimate: the mean loss in nats over windows at random places. It scatters, and weighs
/// tokens unevenly: say which of the two a number is.
/// @throws as measure_perplexity()
double estimate_loss(CausalLm& model, const TokenSource& text,
                     const LossEstimateOptions& options = {});

}  // namespace zoo
