#pragma once
// What a model costs: parameters, arithmetic, memory, worked out from its config alone. No torch in
// this header, and nothing is built. Letters of the shapes: core/shape.h.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/model_config.h"

namespace zoo {

/// One parameter of the model, or one of each block.
struct ParameterCost {
  /// "embedding", "position", "attention", "feed_forward", "recurrent", "norm", "output"
  std::string part;
  std::string name;            ///< as in checkpoints, "*" for the number of the block
  std::string letters;         ///< "(V, D)"
  std::vector<int64_t> shape;  ///< as the checkpoint has it
  int64_t copies = 1;          ///< the number of blocks for "blocks.*"
  int64_t count() const;       ///< numbers in all copies
};

/// Every parameter in the order of the model, each storage once (tied embeddings have no output).
std::vector<ParameterCost> parameter_costs(const ModelConfig& config);

int64_t parameter_count(const ModelConfig& config);

/// The sizes that the letters stand for, in the order to show them: {"V", 50257}.
std::vector<std::pair<std::string, int64_t>> letter_sizes(const ModelConfig& config);

/// The longest sequence in tokens; of an encoder-decoder the longer of both; of a picture all of
/// its tokens.
int64_t longest_context(const ModelConfig& config);

/// Floating-point operations to read one token that attends to `keys` tokens, itself included. Of
/// an encoder-decoder: to read one source and one target token, when both sequences have `keys`.
/// A multiply and an add are 2. Counted are the matrix products: projections, output layer, scores
/// and weighted values (4 keys D a layer). Left out are table look-ups, norms, activations,
/// softmax: the convention of Chowdhery et al. 2022, "PaLM", appendix B.
double forward_flops(const ModelConfig& config, int64_t keys);

/// The same with the backward pass, which costs two forward passes. PaLM's convention for a
/// training window of n tokens is keys = n, though causal attention needs only half of that.
inline double training_flops(const ModelConfig& config, int64_t keys) {
  return 3 * forward_flops(config, keys);
}

/// Memory in bytes.
struct TrainingMemory {
  double weights = 0, gradients = 0, optimizer = 0;
  /// An estimate: what the backward pass needs of every layer, and the logits with their gradient.
  double activations = 0;
  double total() const { return weights + gradients + optimizer + activations; }
};

struct TrainingShape {
  int64_t batch = 1, tokens = 1;  ///< of an encoder-decoder, tokens of the source and the target
  int64_t optimizer_states = 2;  ///< numbers that the optimizer keeps of a parameter: Adam 2, SGD 1
  bool half_precision = false;   ///< activations in bf16 or fp16; weights stay float32
};
TrainingMemory training_memory(const ModelConfig& config, const TrainingShape& shape);

/// Bytes of the KV cache: 2 L G E numbers for each token of each sequence. Of an encoder-decoder:
/// those of a target and of a source of `tokens` tokens each; a recurrent decoder has the source's
/// vectors and their keys only.
double kv_cache_bytes(const ModelConfig& config, int64_t batch, int64_t tokens,
                      int64_t bytes_per_number);

}  // namespace zoo
