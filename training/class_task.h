#pragma once
// What tasks that tell classes apart have in common: the metrics over a validation split.

#include "training/token_task.h"

namespace zoo {

class ClassTask : public ExampleTask {
 public:
  std::vector<std::string> metric_names() const override {
    return {"loss", "accuracy", "macro_f1", "matthews"};
  }
  Metrics evaluate(Precision precision) override;

 protected:
  /// @param labels names of the classes
  ClassTask(const TrainingConfig& training, torch::Device device, std::vector<std::string> labels)
      : ExampleTask(training, device), labels_(std::move(labels)) {}

  std::vector<std::string> labels_;
};

}  // namespace zoo
