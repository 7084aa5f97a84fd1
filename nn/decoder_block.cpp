#include "nn/decoder_block.h"

#include "nn/residual.h"

namespace zoo {

DecoderBlockImpl::DecoderBlockImpl(const BlockConfig& config, int64_t d_model,
                                   double residual_dropout)
    : placement_(config.placement), dropout_(residual_dropout) {
  norm1 = register_module("norm1", make_norm(config.norm, d_model));
  attention = register_module("attention", Attention(config.attention, d_model));
  norm2 = register_module("norm2", make_norm(config.norm, d_model));
  cross_attention = register_module("cross_attention", CrossAttention(config.attention, d_model));
  norm3 = register_module("norm3", make_norm(config.norm, d_model));
  feed_forward = register_module("feed_forward", make_feed_forward(config.feed_forward, d_model));
}

Tensor DecoderBlockImpl::forward(const Tensor& x, const AttentionScope& scope,
                                 const SourceScope& source, int64_t layer) {
  const Residual residual{placement_, dropout_, is_training()};
  const Tensor y =
      residual(x, *norm1, [&](const Tensor& in) { return attention->forward(in, scope, layer); });
  const Tensor z = residual(
      y, *norm2, [&](const Tensor& in) { return cross_attention->forward(in, source, layer); });
  return residual(z, *norm3, [&](const Tensor& in) { return feed_forward->forward(in); });
}

}  // namespace zoo
