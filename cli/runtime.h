#pragma once
// Sets LibTorch up as the global options say. Commands that compute call it first; the others never
// touch LibTorch, so that they start fast.

#include <torch/torch.h>

#include "cli/command.h"

namespace zoo::cli {

struct Runtime {
  torch::Device device = torch::kCPU;
  torch::Dtype dtype = torch::kFloat32;
};

/// Applies --threads, --seed and --deterministic to the process and resolves --device and --dtype.
/// @throws ConfigError for a device that this machine or LibTorch lacks
Runtime start_runtime(const GlobalOptions& globals);

}  // namespace zoo::cli
