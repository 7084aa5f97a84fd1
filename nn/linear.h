#pragma once
// The one linear projection, so that faster kernels and quantised weights have one place to go.

#include "core/shape.h"

namespace zoo {

/// x W^T + b.
/// @param x (..., in)  @param weight (out, in)  @param bias (out) or undefined  @return (..., out)
/// In inference on CPU it takes the fastest kernel at hand; results differ in rounding only.
Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias);

class LinearImpl : public torch::nn::Module {
 public:
  /// Parameters are allocated, not drawn: see nn/init.h.
  LinearImpl(int64_t in, int64_t out, bool with_bias);
  Tensor forward(const Tensor& x) { return project(x, weight, bias); }  ///< (..., in) to (..., out)

  Tensor weight;                    ///< (out, in)
  Tensor bias;                      ///< (out), undefined without bias
  bool writes_to_residual = false;  ///< its output is added to the residual stream (for init)
};
TORCH_MODULE(Linear);

}  // namespace zoo
