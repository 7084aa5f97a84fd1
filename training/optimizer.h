#pragma once
// Optimizers on LibTorch's fused kernels, one call a step.

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "training/config.h"

namespace zoo {

/// 2-norm of all gradients together, finite whenever they are: [1e20, 1, 2] has norm 1e20, although
/// its square is no float. Undefined gradients are left out.
/// @return scalar float64 on the gradients' device
Tensor gradient_norm(const std::vector<Tensor>& gradients);

/// Copies a saved tensor of a training state over the one in use.
/// @throws FormatError if their shapes differ
void copy_state(Tensor target, const Tensor& saved, const std::string& name);

/// The factors of the learning rate for layer-wise decay, by the parameters' names.
std::vector<double> layer_rates(const std::vector<std::string>& names, double layer_decay);

/// AdamW, Adam or SGD over a module's parameters, each storage once. Weight decay is for tensors of
/// two and more dimensions: projections and embeddings, not biases and norm scales.
class Optimizer {
 public:
  /// @param layer_decay the learning rate of each block is this times that of the block above it;
  /// embeddings are below all blocks, what follows them above
  Optimizer(const OptimizerConfig& config, const torch::nn::Module& module, double layer_decay = 1);

  /// Sets the gradients to undefined, so that backward() takes them over without a copy.
  void zero_grad();
  /// The gradients that are defined.
  std::vector<Tensor> gradients() const;

  /// Divides the gradients by `divisor` and updates the parameters that have one.
  /// @param divisor scalar float32 on the parameters' device, undefined: 1
  /// @param skip scalar float32 there: 1 leaves parameters, moments and step count as they are, 0
  /// updates; undefined: 0
  void step(double learning_rate, const Tensor& divisor = {}, const Tensor& skip = {});

  const NamedTensors& parameters() const { return parameters_; }
  /// Moments and the count of updates, by name; they are the optimizer's own tensors.
  NamedTensors state() const;

 private:
  struct Group {
    bool decays = false;
    double rate = 1;                                // factor of the learning rate
    std::vector<Tensor> parameters, first, second;  // `second` is empty for SGD
    std::vector<std::string> names;
  };

  Group& group_of(bool decays, double rate);
  void step_group(const Group& group, double learning_rate, const Tensor& divisor,
                  const Tensor& skip);

  OptimizerConfig config_;
  NamedTensors parameters_;
  std::vector<Group> groups_;
  Tensor count_;  // updates done, scalar float32: what the fused kernels read
};

}  // namespace zoo
