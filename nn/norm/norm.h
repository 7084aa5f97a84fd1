#pragma once
// The norm slot.

#include "core/shape.h"
#include "nn/config.h"

namespace zoo {

/// Normalises the last dimension; every variant owns `weight` (D), set to ones by nn/init.h.
class NormImpl : public torch::nn::Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;  ///< (..., D) to (..., D)
};
TORCH_MODULE(Norm);

/// The variant that `config` names, for vectors of `dim` elements.
Norm make_norm(const NormConfig& config, int64_t dim);

}  // namespace zoo
