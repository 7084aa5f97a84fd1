#pragma once
// Zhang & Sennrich 2019, "Root Mean Square Layer Normalization", equation 4.

#include "nn/norm/norm.h"

namespace zoo {

/// rms_norm() with a learned weight.
class RmsNormImpl final : public NormImpl {
 public:
  RmsNormImpl(const RmsNormConfig& config, int64_t dim);
  Tensor forward(const Tensor& x) override;

  Tensor weight;  ///< (D)

 private:
  double eps_;
};

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension; sums in float32 or wider.
/// @param x (..., D)  @param weight (D)  @return (..., D)
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps);

}  // namespace zoo
