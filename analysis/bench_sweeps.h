#pragma once
// Benchmarks by length: attention, generation with and without a cache, scores, layers. Each
// compares its series in one run, turn by turn, so that what slows the machine down slows all.

#include <functional>
#include <string>
#include <vector>

#include "analysis/bench.h"
#include "core/shape.h"
#include "models/gpt_config.h"
#include "nn/config.h"

namespace zoo {

struct SweepOptions {
  std::vector<int64_t> lengths;  ///< in tokens, rising
  int64_t batch = 1;
  int64_t repeat = 5;  ///< timings of each case, of which the median counts
  torch::Device device = torch::kCPU;
  /// Called before each length with its number of tokens.
  std::function<void(int64_t)> on_length = [](int64_t) {};
};

struct AttentionBench {
  int64_t heads = 4, kv_heads = 4, head_dim = 64;
  bool causal = true;
};

/// Fused attention (nn/attend.h) against one that holds its weights, forward, and forward and
/// backward. @throws ConfigError if the explicit one does not fit into memory
BenchResult bench_attention(const AttentionBench& attention, const SweepOptions& options);

/// Greedy generation from one token with and without a KV cache, by random weights: all of the
/// first n tokens, and the n-th alone. @throws ConfigError if a length exceeds the model's
BenchResult bench_cache(const GptConfig& config, const SweepOptions& options);

/// Scores of n decoder states against n encoder vectors of one width (nn/source_attention.h):
/// additive, dot, scaled dot and general, with softmax. Facts: how far dot products of standard
/// normal vectors spread without and with the scale, and how large the largest of 64 softmax
/// weights gets (Vaswani et al. 2017, section 3.2.1).
BenchResult bench_scoring(int64_t width, const SweepOptions& options);

struct LayerBench {
  int64_t width = 128;       ///< d
  int64_t heads = 4;         ///< of the multi-head layer
  int64_t kernel_width = 3;  ///< k of the convolution
};

/// The layers of Vaswani et al. 2017, table 1.
enum class LayerKind { tanh_rnn, lstm, convolution, attention, multi_head };
template <>
struct EnumNames<LayerKind> {
  static constexpr std::array values{std::pair{LayerKind::tanh_rnn, "tanh RNN"},
                                     std::pair{LayerKind::lstm, "LSTM"},
                                     std::pair{LayerKind::convolution, "convolution"},
                                     std::pair{LayerKind::attention, "attention"},
                                     std::pair{LayerKind::multi_head, "multi-head attention"}};
};

/// What table 1 tells of a layer, with its constants.
struct LayerTheory {
  double multiply_adds = 0;  ///< of the matrix products
  int64_t path_length = 0;   ///< of a convolution: layers, of widening gaps, to see all n tokens
  int64_t sequential_steps = 0;
};
/// `attention` is softmax(x x^T / sqrt(d)) x, the n^2 d of the table (twice: scores and values);
/// `multi_head` has its four projections too.
LayerTheory layer_theory(LayerKind kind, const LayerBench& layer, int64_t tokens);

/// Recurrent, convolutional and attention layers of one width, forward, and forward and backward.
/// Crossings: attention with the tanh RNN, whose products are as many at n = d; the multi-head
/// layer with the LSTM, at n = 2 d.
BenchResult bench_layers(const LayerBench& layer, const SweepOptions& options);

}  // namespace zoo
