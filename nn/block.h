#pragma once
// One layer of a Transformer without cross-attention (Vaswani et al. 2017, figure 1; Radford et al.
// 2019): attention and feed-forward, each with a residual connection and a norm.

#include "nn/attention.h"
#include "nn/feed_forward/feed_forward.h"

namespace zoo {

class BlockImpl : public torch::nn::Module {
 public:
  BlockImpl(const BlockConfig& config, int64_t d_model, double residual_dropout);
  /// @param x (B, T, D)  @param layer its place in the cache  @return (B, T, D)
  Tensor forward(const Tensor& x, const AttentionScope& scope, int64_t layer);

  Norm norm1{nullptr}, norm2{nullptr};
  Attention attention{nullptr};
  FeedForward feed_forward{nullptr};

 private:
  NormPlacement placement_;
  double dropout_;
};
TORCH_MODULE(Block);

}  // namespace zoo
