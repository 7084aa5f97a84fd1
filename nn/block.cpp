#include "nn/block.h"

#include "nn/residual.h"

namespace zoo {

BlockImpl::BlockImpl(const BlockConfig& config, int64_t d_model, double residual_dropout)
    : placement_(config.placement), dropout_(residual_dropout) {
  norm1 = register_module("norm1", make_norm(config.norm, d_model));
  attention = register_module("attention", Attention(config.attention, d_model));
  norm2 = register_module("norm2", make_norm(config.norm, d_model));
  feed_forward = register_module("feed_forward", make_feed_forward(config.feed_forward, d_model));
}

Tensor BlockImpl::forward(const Tensor& x, const AttentionScope& scope, int64_t layer) {
  const Residual residual{placement_, dropout_, is_training()};
  const Tensor y =
      residual(x, *norm1, [&](const Tensor& in) { return attention->forward(in, scope, layer); });
  return residual(y, *norm2, [&](const Tensor& in) { return feed_forward->forward(in); });
}

}  // namespace zoo
