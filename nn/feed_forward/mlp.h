#pragma once
// Vaswani et al. 2017, "Attention Is All You Need", section 3.3.

#include "nn/feed_forward/feed_forward.h"
#include "nn/linear.h"

namespace zoo {

/// down(activation(up(x))).
class MlpImpl final : public FeedForwardImpl {
 public:
  MlpImpl(const MlpConfig& config, int64_t d_model);
  Tensor forward(const Tensor& x) override;

  Linear up{nullptr}, down{nullptr};  ///< D to F, F to D

 private:
  Activation activation_;
};

}  // namespace zoo
