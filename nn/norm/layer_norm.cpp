#include "nn/norm/layer_norm.h"

namespace zoo {

LayerNormImpl::LayerNormImpl(const LayerNormConfig& config, int64_t dim) : eps_(config.eps) {
  weight = register_parameter("weight", torch::empty({dim}));
  if (config.bias) bias = register_parameter("bias", torch::empty({dim}));
}

Tensor LayerNormImpl::forward(const Tensor& x) {
  return at::layer_norm(x, weight.sizes(), weight, bias, eps_);
}

}  // namespace zoo
