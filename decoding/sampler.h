#pragma once
// Chooses a row's next token from its logits: the most probable one, or a draw from the truncated
// distribution. No torch here.

#include <cstdint>
#include <span>
#include <vector>

#include "decoding/options.h"

namespace zoo {

/// A token that can still be chosen.
struct Candidate {
  int64_t id;
  double logit;  ///< over the temperature, less the best one: 0 for the most probable token
  double probability;
};

/// Temperature, then truncation in this order: top_k, top_p, min_p, typical_p; each works on the
/// renormalised distribution that the one before it leaves, and keeps at least one token. Of
/// equally good tokens the one with the lower id counts as better.
class Sampler {
 public:
  explicit Sampler(const GenerationOptions& options) : options_(options) {}

  /// True if the choice is the most probable token, without a draw.
  bool greedy() const { return !options_.sample || options_.temperature == 0; }

  /// The tokens that can be drawn, in the order of their ids, with probabilities that sum to 1.
  /// Valid until the next call.
  /// @param logits (V); -inf: forbidden
  /// @throws NumericError for NaN or +inf, ConfigError if every token is forbidden
  std::span<const Candidate> candidates(std::span<const float> logits);

  /// @param uniform a number in [0, 1): the draw, by inversion; not used if greedy()
  /// @return the id of the token chosen; errors as in candidates()
  int64_t choose(std::span<const float> logits, double uniform);

 private:
  void keep_top_k(std::span<const float> logits, double best);
  void keep_top_p(double total);
  void keep_typical(double total);

  GenerationOptions options_;
  std::vector<Candidate> kept_, scratch_;  // buffers, kept to be reused
  std::vector<float> top_;
};

}  // namespace zoo
