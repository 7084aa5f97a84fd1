#pragma once
// Press et al. 2022, "Train Short, Test Long: Attention with Linear Biases Enables Input Length
// Extrapolation", section 3.

#include "nn/position/position.h"

namespace zoo {

class AlibiPositionImpl final : public PositionImpl {
 public:
  explicit AlibiPositionImpl(int64_t num_heads);
  PositionTables prepare(const PositionSpan& span, const Tensor& like) const override;

 private:
  Tensor slopes_;  ///< (H), a buffer
};

/// 2^(-8h/H) for h = 1..H when H is a power of two; otherwise those of the next lower power, then
/// every second one of the next higher (the authors' rule). @return (H) float32
Tensor alibi_slopes(int64_t num_heads);

}  // namespace zoo
