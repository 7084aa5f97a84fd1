#pragma once
// How parameters get their first values. Modules only allocate them: a model whose weights are read
// from a file draws nothing.

#include "core/shape.h"
#include "nn/config.h"

namespace zoo {

/// Draws every parameter of `module` from torch's default generator, by kind: projections and
/// embeddings as `config` says, biases 0, norm weights 1. Recurrent weights are drawn a gate at a
/// time, or orthogonal, as the layers' own options say.
/// @param residual_writes how many projections write into the residual stream, for their scale
void init_parameters(torch::nn::Module& module, const InitConfig& config, int64_t residual_writes);

}  // namespace zoo
