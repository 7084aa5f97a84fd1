#include "training/precision.h"

#include <ATen/autocast_mode.h>

#include "core/error.h"

namespace zoo {

namespace {

constexpr double kFirstScale = 65536, kGrowth = 2, kBackoff = 0.5;
constexpr int64_t kGrowthInterval = 2000;

}  // namespace

Precision resolve_precision(Precision precision, torch::Device device) {
  if (precision == Precision::automatic)
    return device.is_cuda() ? Precision::bf16 : Precision::fp32;
  if (precision == Precision::fp16 && device.is_cpu())
    throw ConfigError(
        "training.precision: fp16 is for CUDA, found the CPU; use bf16, fp32 or auto");
  return precision;
}

Autocast::Autocast(Precision precision, torch::Device device)
    : active_(precision == Precision::bf16 || precision == Precision::fp16), type_(device.type()) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(type_);
  old_dtype_ = at::autocast::get_autocast_dtype(type_);
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_,
                                   precision == Precision::bf16 ? torch::kBFloat16 : torch::kHalf);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(type_, was_enabled_);
  at::autocast::set_autocast_dtype(type_, old_dtype_);
}

LossScale::LossScale(Precision precision, torch::Device device) {
  if (precision != Precision::fp16) return;
  scale_ = torch::full({}, kFirstScale, torch::TensorOptions(device).dtype(torch::kFloat32));
  good_steps_ = torch::zeros({}, torch::TensorOptions(device).dtype(torch::kInt32));
}

void LossScale::update(const Tensor& skipped) {
  if (active())
    at::_amp_update_scale_(scale_, good_steps_, skipped, kGrowth, kBackoff, kGrowthInterval);
}

double LossScale::value() const { return active() ? scale_.item<double>() : 1; }
int64_t LossScale::good_steps() const { return active() ? good_steps_.item<int64_t>() : 0; }

void LossScale::restore(double value, int64_t good_steps) {
  if (!active()) return;
  scale_.fill_(value);
  good_steps_.fill_(good_steps);
}

}  // namespace zoo
