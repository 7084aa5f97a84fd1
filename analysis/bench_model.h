#pragma once
// How fast a model reads, writes and learns.

#include <optional>
#include <string>
#include <vector>

#include "models/zoo.h"

namespace zoo {

struct ModelBenchOptions {
  int64_t prompt_tokens = 32;  ///< of the prompt, source or text; when training, of each sequence
  int64_t new_tokens = 64;     ///< written one after the other
  int64_t batch = 1;
  int64_t repeat = 3;             ///< runs after one to warm up; the median counts
  bool train = false;             ///< steps with AdamW too
  std::vector<int> threads = {};  ///< LibTorch's threads, in turn; none: as they are
};

/// One kind of work with one number of threads.
struct ModelBenchRow {
  std::string work;  ///< "write" of decoders, "read" of encoders, "train"
  int64_t threads = 0;
  double seconds = 0;                      ///< of the whole, the median
  std::optional<double> first_token = {};  ///< seconds until it is chosen, the prompt read
  double tokens_per_second = 0;  ///< of all rows together; of writing, those behind the first
  double peak_bytes = 0;         ///< weights, and the most that was allocated beside them at once
  /// Floating-point operations of the matrix products (models/cost.h) in a second, and how many
  /// this machine does in the products that suit it best. Unset where no closed form has them.
  std::optional<double> flops_per_second = {};
  double best_flops_per_second = 0;
  /// Model FLOPs utilization (Chowdhery et al. 2022, "PaLM", section 4.1), a share.
  std::optional<double> mfu() const {
    if (!flops_per_second) return std::nullopt;
    return *flops_per_second / best_flops_per_second;
  }
};

/// FLOPs a second of x W^T with 2,048 rows and a 1,024 x 1,024 matrix, by the library's fastest
/// kernel, on the device of `model` and in the format of its parameters: what MFU is a share of.
double best_flops_per_second(const torch::nn::Module& model);

/// Greedy decoding of random prompts, or reading of random texts or pictures; and training steps.
/// Weights, which training changes, stay as random as they are: no number depends on them.
/// @throws ConfigError if the tokens do not fit into the model
std::vector<ModelBenchRow> bench_model(torch::nn::Module& model, const ModelConfig& config,
                                       const ModelBenchOptions& options);

}  // namespace zoo
