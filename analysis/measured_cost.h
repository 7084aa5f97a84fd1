#pragma once
// What models/cost.h works out from a config, beside what a built model takes.

#include <string>
#include <vector>

#include "models/model_config.h"

namespace zoo {

/// One number, both ways.
struct MeasuredCost {
  std::string what;  ///< "KV cache"
  std::string unit;  ///< "", "bytes" or "FLOPs"
  double predicted = 0, measured = 0;
  double ratio() const { return measured / predicted; }
};

/// Builds the model in float32 on the CPU and takes one training step with random tokens: its
/// parameters, and the bytes that they take; the matrix products of a forward pass; what that pass
/// leaves for the backward pass, the gradients, the most that a step holds at once; AdamW's state;
/// and the cache of a decoder. Parameters, gradients, optimizer and cache are exact predictions, up
/// to what models keep beside them (tables of positions, states); activations are an estimate.
/// @param batch sequences  @param tokens of each, at most longest_context()
/// @throws ConfigError if the machine has not the memory, or the config no vocabulary
std::vector<MeasuredCost> measure_cost(const ModelConfig& config, int64_t batch, int64_t tokens);

}  // namespace zoo
