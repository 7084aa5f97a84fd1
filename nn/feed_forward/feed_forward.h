#pragma once
// The feed-forward slot.

#include "core/shape.h"
#include "nn/config.h"

namespace zoo {

class FeedForwardImpl : public torch::nn::Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;  ///< (..., D) to (..., D)
};
TORCH_MODULE(FeedForward);

FeedForward make_feed_forward(const FeedForwardConfig& config, int64_t d_model);

Tensor activate(const Tensor& x, Activation activation);  ///< elementwise

}  // namespace zoo
