#include "training/replicas.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "core/parallel.h"

namespace zoo {

namespace {

/// Above this, one product keeps all threads busy, and more gradients would only take memory.
constexpr int64_t kMostParameters = 8'000'000;

}  // namespace

Batch rows_of(Batch batch, int64_t begin, int64_t end) {
  for (Tensor* tensor : tensors_of(batch))
    if (tensor->defined()) *tensor = tensor->narrow(0, begin, end - begin);
  batch.examples = end - begin;
  batch.target_count = batch.targets.ne(kNoTarget).sum().item<int64_t>();
  return batch;
}

Replicas::Replicas(Task& task, torch::Device device)
    : task_(task),
      device_(device),
      modules_{&task.module()},
      parameters_{task.module().parameters()} {
  int64_t numbers = 0;
  for (const Tensor& parameter : parameters_[0]) numbers += parameter.numel();
  if (!device.is_cpu() || !has_parallel_threads() || numbers > kMostParameters) return;
  for (int i = 1; i < at::get_num_threads(); ++i) {
    std::shared_ptr<torch::nn::Module> module = task.replica();
    if (module == nullptr) return;
    std::vector<Tensor> parameters = module->parameters();
    for (size_t k = 0; k < parameters.size(); ++k) {
      parameters[k].set_data(parameters_[0][k].data());
      parameters[k].set_requires_grad(parameters_[0][k].requires_grad());
    }
    modules_.push_back(module.get());
    owned_.push_back(std::move(module));
    parameters_.push_back(std::move(parameters));
  }
}

Tensor Replicas::backward(const Batch& batch, const Tensor& scale, Precision precision) {
  const int64_t rows = batch.inputs.size(0), parts = std::min(count(), rows);
  std::vector<Tensor> losses(static_cast<size_t>(parts));
  const auto work = [&](int64_t part, const Batch& share) {
    if (share.target_count == 0) return;
    Tensor loss;  // scalar
    {
      const Autocast autocast(precision, device_);
      loss = task_.loss_sum(*modules_[part], share);
    }
    (loss * scale).backward();
    losses[part] = loss.detach();
  };
  if (parts == 1) {
    work(0, batch);
    return losses[0];
  }
  run_side_by_side(static_cast<int>(parts), [&](int part) {
    work(part, rows_of(batch, rows * part / parts, rows * (part + 1) / parts));
  });

  const torch::NoGradGuard no_grad;
  Tensor sum = torch::zeros({}, torch::kFloat32);
  for (const Tensor& loss : losses)
    if (loss.defined()) sum += loss;
  for (size_t module = 1; module < parameters_.size(); ++module)
    for (size_t k = 0; k < parameters_[module].size(); ++k) {
      Tensor& theirs = parameters_[module][k].mutable_grad();
      Tensor& ours = parameters_[0][k].mutable_grad();
      if (!theirs.defined()) continue;
      ours = ours.defined() ? ours.add_(theirs) : theirs;
      theirs = Tensor();
    }
  return sum;
}

}  // namespace zoo
