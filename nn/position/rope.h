#pragma once
// Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.2.

#include "nn/position/position.h"

namespace zoo {

class RopePositionImpl final : public PositionImpl {
 public:
  /// @throws ConfigError if head_dim is odd
  RopePositionImpl(const RopePositionConfig& config, int64_t max_length, int64_t head_dim);
  PositionTables prepare(const PositionSpan& span, const Tensor& like) const override;
  Tensor rotate(const Tensor& heads, const PositionTables& tables) const override;

 private:
  RopePairing pairing_;
  Tensor cos_, sin_;  ///< (N, E/2), buffers
};

/// Turns each pair (a, b) of a head by its angle: (a cos - b sin, b cos + a sin).
/// @param heads (B, H, T, E)  @param cos, sin (T, E/2) or (B, 1, T, E/2)  @return (B, H, T, E)
Tensor rotate_pairs(const Tensor& heads, const Tensor& cos, const Tensor& sin, RopePairing pairing);

}  // namespace zoo
