#include "nn/feed_forward/feed_forward.h"

#include "nn/feed_forward/gated.h"
#include "nn/feed_forward/mlp.h"

namespace zoo {

Tensor activate(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return at::relu(x);
    case Activation::gelu:
      return at::gelu(x);
    case Activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case Activation::silu:
      return at::silu(x);
  }
  throw ConfigError("activation: unknown value");
}

namespace {
std::shared_ptr<FeedForwardImpl> build(const MlpConfig& config, int64_t d_model) {
  return std::make_shared<MlpImpl>(config, d_model);
}
std::shared_ptr<FeedForwardImpl> build(const GatedFeedForwardConfig& config, int64_t d_model) {
  return std::make_shared<GatedFeedForwardImpl>(config, d_model);
}
}  // namespace

FeedForward make_feed_forward(const FeedForwardConfig& config, int64_t d_model) {
  return std::visit([&](const auto& variant) { return FeedForward(build(variant, d_model)); },
                    config);
}

}  // namespace zoo
