#include "training/training_step.h"

#include "core/random.h"
#include "core/stopwatch.h"

namespace zoo {

namespace {

constexpr uint64_t kStepStream = uint64_t{9} << 56;

}  // namespace

TrainingStep::TrainingStep(Task& task, const TrainingConfig& config, const Schedule& schedule,
                           torch::Device device)
    : task_(task),
      config_(config),
      schedule_(schedule),
      device_(device),
      precision_(resolve_precision(config.precision, device)),
      optimizer_(config.optimizer, task.module(), config.layer_decay),
      replicas_(task, device),
      loss_scale_(precision_, device),
      skipped_in_a_row_(torch::zeros({}, torch::TensorOptions(device).dtype(torch::kFloat32))) {
  for (const auto& [name, parameter] : optimizer_.parameters())
    weights_.push_back(parameter.detach());
  if (config.ema > 0)
    for (const Tensor& weight : weights_) mean_weights_.push_back(weight.clone());
}

StepOutcome TrainingStep::run(std::span<const Batch> window, int64_t step, int64_t reductions) {
  torch::manual_seed(
      RandomStream(static_cast<uint64_t>(config_.seed), kStepStream, static_cast<uint64_t>(step))
          .next_bits());
  task_.begin_step(step);
  StepOutcome outcome;
  outcome.learning_rate = schedule_.at(step, reductions);
  outcome.loss_sum = torch::zeros({}, torch::TensorOptions(device_).dtype(torch::kFloat64));
  for (const Batch& batch : window) {
    outcome.target_count += batch.target_count;
    outcome.token_count += batch.token_count;
  }
  outcome.grad_norm = torch::zeros_like(outcome.loss_sum);
  outcome.skipped = torch::zeros_like(skipped_in_a_row_);
  look(outcome, [&] { watch_->begin(step, window); });
  if (outcome.target_count == 0) return outcome;

  optimizer_.zero_grad();
  Tensor scale = torch::full({}, 1 / static_cast<double>(outcome.target_count), device_);
  if (loss_scale_.active()) scale = scale * loss_scale_.scale();
  for (const Batch& batch : window)
    if (batch.target_count > 0) outcome.loss_sum += replicas_.backward(batch, scale, precision_);

  torch::NoGradGuard no_grad;
  outcome.grad_norm = gradient_norm(optimizer_.gradients());
  if (loss_scale_.active()) outcome.grad_norm = outcome.grad_norm / loss_scale_.scale();
  outcome.skipped = outcome.grad_norm.isfinite().logical_not().to(torch::kFloat32);
  Tensor divisor;  // of the gradients; undefined: 1
  if (config_.clip_norm > 0) divisor = (outcome.grad_norm / config_.clip_norm).clamp_min(1);
  if (loss_scale_.active())
    divisor = divisor.defined() ? divisor * loss_scale_.scale() : loss_scale_.scale();
  if (divisor.defined()) divisor = divisor.to(torch::kFloat32);
  const StepView view{step, optimizer_.parameters(), outcome,
                      loss_scale_.active() ? loss_scale_.scale() : Tensor()};
  look(outcome, [&] { watch_->before_update(view); });
  optimizer_.step(outcome.learning_rate, divisor, outcome.skipped);
  look(outcome, [&] { watch_->after_update(view); });

  skipped_in_a_row_.add_(1).mul_(outcome.skipped);
  loss_scale_.update(outcome.skipped);
  if (has_mean_weights()) at::_foreach_lerp_(mean_weights_, weights_, 1 - config_.ema);
  return outcome;
}

void TrainingStep::look(StepOutcome& outcome, const std::function<void()>& use) const {
  if (watch_ == nullptr) return;
  outcome.grad_norm.item<double>();  // waits for the device, whose work is the step's
  const Stopwatch watch;
  use();
  outcome.watch_seconds += watch.seconds();
}

int64_t TrainingStep::skipped_in_a_row() const { return skipped_in_a_row_.item<int64_t>(); }

// With fp16 the loss scale needs some overflows to find its place.
int64_t TrainingStep::skip_limit() const { return loss_scale_.active() ? 30 : 10; }

void TrainingStep::swap_mean_weights() {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < mean_weights_.size(); ++i) {
    const Tensor weight = weights_[i].clone();
    weights_[i].copy_(mean_weights_[i]);
    mean_weights_[i].copy_(weight);
  }
}

NamedTensors TrainingStep::state() const {
  NamedTensors state = optimizer_.state();
  for (size_t i = 0; i < mean_weights_.size(); ++i)
    state.emplace_back("weights." + optimizer_.parameters()[i].first, mean_weights_[i]);
  return state;
}

}  // namespace zoo
