#include "nn/feed_forward/gated.h"

namespace zoo {

GatedFeedForwardImpl::GatedFeedForwardImpl(const GatedFeedForwardConfig& config, int64_t d_model)
    : activation_(config.activation) {
  const int64_t d_ff = config.inner_width(d_model);
  gate_up = register_module("gate_up", Linear(d_model, 2 * d_ff, config.bias));
  down = register_module("down", Linear(d_ff, d_model, config.bias));
  down->writes_to_residual = true;
}

Tensor GatedFeedForwardImpl::forward(const Tensor& x) {
  const auto halves = gate_up->forward(x).chunk(2, -1);  // gate and value, (..., F) each
  return down->forward(activate(halves[0], activation_) * halves[1]);
}

}  // namespace zoo
