#include "training/token_task.h"

#include <algorithm>

#include "core/error.h"

namespace zoo {

namespace {

constexpr int64_t kEvaluationTokens = 16384, kEvaluationLogits = int64_t{1} << 26;

constexpr uint64_t kEstimateStream = uint64_t{8} << 56;

/// @param logits (R, V)  @param targets (R) int64  @return scalar
Tensor cross_entropy_sum(const Tensor& logits, const Tensor& targets, double label_smoothing) {
  return at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, kNoTarget,
                                label_smoothing);
}

double share(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::optional<double> find_metric(const Metrics& metrics, const std::string& name) {
  for (const auto& [key, value] : metrics)
    if (key == name) return value;
  return std::nullopt;
}

bool larger_is_better(const std::string& metric) { return metric != "loss"; }

Tensor TokenTask::loss_sum(torch::nn::Module& module, const Batch& batch) {
  const Predictions found = predict(module, batch);
  return cross_entropy_sum(found.logits, found.targets, training_.label_smoothing);
}

Tensor TokenTask::on_device(const Tensor& tensor) const {
  // From pinned memory the copy runs beside the computation.
  return device_.is_cuda() ? tensor.pin_memory().to(device_, /*non_blocking=*/true) : tensor;
}

Batch TokenTask::on_device(Batch batch) const {
  for (Tensor* tensor : tensors_of(batch))
    if (tensor->defined()) *tensor = on_device(*tensor);
  return batch;
}

Metrics Score::metrics() const {
  return {{"loss", loss / static_cast<double>(targets)},
          {"accuracy", share(right, targets)},
          {"exact_match", share(exact, examples)}};
}

Metrics ExampleTask::evaluate(Precision precision) {
  const torch::NoGradGuard no_grad;
  const Autocast autocast(precision, device_);
  Score score;
  for (int64_t position = 0; position < validation_size();) {
    const Batch batch = validation_batch(position);
    add_score(batch, score);
    position += batch.examples;
  }
  return score.metrics();
}

void ExampleTask::add_score(const Batch& batch, Score& score) {
  const Predictions found = predict(module(), batch);
  const Tensor wrong = found.logits.argmax(-1)
                           .ne(found.targets)
                           .logical_and(found.targets.ne(kNoTarget))
                           .to(torch::kInt64);  // (R)
  const Tensor mistakes =
      found.rows.defined()
          ? torch::zeros({batch.examples}, wrong.options()).index_add_(0, found.rows, wrong)
          : wrong.view({batch.examples, -1}).sum(-1);  // (B)
  const Tensor sums =
      torch::stack({cross_entropy_sum(found.logits, found.targets, 0).to(torch::kFloat64),
                    wrong.sum().to(torch::kFloat64), mistakes.gt(0).sum().to(torch::kFloat64)})
          .cpu();  // the only wait for the device
  const auto* sum = sums.const_data_ptr<double>();
  score.loss += sum[0];
  score.targets += batch.target_count;
  score.right += batch.target_count - static_cast<int64_t>(sum[1]);
  score.examples += batch.examples;
  score.exact += batch.examples - static_cast<int64_t>(sum[2]);
}

double ExampleTask::estimate_loss(int64_t batches, uint64_t stream, Precision precision) {
  const torch::NoGradGuard no_grad;
  const Autocast autocast(precision, device_);
  RandomStream random(seed(), kEstimateStream | stream);
  double sum = 0;
  int64_t targets = 0;
  for (int64_t i = 0; i < batches; ++i) {
    const Batch batch = random_validation_batch(random);
    const Predictions found = predict(module(), batch);
    sum += cross_entropy_sum(found.logits, found.targets, 0).item<double>();
    targets += batch.target_count;
  }
  return sum / static_cast<double>(targets);
}

int64_t evaluation_tokens(int64_t vocab_size) {
  return std::min(kEvaluationTokens, kEvaluationLogits / vocab_size);
}

std::vector<fs::path> data_paths(const std::vector<std::string>& names, const std::string& key) {
  if (names.empty())
    throw ConfigError(cat(key, ": names no file; name at least one, in the config or with --set ",
                          key, "='[\"FILE\"]'"));
  std::vector<fs::path> paths;
  for (const std::string& name : names) {
    paths.push_back(utf8_path(name));
    if (!fs::is_regular_file(paths.back()))
      throw DataError(cat(name, ": no such file; it is named in ", key,
                          ", and paths are relative to the working folder ",
                          utf8(fs::current_path())));
  }
  return paths;
}

void notice_left_out(const std::function<void(const std::string&)>& notice, const std::string& key,
                     int64_t blank, int64_t too_long, const std::string& limit) {
  if (blank > 0) notice(cat(key, ": ", blank, " pairs with a blank side are left out"));
  if (too_long > 0)
    notice(cat(key, ": ", too_long, " pairs are longer than ", limit, " and are left out"));
}

}  // namespace zoo
