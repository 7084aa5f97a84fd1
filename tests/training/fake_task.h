#pragma once
// A task around a small module, for tests of the step and the loop without a language model.

#include "training/task.h"

namespace zoo::testing {

/// Logits that are parameters themselves: (V), the same at every position.
struct LogitsModule : torch::nn::Module {
  explicit LogitsModule(const Tensor& start) {
    logits = register_parameter("logits", start.clone());
  }
  Tensor logits;
};

/// Cross-entropy of LogitsModule against batches that the test gives.
struct LogitsTask : Task {
  explicit LogitsTask(const Tensor& start) : model(start) {}

  static Batch of(std::vector<int64_t> targets) {
    const Tensor row = torch::tensor(targets, torch::kInt64).unsqueeze(0);  // (1, T)
    return {torch::zeros_like(row), row, 1, row.ne(kNoTarget).sum().item<int64_t>()};
  }

  torch::nn::Module& module() override { return model; }
  int64_t epoch_size() const override { return static_cast<int64_t>(batches.size()); }
  Batch batch(int64_t position) const override { return batches.at(position % batches.size()); }
  int64_t batch_examples(int64_t) const override { return 1; }
  Tensor loss_sum(torch::nn::Module&, const Batch& batch) override {
    const Tensor targets = batch.targets.flatten();
    return at::cross_entropy_loss(model.logits.expand({targets.size(0), -1}), targets, {},
                                  at::Reduction::Sum, kNoTarget);
  }
  std::vector<std::string> metric_names() const override { return {"loss"}; }
  Metrics evaluate(Precision) override { return {{"loss", next_loss()}}; }
  double estimate_loss(int64_t, uint64_t, Precision) override { return 0; }
  std::string sample() override { return "sample"; }
  Json data_receipt() const override { return Json::object(); }

  double next_loss() {
    return losses.empty() ? 1 : losses.at(std::min(evaluations++, losses.size() - 1));
  }

  LogitsModule model;
  std::vector<Batch> batches;
  std::vector<double> losses;  ///< what evaluate() gives, in order; the last one again and again
  size_t evaluations = 0;
};

}  // namespace zoo::testing
