#include "nn/norm/rms_norm.h"

namespace zoo {

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  // The mean square of a 16-bit x overflows or loses its small terms, so it is taken in float32.
  const bool half = x.scalar_type() == torch::kHalf || x.scalar_type() == torch::kBFloat16;
  const Tensor wide = half ? x.to(torch::kFloat32) : x;
  const Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + eps);
  return (wide * scale).to(x.scalar_type()) * weight;
}

RmsNormImpl::RmsNormImpl(const RmsNormConfig& config, int64_t dim) : eps_(config.eps) {
  weight = register_parameter("weight", torch::empty({dim}));
}

Tensor RmsNormImpl::forward(const Tensor& x) { return rms_norm(x, weight, eps_); }

}  // namespace zoo
