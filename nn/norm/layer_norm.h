#pragma once
// Ba et al. 2016, "Layer Normalization", section 3.

#include "nn/norm/norm.h"

namespace zoo {

/// (x - mean) / sqrt(variance + eps) * weight [+ bias], over the last dimension.
class LayerNormImpl final : public NormImpl {
 public:
  LayerNormImpl(const LayerNormConfig& config, int64_t dim);
  Tensor forward(const Tensor& x) override;

  Tensor weight;  ///< (D)
  Tensor bias;    ///< (D), undefined without bias

 private:
  double eps_;
};

}  // namespace zoo
