#include "analysis/random_batch.h"

#include <cmath>

namespace zoo {

namespace {

/// @param logits (..., C)  @param targets (N) int64
Tensor summed_loss(const Tensor& logits, const Tensor& targets) {
  return at::cross_entropy_loss(logits.flatten(0, -2), targets, {}, at::Reduction::Sum);
}

}  // namespace

RandomBatch::RandomBatch(torch::nn::Module& model, const ModelConfig& config, int64_t batch,
                         int64_t tokens)
    : model_(model), batch_(batch), tokens_(tokens) {
  const torch::Device device = device_of(model);
  const auto ids = [&](int64_t limit, std::initializer_list<int64_t> shape) {
    return torch::randint(limit, shape, torch::dtype(torch::kInt64).device(device));
  };
  if (const auto* vision = dynamic_cast<const ImageEncoder*>(&model)) {
    const ImageShape shape = vision->image_shape();
    tokens_ = std::get<VitConfig>(config).tokens();
    inputs_ = torch::rand({batch, shape.channels, shape.height, shape.width},
                          torch::dtype(dtype_of(model)).device(device));
    if (!vision->labels().empty()) targets_ = ids(std::ssize(vision->labels()), {batch});
    return;
  }
  lengths_ = torch::full({batch}, tokens, torch::dtype(torch::kInt64).device(device));
  if (const auto* translator = dynamic_cast<const Seq2Seq*>(&model)) {
    source_ = ids(translator->source_vocab_size(), {batch, tokens});
    inputs_ = ids(translator->vocab_size(), {batch, tokens});
    targets_ = ids(translator->vocab_size(), {batch * tokens});
  } else if (const auto* encoder = dynamic_cast<const TextEncoder*>(&model)) {
    inputs_ = ids(encoder->vocab_size(), {batch, tokens});
    const TextHeadConfig& head = encoder->head();
    if (std::holds_alternative<MaskedLmHeadConfig>(head)) {
      const auto masked = std::llround(0.15 * static_cast<double>(batch * tokens));
      targets_ = ids(encoder->vocab_size(), {std::max<int64_t>(masked, 1)});
    } else if (const int64_t labels = std::ssize(labels_of(head)); labels > 0) {
      const bool tags = std::holds_alternative<TaggerHeadConfig>(head);
      targets_ = ids(labels, {tags ? batch * tokens : batch});
    }
  } else if (const auto* writer = dynamic_cast<const CausalLm*>(&model)) {
    inputs_ = ids(writer->vocab_size(), {batch, tokens});
    targets_ = ids(writer->vocab_size(), {batch * tokens});
  } else {
    throw ConfigError(
        "random batch: the model has none of the contracts of models/contracts.h; give one that "
        "has");
  }
}

Tensor RandomBatch::loss_of(CausalLm& model) const {
  return summed_loss(model.forward(inputs_), targets_);
}

Tensor RandomBatch::loss_of(Seq2Seq& model) const {
  return summed_loss(model.forward(source_, lengths_, inputs_), targets_);
}

Tensor RandomBatch::loss_of(TextEncoder& model) const {
  const Tensor hidden = model.encode({inputs_, {}, lengths_});  // (B, T, D)
  if (!targets_.defined()) return hidden.sum();
  if (std::holds_alternative<MaskedLmHeadConfig>(model.head()))
    return summed_loss(model.logits(hidden.flatten(0, 1).narrow(0, 0, targets_.size(0)), {}),
                       targets_);
  return summed_loss(model.logits(hidden, lengths_), targets_);
}

Tensor RandomBatch::loss_of(ImageEncoder& model) const {
  const Tensor hidden = model.encode(inputs_);  // (B, T, D)
  return targets_.defined() ? summed_loss(model.logits(hidden), targets_) : hidden.sum();
}

Tensor RandomBatch::loss() const {
  if (auto* writer = dynamic_cast<CausalLm*>(&model_)) return loss_of(*writer);
  if (auto* translator = dynamic_cast<Seq2Seq*>(&model_)) return loss_of(*translator);
  if (auto* encoder = dynamic_cast<TextEncoder*>(&model_)) return loss_of(*encoder);
  return loss_of(dynamic_cast<ImageEncoder&>(model_));
}

}  // namespace zoo
