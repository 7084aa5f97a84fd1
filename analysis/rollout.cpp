#include "analysis/rollout.h"

namespace zoo {

Tensor attention_rollout(const std::vector<Tensor>& attention) {
  Tensor rollout;  // (B, T, T)
  for (const Tensor& layer : attention) {
    const Tensor heads = layer.mean(1);  // (B, T, T)
    const Tensor mixed = (heads + torch::eye(heads.size(1), heads.options())) / 2;
    rollout = rollout.defined() ? mixed.matmul(rollout) : mixed;
  }
  return rollout;
}

Tensor patch_relevance(ImageEncoder& model, const Tensor& images) {
  const torch::NoGradGuard no_grad;
  Tap tap{.want_attention = true};
  model.encode(images, &tap);
  const Tensor rollout = attention_rollout(tap.attention);
  const int64_t patch = model.image_shape().patch_size;
  const int64_t rows = images.size(2) / patch, columns = images.size(3) / patch;
  const int64_t others = rollout.size(1) - rows * columns;  // 1 with a class token
  const Tensor to_class = others > 0 ? rollout.select(1, 0) : rollout.mean(1);  // (B, T)
  const Tensor patches = to_class.narrow(1, others, rows * columns);
  return (patches / patches.sum(1, true)).view({-1, rows, columns});
}

}  // namespace zoo
