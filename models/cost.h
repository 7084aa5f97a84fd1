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

/// forward_flops() by what it is spent on.
struct ForwardFlops {
  double embedding = 0;    ///< the patches of pictures
  double projections = 0;  ///< queries, keys and values, and what joins the heads
  double attention = 0;    ///< scores and weighted values: what grows with `keys`
  double feed_forward = 0, recurrent = 0, output = 0;
  double total() const {
    return embedding + projections + attention + feed_forward + recurrent + output;
  }
};
ForwardFlops forward_flops_by_part(const ModelConfig& config, int64_t keys);

/// Floating-point operations of a decoder-only model that writes `tokens` tokens from nothing, one
/// after the other: sums of forward_flops() over contexts of 1, 2, … tokens. With a cache each step
/// reads one token, without one all of its context; logits are those of the last token. The cache
/// takes a power of `tokens` away from both terms: the projections' from n^2 to n, the attention's
/// from n^3 to n^2; attention does not become linear.
struct GenerationFlops {
  double with_cache = 0, without_cache = 0;
};
GenerationFlops generation_flops(const GptConfig& config, int64_t tokens);

/// forward_flops() with the backward pass, which costs two forward passes. PaLM's convention for a
/// training window of n tokens is keys = n, though causal attention needs only half of that.
inline double training_flops(const ModelConfig& config, int64_t keys) {
  return 3 * forward_flops(config, keys);
}

/// Memory in bytes.
struct TrainingMemory {
  double weights = 0, gradients = 0, optimizer = 0;
  /// An estimate: what the backward pass needs of every layer, and the logits with their gradient.
  /// Measured, Transformers keep just that; of recurrent layers gates and states are counted, and
  /// LibTorch's kernels keep 1.2 to 2.5 times as much.
  double activations = 0;
  /// The part of it that the forward pass leaves behind, once the logits themselves are gone.
  double kept = 0;
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

/// The KV cache that the model would have with another number of key/value heads.
struct KvCacheForm {
  std::string name;      ///< "MHA", "GQA" (Ainslie et al. 2023), "MQA" (Shazeer 2019)
  int64_t kv_heads = 0;  ///< G
  double bytes = 0;
  bool own = false;  ///< the config's own number
};
/// All query heads, the config's own number if it is another one, and one. Empty for models that
/// keep no keys and values of heads.
std::vector<KvCacheForm> kv_cache_forms(const ModelConfig& config, int64_t batch, int64_t tokens,
                                        int64_t bytes_per_number);

/// Bytes of the attention weights softmax(q k^T) when they are held explicitly, H T T numbers for
/// each sequence and layer; the fused kernel holds none (Dao et al. 2022, "FlashAttention").
struct ScoreBytes {
  double one_layer = 0, all_layers = 0;
};
ScoreBytes attention_score_bytes(const ModelConfig& config, int64_t batch, int64_t tokens,
                                 int64_t bytes_per_number);

/// Bytes that training keeps of each parameter.
struct StateBytes {
  double weight, gradient, optimizer;
  double total() const { return weight + gradient + optimizer; }
};
/// Adam in float32: weight, gradient, two moments.
constexpr StateBytes kFloat32Adam{4, 4, 8};
/// Adam in mixed precision: weight and gradient in 16 bits; weight and two moments in float32
/// (Rajbhandari et al. 2020, "ZeRO", section 3.1).
constexpr StateBytes kMixedAdam{2, 2, 12};

/// Bytes on each of `ranks` that train together, activations left out (Rajbhandari et al. 2020,
/// section 5 and figure 1): ZeRO-1 shares the optimizer's state out, ZeRO-2 the gradients too,
/// ZeRO-3 also the weights.
struct ZeroMemory {
  double replicated = 0, stage1 = 0, stage2 = 0, stage3 = 0;
};
ZeroMemory zero_memory(double parameters, int64_t ranks, const StateBytes& bytes);

}  // namespace zoo
