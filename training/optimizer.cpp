#include "training/optimizer.h"

#include <cmath>
#include <unordered_set>

#include "core/error.h"

namespace zoo {

namespace {

double weight_decay(const OptimizerConfig& config) {
  return std::visit(
      [](const auto& c) {
        if constexpr (requires { c.weight_decay; }) return c.weight_decay;
        return 0.0;
      },
      config);
}

bool has_first_moment(const OptimizerConfig& config) {
  const auto* sgd = std::get_if<SgdConfig>(&config);
  return sgd == nullptr || sgd->momentum > 0;
}

std::optional<Tensor> optional(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Tensor>(tensor) : std::nullopt;
}

Tensor norm_in_float64(const std::vector<Tensor>& gradients) {
  return torch::stack(at::_foreach_norm(gradients, 2, torch::kFloat64)).norm();
}

/// Sums in the gradients' own format are short, and these are added up in float64: LibTorch's sum
/// over a whole tensor on the CPU is off by 1e-5 for a million numbers, and by 3e-3 for 40 million.
Tensor norm_by_pieces(const std::vector<Tensor>& gradients) {
  constexpr int64_t kPiece = 4096;
  std::vector<Tensor> norms, short_ones;
  for (const Tensor& gradient : gradients) {
    const Tensor flat = gradient.reshape(-1);
    const int64_t whole = flat.numel() / kPiece * kPiece;
    if (whole > 0)
      norms.push_back(at::linalg_vector_norm(flat.narrow(0, 0, whole).view({-1, kPiece}), 2,
                                             torch::IntArrayRef({1})));
    if (whole < flat.numel()) short_ones.push_back(flat.narrow(0, whole, flat.numel() - whole));
  }
  if (!short_ones.empty()) norms.push_back(torch::stack(at::_foreach_norm(short_ones, 2)));
  return torch::cat(norms).to(torch::kFloat64).norm();
}

}  // namespace

Tensor gradient_norm(const std::vector<Tensor>& gradients) {
  if (gradients.empty()) return torch::zeros({}, torch::kFloat64);
  // Squares of large floats overflow. On CPU double arithmetic is slow and is used only where the
  // fast result is not finite; on CUDA looking at the result would wait for the device.
  if (!gradients[0].is_cpu()) return norm_in_float64(gradients);
  const Tensor norm = norm_by_pieces(gradients);
  return std::isfinite(norm.item<double>()) ? norm : norm_in_float64(gradients);
}

void copy_state(Tensor target, const Tensor& saved, const std::string& name) {
  if (!target.sizes().equals(saved.sizes()))
    throw FormatError(cat("optimizer state ", name, ": shape ", shape_text(saved),
                          ", the model's parameter needs ", shape_text(target),
                          "; resume with the config the run was started with"));
  torch::NoGradGuard no_grad;
  target.copy_(saved);
}

std::vector<double> layer_rates(const std::vector<std::string>& names, double layer_decay) {
  // The place of each: 0 for embeddings, 1 + i for block i, then the rest.
  constexpr int64_t kAboveBlocks = -1;
  std::vector<int64_t> places;
  int64_t blocks = 0;
  for (const std::string& name : names) {
    const size_t found = name.find("blocks.");
    int64_t place = kAboveBlocks;
    if (found != std::string::npos)
      place = 1 + std::stoll(name.substr(found + std::string_view("blocks.").size()));
    else if (name.find("embedding") != std::string::npos || name.starts_with("position") ||
             name.starts_with("class_token"))
      place = 0;
    blocks = std::max(blocks, place);
    places.push_back(place);
  }
  std::vector<double> rates;
  for (const int64_t place : places)
    rates.push_back(
        place == kAboveBlocks ? 1 : std::pow(layer_decay, static_cast<double>(blocks + 1 - place)));
  return rates;
}

Optimizer::Optimizer(const OptimizerConfig& config, const torch::nn::Module& module,
                     double layer_decay)
    : config_(config) {
  const std::vector<double> rates = layer_rates(module.named_parameters().keys(), layer_decay);
  size_t index = 0;
  std::unordered_set<const void*> seen;
  for (const auto& item : module.named_parameters()) {
    const Tensor& parameter = item.value();
    const double rate = rates[index++];
    if (!parameter.requires_grad() || !seen.insert(parameter.unsafeGetTensorImpl()).second)
      continue;
    parameters_.emplace_back(item.key(), parameter);
    const bool decays = parameter.dim() >= 2 && weight_decay(config) > 0;
    Group& group = group_of(decays, rate);
    group.names.push_back(item.key());
    group.parameters.push_back(parameter);
    // Same memory layout as the parameter: the kernels walk all of them side by side.
    const auto moment = [&] { return torch::zeros_like(parameter.detach()); };
    if (has_first_moment(config)) group.first.push_back(moment());
    if (!std::holds_alternative<SgdConfig>(config)) group.second.push_back(moment());
  }
  if (parameters_.empty())
    throw ConfigError(
        "training.freeze: no parameter is left to train; leave out some of its patterns");
  count_ =
      torch::zeros({}, parameters_[0].second.options().dtype(torch::kFloat32).requires_grad(false));
}

Optimizer::Group& Optimizer::group_of(bool decays, double rate) {
  for (Group& group : groups_)
    if (group.decays == decays && group.rate == rate) return group;
  groups_.emplace_back();
  groups_.back().decays = decays;
  groups_.back().rate = rate;
  return groups_.back();
}

void Optimizer::zero_grad() {
  for (auto& [name, parameter] : parameters_) parameter.mutable_grad() = Tensor();
}

std::vector<Tensor> Optimizer::gradients() const {
  std::vector<Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const auto& [name, parameter] : parameters_)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  return gradients;
}

void Optimizer::step(double learning_rate, const Tensor& divisor, const Tensor& skip) {
  torch::NoGradGuard no_grad;
  if (skip.defined())
    count_.add_(1 - skip);
  else
    count_.add_(1);
  for (const Group& group : groups_) step_group(group, learning_rate * group.rate, divisor, skip);
}

void Optimizer::step_group(const Group& group, double learning_rate, const Tensor& divisor,
                           const Tensor& skip) {
  std::vector<Tensor> parameters, gradients, first, second;
  for (size_t i = 0; i < group.parameters.size(); ++i) {
    if (!group.parameters[i].grad().defined()) continue;
    parameters.push_back(group.parameters[i]);
    gradients.push_back(group.parameters[i].grad());
    if (!group.first.empty()) first.push_back(group.first[i]);
    if (!group.second.empty()) second.push_back(group.second[i]);
  }
  if (parameters.empty()) return;
  const std::vector<Tensor> counts(parameters.size(), count_);
  const double decay = group.decays ? weight_decay(config_) : 0;
  const auto divide = optional(divisor), found = optional(skip);
  if (const auto* adamw = std::get_if<AdamWConfig>(&config_)) {
    at::_fused_adamw_(parameters, gradients, first, second, {}, counts, learning_rate, adamw->beta1,
                      adamw->beta2, decay, adamw->eps, /*amsgrad=*/false, /*maximize=*/false,
                      divide, found);
  } else if (const auto* adam = std::get_if<AdamConfig>(&config_)) {
    at::_fused_adam_(parameters, gradients, first, second, {}, counts, learning_rate, adam->beta1,
                     adam->beta2, decay, adam->eps, /*amsgrad=*/false, /*maximize=*/false, divide,
                     found);
  } else {
    // The momentum starts at zero, so the first step needs no case of its own.
    const auto& sgd = std::get<SgdConfig>(config_);
    at::_fused_sgd_(parameters, gradients, first, decay, sgd.momentum, learning_rate,
                    /*dampening=*/0, sgd.nesterov, /*maximize=*/false, /*is_first_step=*/false,
                    divide, found);
  }
}

NamedTensors Optimizer::state() const {
  const bool is_sgd = std::holds_alternative<SgdConfig>(config_);
  NamedTensors state = {{"count", count_}};
  for (const Group& group : groups_)
    for (size_t i = 0; i < group.names.size(); ++i) {
      if (!group.first.empty())
        state.emplace_back((is_sgd ? "momentum." : "first_moment.") + group.names[i],
                           group.first[i]);
      if (!group.second.empty())
        state.emplace_back("second_moment." + group.names[i], group.second[i]);
    }
  return state;
}

}  // namespace zoo
