#include "nn/feed_forward/mlp.h"

namespace zoo {

MlpImpl::MlpImpl(const MlpConfig& config, int64_t d_model) : activation_(config.activation) {
  const int64_t d_ff = config.inner_width(d_model);
  up = register_module("up", Linear(d_model, d_ff, config.bias));
  down = register_module("down", Linear(d_ff, d_model, config.bias));
  down->writes_to_residual = true;
}

Tensor MlpImpl::forward(const Tensor& x) {
  return down->forward(activate(up->forward(x), activation_));
}

}  // namespace zoo
