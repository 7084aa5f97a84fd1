#pragma once
// A task owns data, collation, loss and metrics of what is learnt; the trainer knows nothing else.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/shape.h"
#include "training/precision.h"

namespace zoo {

/// The target at a position where nothing is to be predicted.
constexpr int64_t kNoTarget = -100;

/// The examples of one forward pass, on the model's device.
struct Batch {
  /// (B, T) int64; pictures: (B, X, Y, Z) float32, X channels, Y rows and Z columns of pixels
  Tensor inputs;
  Tensor targets;              ///< (B, T) int64: what to predict at each position, or kNoTarget;
                               ///< (B): the class of each row
  int64_t examples = 0;        ///< rows: how far the batch advances the data position
  int64_t target_count = 0;    ///< targets other than kNoTarget
  int64_t token_count = 0;     ///< tokens that are read, of the source too; padding does not count
  Tensor source = {};          ///< (B, S) int64, padded at the right; undefined without an encoder
  Tensor source_lengths = {};  ///< (B) int64
  Tensor segments = {};        ///< (B, T) int64: which text of a pair; undefined: all the first
  Tensor lengths = {};  ///< (B) int64: real inputs, padded at the right; undefined: T, or causal
  Tensor other_targets = {};  ///< (B) int64: a second class of each row, where pictures are mixed
  Tensor shares = {};         ///< (B) float32: what `targets` count; other_targets count the rest
  Tensor follows = {};        ///< (B) int64, 0: the second text follows the first, 1: it does not
};

/// All tensors of a batch, undefined ones too; rows are their first dimension.
inline std::vector<Tensor*> tensors_of(Batch& batch) {
  return {&batch.inputs,         &batch.targets,  &batch.source,
          &batch.source_lengths, &batch.segments, &batch.lengths,
          &batch.other_targets,  &batch.shares,   &batch.follows};
}

/// Names and values, in the order to show them. "loss" is the mean over targets, in nats.
using Metrics = std::vector<std::pair<std::string, double>>;

/// The value of a metric, nothing if it is not there.
std::optional<double> find_metric(const Metrics& metrics, const std::string& name);

/// Whether a larger value of the metric is better: of every metric but "loss".
bool larger_is_better(const std::string& metric);

class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& module() = 0;
  /// Training examples in an epoch.
  virtual int64_t epoch_size() const = 0;
  /// The training batch that starts at example `position`, counted from the start of training.
  virtual Batch batch(int64_t position) const = 0;
  /// How many examples that batch has.
  virtual int64_t batch_examples(int64_t position) const = 0;
  /// Called before the batches of optimizer step `step` (from 1) are learnt, for what changes with
  /// the steps.
  virtual void begin_step(int64_t /*step*/) {}
  /// The sum of the losses of all targets of a batch, in nats: scalar float32 with gradient.
  /// @param module module() or a replica()
  virtual Tensor loss_sum(torch::nn::Module& module, const Batch& batch) = 0;
  /// A module like module(), its parameters not set: see CausalLm::replica(). Null: there is none.
  virtual std::shared_ptr<torch::nn::Module> replica() const { return nullptr; }
  /// The names that evaluate() gives.
  virtual std::vector<std::string> metric_names() const = 0;
  /// The whole validation split, a batch at a time, with the module as it is (see eval()).
  virtual Metrics evaluate(Precision precision) = 0;
  /// The mean loss of `batches` random validation batches of the training size: a cheap, noisy
  /// estimate. `stream` makes the draw.
  virtual double estimate_loss(int64_t batches, uint64_t stream, Precision precision) = 0;
  /// A text that shows what the model has learnt by now.
  virtual std::string sample() = 0;
  /// Files, hashes and sizes of the data, for the receipt and for resuming.
  virtual Json data_receipt() const = 0;
};

}  // namespace zoo
