#pragma once
// One layer of a decoder that reads a source (Vaswani et al. 2017, figure 1, right): attention,
// attention to the source and feed-forward, each with a residual connection and a norm.

#include "nn/attention.h"
#include "nn/cross_attention.h"
#include "nn/feed_forward/feed_forward.h"

namespace zoo {

class DecoderBlockImpl : public torch::nn::Module {
 public:
  DecoderBlockImpl(const BlockConfig& config, int64_t d_model, double residual_dropout);
  /// @param x (B, T, D)  @param layer its place in the cache and among the source's keys
  /// @return (B, T, D)
  Tensor forward(const Tensor& x, const AttentionScope& scope, const SourceScope& source,
                 int64_t layer);

  Norm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};
  Attention attention{nullptr};
  CrossAttention cross_attention{nullptr};
  FeedForward feed_forward{nullptr};

 private:
  NormPlacement placement_;
  double dropout_;
};
TORCH_MODULE(DecoderBlock);

}  // namespace zoo
