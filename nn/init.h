#pragma once
// How parameters get their first values. Modules only allocate them: a model whose weights are read
// from a file draws nothing.

#include "core/shape.h"
#include "nn/config.h"

namespace zoo {

/// Draws every parameter of `module` from torch's default generator, by kind: projections and
/// embeddings as `config` says, biases 0, norm weights 1.
/// @param num_layers L of the scaled residual projections
void init_parameters(torch::nn::Module& module, const InitConfig& config, int64_t num_layers);

}  // namespace zoo
