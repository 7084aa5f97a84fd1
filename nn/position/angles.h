#pragma once
// The angles that sinusoidal and rotary positions share.

#include "core/shape.h"

namespace zoo {

/// p / base^(2i/width) for p in [0, max_length), i in [0, count): (max_length, count) float64,
/// since float32 angles of far positions are off by whole degrees.
inline Tensor position_angles(int64_t max_length, int64_t count, int64_t width, double base) {
  const auto wide = torch::dtype(torch::kFloat64);
  const Tensor exponents = torch::arange(count, wide) * (2.0 / static_cast<double>(width));
  return torch::outer(torch::arange(max_length, wide), torch::pow(base, -exponents));
}

}  // namespace zoo
