#pragma once
// Shazeer 2020, "GLU Variants Improve Transformer", equations 5 and 6.

#include "nn/feed_forward/feed_forward.h"
#include "nn/linear.h"

namespace zoo {

/// down(activation(gate(x)) * up(x)); gate and up are one matrix, the gate's rows first.
class GatedFeedForwardImpl final : public FeedForwardImpl {
 public:
  GatedFeedForwardImpl(const GatedFeedForwardConfig& config, int64_t d_model);
  Tensor forward(const Tensor& x) override;

  Linear gate_up{nullptr}, down{nullptr};  ///< D to 2F, F to D

 private:
  Activation activation_;
};

}  // namespace zoo
