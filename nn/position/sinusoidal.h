#pragma once
// Vaswani et al. 2017, "Attention Is All You Need", section 3.5.

#include "nn/position/position.h"

namespace zoo {

class SinusoidalPositionImpl final : public PositionImpl {
 public:
  SinusoidalPositionImpl(const SinusoidalPositionConfig& config, int64_t max_length,
                         int64_t d_model);
  Tensor embed(const Tensor& x, const PositionSpan& span,
               const PositionTables& tables) const override;

 private:
  Tensor table_;  ///< (N, D), a buffer
};

/// PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(p / base^(2i/D)); with the other layout the
/// sines come first, then the cosines. @return (N, D) float32
Tensor sinusoidal_table(int64_t max_length, int64_t d_model, double base,
                        SinusoidalLayout layout = SinusoidalLayout::interleaved);

}  // namespace zoo
