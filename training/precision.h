#pragma once
// Mixed precision: weights stay float32, matrix products run in 16 bits (Micikevicius et al. 2018,
// "Mixed Precision Training").

#include "core/shape.h"
#include "training/config.h"

namespace zoo {

/// The precision that `automatic` stands for on a device. @throws ConfigError for fp16 on the CPU,
/// where it gains nothing
Precision resolve_precision(Precision precision, torch::Device device);

/// While it lives, LibTorch casts what gains from it to bf16 or fp16; with fp32 it does nothing.
class Autocast {
 public:
  Autocast(Precision precision, torch::Device device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool active_;
  torch::DeviceType type_;
  bool was_enabled_ = false;
  torch::Dtype old_dtype_ = torch::kFloat32;
};

/// The factor that keeps small fp16 gradients from becoming zero: halved when a gradient overflows,
/// doubled after 2,000 good steps. With other precisions it is 1 and nothing is computed.
class LossScale {
 public:
  LossScale(Precision precision, torch::Device device);
  bool active() const { return scale_.defined(); }
  const Tensor& scale() const { return scale_; }  ///< scalar float32, undefined unless active
  void update(const Tensor& skipped);  ///< scalar float32: 1 if the gradient was not finite

  double value() const;        ///< waits for the device
  int64_t good_steps() const;  ///< since the last change; waits for the device
  void restore(double value, int64_t good_steps);

 private:
  Tensor scale_, good_steps_;  // scalar float32, scalar int32
};

}  // namespace zoo
