#include "training/class_task.h"

#include "evaluation/confusion.h"

namespace zoo {

Metrics ClassTask::evaluate(Precision precision) {
  const torch::NoGradGuard no_grad;
  const Autocast autocast(precision, device_);
  Confusion confusion(std::ssize(labels_));
  double loss = 0;
  for (int64_t position = 0; position < validation_size();) {
    const Batch batch = validation_batch(position);
    position += batch.examples;
    if (batch.target_count == 0) continue;
    const Predictions found = predict(module(), batch);
    loss += at::cross_entropy_loss(found.logits, found.targets, {}, at::Reduction::Sum, kNoTarget)
                .item<double>();
    const Tensor predicted = found.logits.argmax(-1).cpu(), wanted = found.targets.cpu();
    const auto* guess = predicted.const_data_ptr<int64_t>();
    const auto* target = wanted.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < wanted.numel(); ++i)
      if (target[i] != kNoTarget) confusion.add(target[i], guess[i]);
  }
  return {{"loss", loss / static_cast<double>(confusion.total())},
          {"accuracy", confusion.accuracy()},
          {"macro_f1", confusion.macro_f1()},
          {"matthews", confusion.matthews()}};
}

}  // namespace zoo
