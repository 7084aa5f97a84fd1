#include "training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace zoo {

namespace {

/// How far `step` lies between `first` and `last`, in [0, 1].
double progress(int64_t step, int64_t first, int64_t last) {
  if (step >= last) return 1;
  return std::max(0.0, static_cast<double>(step - first) / static_cast<double>(last - first));
}

double warmup(int64_t step, int64_t warmup_steps) {
  return step < warmup_steps ? static_cast<double>(step) / static_cast<double>(warmup_steps) : 1;
}

int64_t decay_steps(const WsdScheduleConfig& s, int64_t total_steps) {
  return s.decay_steps == 0 ? total_steps / 5 : s.decay_steps;
}

// The rate at a step; `peak` is learning_rate, `total` the number of steps.

double rate(const ConstantScheduleConfig& s, int64_t step, double peak, int64_t, int64_t) {
  return peak * warmup(step, s.warmup_steps);
}

double rate(const LinearScheduleConfig& s, int64_t step, double peak, int64_t total, int64_t) {
  if (step < s.warmup_steps) return peak * warmup(step, s.warmup_steps);
  return peak + (s.min_learning_rate - peak) * progress(step, s.warmup_steps, total);
}

double rate(const CosineScheduleConfig& s, int64_t step, double peak, int64_t total, int64_t) {
  if (step < s.warmup_steps) return peak * warmup(step, s.warmup_steps);
  const double share =
      0.5 * (1 + std::cos(std::numbers::pi * progress(step, s.warmup_steps, total)));
  return s.min_learning_rate + (peak - s.min_learning_rate) * share;
}

double rate(const InverseSqrtScheduleConfig& s, int64_t step, double peak, int64_t, int64_t) {
  if (step < s.warmup_steps) return peak * warmup(step, s.warmup_steps);
  return peak * std::sqrt(static_cast<double>(s.warmup_steps) / static_cast<double>(step));
}

double rate(const NoamScheduleConfig& s, int64_t step, double peak, int64_t, int64_t d_model) {
  const auto n = static_cast<double>(step), w = static_cast<double>(s.warmup_steps);
  return peak / std::sqrt(static_cast<double>(d_model)) *
         std::min(1 / std::sqrt(n), n / (w * std::sqrt(w)));
}

double rate(const WsdScheduleConfig& s, int64_t step, double peak, int64_t total, int64_t) {
  if (step < s.warmup_steps) return peak * warmup(step, s.warmup_steps);
  const int64_t first = total - decay_steps(s, total);
  return peak + (s.min_learning_rate - peak) * progress(step, first, total);
}

double rate(const PlateauScheduleConfig& s, int64_t step, double peak, int64_t, int64_t) {
  return peak * warmup(step, s.warmup_steps);
}

}  // namespace

Schedule::Schedule(const ScheduleConfig& config, double learning_rate, int64_t total_steps,
                   int64_t d_model)
    : config_(config), learning_rate_(learning_rate), total_steps_(total_steps), d_model_(d_model) {
  std::visit(
      [&]<class S>(const S& s) {
        constexpr bool kDecays = requires { s.min_learning_rate; }
        &&!std::is_same_v<S, PlateauScheduleConfig>;
        if (kDecays && total_steps == 0)
          throw ConfigError(cat("training.schedule: ", S::kType,
                                " needs to know the last step; set training.max_steps or "
                                "training.epochs, or use constant or inverse_sqrt"));
        int64_t needed = s.warmup_steps;
        if constexpr (std::is_same_v<S, WsdScheduleConfig>) needed += decay_steps(s, total_steps);
        if (kDecays && needed > total_steps)
          throw ConfigError(cat("training.schedule: warm-up (and decay) take ", needed,
                                " steps, but training has ", total_steps,
                                "; lower training.schedule.warmup_steps or train longer"));
      },
      config);
}

double Schedule::at(int64_t step, int64_t reductions) const {
  const double unreduced = std::visit(
      [&](const auto& s) { return rate(s, step, learning_rate_, total_steps_, d_model_); },
      config_);
  const auto* plateau = std::get_if<PlateauScheduleConfig>(&config_);
  if (plateau == nullptr || reductions == 0) return unreduced;
  const double reduced = unreduced * std::pow(plateau->factor, static_cast<double>(reductions));
  return std::max(reduced, std::min(unreduced, plateau->min_learning_rate));
}

int64_t Schedule::patience() const {
  const auto* plateau = std::get_if<PlateauScheduleConfig>(&config_);
  return plateau == nullptr ? 0 : plateau->patience;
}

}  // namespace zoo
