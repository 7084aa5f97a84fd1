#include "cli/runtime.h"

#include <string>

namespace zoo::cli {

namespace {

/// @param text auto, cpu, cuda or cuda:i, which main() has checked
torch::Device resolve_device(const std::string& text) {
  if (text == "cpu") return torch::kCPU;
  const auto gpus = static_cast<int64_t>(torch::cuda::device_count());
  if (text == "auto") return gpus > 0 ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  const int64_t index = text == "cuda" ? 0 : std::stoll(text.substr(text.find(':') + 1));
  if (gpus == 0)
    throw ConfigError(cat(
        "--device: ", text,
        " is not available: LibTorch sees no CUDA device here; use --device cpu, "
        "or a CUDA build of LibTorch on a machine with a GPU (`transformer-cli env` shows both)"));
  if (index >= gpus)
    throw ConfigError(cat("--device: ", text,
                          " is not available; allowed: auto, cpu, cuda:0 to cuda:", gpus - 1));
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

}  // namespace

Runtime start_runtime(const GlobalOptions& globals) {
  if (globals.threads) {
    at::set_num_threads(static_cast<int>(*globals.threads));
    at::set_num_interop_threads(static_cast<int>(*globals.threads));
  }
  Runtime runtime;
  runtime.device = resolve_device(globals.device);
  runtime.dtype = globals.dtype == "bfloat16" ? torch::kBFloat16 : torch::kFloat32;
  torch::manual_seed(static_cast<uint64_t>(globals.seed));
  if (globals.deterministic)
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  return runtime;
}

}  // namespace zoo::cli
