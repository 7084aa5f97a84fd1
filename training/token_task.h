#pragma once
// What tasks that predict tokens have in common: the loss, the metrics over a validation split, and
// batches on the model's device.

#include <string>
#include <vector>

#include "core/random.h"
#include "data/length_batches.h"
#include "training/task.h"

namespace zoo {

class TokenTask : public Task {
 public:
  Tensor loss_sum(torch::nn::Module& module, const Batch& batch) override;

 protected:
  /// @param training must outlive the task
  TokenTask(const TrainingConfig& training, torch::Device device)
      : training_(training), device_(device) {}

  struct Predictions {
    Tensor logits;   ///< (R, V)
    Tensor targets;  ///< (R) int64: ids, or kNoTarget
    Tensor rows;     ///< (R) int64: the example of each; undefined: R is B T, row after row
  };
  /// What `module` predicts at the batch's targets.
  virtual Predictions predict(torch::nn::Module& module, const Batch& batch) = 0;

  /// What a training batch may hold, as the config says.
  BatchBudget batch_budget() const {
    return training_.batch_type == BatchType::tokens ? BatchBudget{.tokens = training_.batch_size}
                                                     : BatchBudget{.pairs = training_.batch_size};
  }

  uint64_t seed() const { return static_cast<uint64_t>(training_.seed); }

  /// Tensors that were made on the CPU.
  Tensor on_device(const Tensor& tensor) const;
  Batch on_device(Batch batch) const;

  const TrainingConfig& training_;
  torch::Device device_;
};

/// Loss, accuracy and exact matches, summed over batches.
struct Score {
  double loss = 0;
  int64_t targets = 0, right = 0, examples = 0, exact = 0;

  /// "loss" (nats), "accuracy" (of targets) and "exact_match": the examples whose targets are all
  /// right after the right ones before them, which is what greedy decoding writes, too.
  Metrics metrics() const;
};

/// Tasks whose validation split is a list of examples, scored a batch at a time.
class ExampleTask : public TokenTask {
 public:
  std::vector<std::string> metric_names() const override {
    return {"loss", "accuracy", "exact_match"};
  }
  Metrics evaluate(Precision precision) override;
  double estimate_loss(int64_t batches, uint64_t stream, Precision precision) override;

 protected:
  using TokenTask::TokenTask;

  virtual int64_t validation_size() const = 0;  // examples
  virtual Batch validation_batch(int64_t position) const = 0;
  virtual Batch random_validation_batch(RandomStream& random) const = 0;

 private:
  void add_score(const Batch& batch, Score& score);
};

/// Tokens in a forward pass of an evaluation. It keeps no activations for a backward pass, so its
/// batches may be larger than in training; what grows then are the logits.
int64_t evaluation_tokens(int64_t vocab_size);

/// The paths of the files that a config names. @param key "task.train", for messages
/// @throws ConfigError if there are none, DataError if one is no file
std::vector<fs::path> data_paths(const std::vector<std::string>& names, const std::string& key);

/// Tells of pairs that were left out. @param key "task.train"  @param limit in words
void notice_left_out(const std::function<void(const std::string&)>& notice, const std::string& key,
                     int64_t blank, int64_t too_long, const std::string& limit);

}  // namespace zoo
