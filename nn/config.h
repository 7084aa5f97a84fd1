#pragma once
// The configs of the parts. Each slot is a std::variant: the alias is the registry, and a new
// variant is one more alternative here. No torch in this header.

#include <string>
#include <variant>

#include "core/fields.h"

namespace zoo {

// ---- norm ------------------------------------------------------------------------------------

struct LayerNormConfig {
  static constexpr std::string_view kType = "layer";
  static constexpr std::string_view kAbout = "Ba et al. 2016, \"Layer Normalization\"";
  double eps = 1e-5;
  bool bias = true;
  void fields(auto&& visit) {
    visit("eps", eps, positive(), "added to the variance");
    visit("bias", bias, "learn a shift beside the scale");
  }
};

struct RmsNormConfig {
  static constexpr std::string_view kType = "rms";
  static constexpr std::string_view kAbout =
      "Zhang & Sennrich 2019, \"Root Mean Square Layer Normalization\"";
  double eps = 1e-6;
  void fields(auto&& visit) { visit("eps", eps, positive(), "added to the mean square"); }
};

using NormConfig = std::variant<LayerNormConfig, RmsNormConfig>;

/// Where the norm of a sub-layer stands.
enum class NormPlacement { pre, post };
template <>
struct EnumNames<NormPlacement> {
  static constexpr std::array values{std::pair{NormPlacement::pre, "pre"},
                                     std::pair{NormPlacement::post, "post"}};
};

// ---- position --------------------------------------------------------------------------------

struct NoPositionConfig {
  static constexpr std::string_view kType = "none";
  static constexpr std::string_view kAbout = "no position at all";
  void fields(auto&&) {}
};

struct LearnedPositionConfig {
  static constexpr std::string_view kType = "learned";
  static constexpr std::string_view kAbout =
      "A learned vector for each position, added to the embedding (Gehring et al. 2017; GPT-2)";
  void fields(auto&&) {}
};

/// Where the sine and the cosine of a wavelength stand in a position's vector.
enum class SinusoidalLayout { interleaved, halves };
template <>
struct EnumNames<SinusoidalLayout> {
  static constexpr std::array values{std::pair{SinusoidalLayout::interleaved, "interleaved"},
                                     std::pair{SinusoidalLayout::halves, "halves"}};
};

struct SinusoidalPositionConfig {
  static constexpr std::string_view kType = "sinusoidal";
  static constexpr std::string_view kAbout =
      "Sines and cosines added to the embedding (Vaswani et al. 2017, section 3.5)";
  double base = 10000;
  SinusoidalLayout layout = SinusoidalLayout::interleaved;
  void fields(auto&& visit) {
    visit("base", base, positive(), "longest wavelength over 2 pi, in tokens");
    visit("layout", layout,
          "interleaved: sine and cosine side by side, as in the paper; halves: all sines, then all "
          "cosines, as Marian has them");
  }
};

/// Which two elements of a head are turned together.
enum class RopePairing { half, interleaved };
template <>
struct EnumNames<RopePairing> {
  static constexpr std::array values{std::pair{RopePairing::half, "half"},
                                     std::pair{RopePairing::interleaved, "interleaved"}};
};

struct RopePositionConfig {
  static constexpr std::string_view kType = "rope";
  static constexpr std::string_view kAbout =
      "Rotary positions (Su et al. 2021, \"RoFormer\", section 3.2)";
  double base = 10000;
  RopePairing pairing = RopePairing::half;
  void fields(auto&& visit) {
    visit("base", base, positive(), "longest wavelength over 2 pi, in tokens");
    visit("pairing", pairing,
          "pairs turned together: half = (i, i + E/2), as Llama and GPT-NeoX files have it; "
          "interleaved = (2i, 2i + 1), as the paper and GPT-J");
  }
};

struct AlibiPositionConfig {
  static constexpr std::string_view kType = "alibi";
  static constexpr std::string_view kAbout =
      "Linear biases on the scores (Press et al. 2022, \"Train Short, Test Long\", section 3)";
  void fields(auto&&) {}
};

using PositionConfig =
    std::variant<LearnedPositionConfig, NoPositionConfig, SinusoidalPositionConfig,
                 RopePositionConfig, AlibiPositionConfig>;

// ---- feed-forward ----------------------------------------------------------------------------

enum class Activation { relu, gelu, gelu_tanh, silu };
template <>
struct EnumNames<Activation> {
  static constexpr std::array values{
      std::pair{Activation::relu, "relu"}, std::pair{Activation::gelu, "gelu"},
      std::pair{Activation::gelu_tanh, "gelu_tanh"}, std::pair{Activation::silu, "silu"}};
};

struct MlpConfig {
  static constexpr std::string_view kType = "mlp";
  static constexpr std::string_view kAbout =
      "Two projections with an activation between (Vaswani et al. 2017, section 3.3)";
  int64_t d_ff = 0;
  Activation activation = Activation::gelu;
  bool bias = true;
  void fields(auto&& visit) {
    visit("d_ff", d_ff, non_negative(), "inner width; 0: 4 d_model");
    visit("activation", activation, "gelu is the exact one (erf), gelu_tanh GPT-2's approximation");
    visit("bias", bias, "biases of both projections");
  }
  int64_t inner_width(int64_t d_model) const { return d_ff > 0 ? d_ff : 4 * d_model; }
};

struct GatedFeedForwardConfig {
  static constexpr std::string_view kType = "gated";
  static constexpr std::string_view kAbout =
      "activation(x W_gate) * (x W_up), then W_down (Shazeer 2020, \"GLU Variants Improve "
      "Transformer\"): SwiGLU with silu, GEGLU with gelu";
  int64_t d_ff = 0;
  Activation activation = Activation::silu;
  bool bias = false;
  void fields(auto&& visit) {
    visit("d_ff", d_ff, non_negative(),
          "inner width; 0: 8/3 d_model, rounded up to a multiple of 8");
    visit("activation", activation, "silu makes SwiGLU, gelu makes GEGLU, relu makes ReGLU");
    visit("bias", bias, "biases of the three projections");
  }
  /// 8/3 d_model gives the three matrices the size of an MLP's two (Shazeer 2020, section 3.1).
  int64_t inner_width(int64_t d_model) const {
    return d_ff > 0 ? d_ff : ((8 * d_model + 2) / 3 + 7) / 8 * 8;
  }
};

using FeedForwardConfig = std::variant<MlpConfig, GatedFeedForwardConfig>;

// ---- attention, block, init ------------------------------------------------------------------

/// Multi-head attention (Vaswani et al. 2017, section 3.2) with shared key/value heads:
/// num_kv_heads = num_heads is MHA, 1 is MQA (Shazeer 2019), between is GQA (Ainslie et al. 2023).
struct AttentionConfig {
  int64_t num_heads = 12;
  int64_t num_kv_heads = 0;
  bool bias = true;
  bool qk_norm = false;
  void fields(auto&& visit) {
    visit("num_heads", num_heads, at_least(1), "query heads; must divide d_model");
    visit("num_kv_heads", num_kv_heads, non_negative(),
          "key/value heads, a divisor of num_heads; 0: num_heads (MHA), 1: MQA, between: GQA");
    visit("bias", bias, "biases of the query, key, value and output projections");
    visit("qk_norm", qk_norm, "RMSNorm on each query and key head (Henry et al. 2020)");
  }
  int64_t kv_heads() const { return num_kv_heads == 0 ? num_heads : num_kv_heads; }
};

/// Dropout rates in the three places of Vaswani et al. 2017, section 5.4, and Radford et al. 2019.
struct DropoutConfig {
  double embedding = 0, attention = 0, residual = 0;
  void fields(auto&& visit) {
    visit("embedding", embedding, fraction(), "on the sum of token and position embeddings");
    visit("attention", attention, fraction(),
          "on the attention weights; above 0 the fused kernel is not used on CPU");
    visit("residual", residual, fraction(), "on each sub-layer's output before it is added");
  }
};

struct BlockConfig {
  NormConfig norm;
  NormPlacement placement = NormPlacement::pre;
  AttentionConfig attention;
  FeedForwardConfig feed_forward;
  void fields(auto&& visit) {
    visit("norm", norm, "the norm of each sub-layer");
    visit("placement", placement,
          "pre: x + f(norm(x)), with a final norm; post: norm(x + f(x)), as in the paper");
    visit("attention", attention, "the attention sub-layer");
    visit("feed_forward", feed_forward, "the feed-forward sub-layer");
  }
};

/// Whether the widths of a block suit each other: "", or what is wrong.
std::string check_widths(const BlockConfig& block, const PositionConfig& position, int64_t d_model);

/// Which of a sequence-to-sequence model's three tables of tokens are one (Press & Wolf 2017;
/// Vaswani et al. 2017, section 3.4).
enum class EmbeddingTying { none, target, all };
template <>
struct EnumNames<EmbeddingTying> {
  static constexpr std::array values{std::pair{EmbeddingTying::none, "none"},
                                     std::pair{EmbeddingTying::target, "target"},
                                     std::pair{EmbeddingTying::all, "all"}};
};

struct Gpt2InitConfig {
  static constexpr std::string_view kType = "gpt2";
  static constexpr std::string_view kAbout =
      "N(0, std), with the projections into the residual stream scaled by 1/sqrt(2 L) (Radford et "
      "al. 2019, section 2.3)";
  double std = 0.02;
  void fields(auto&& visit) {
    visit("std", std, positive(), "standard deviation of weights and embeddings");
  }
};

struct XavierInitConfig {
  static constexpr std::string_view kType = "xavier";
  static constexpr std::string_view kAbout =
      "Uniform with variance 2 / (fan_in + fan_out) (Glorot & Bengio 2010, equation 16); "
      "embeddings N(0, 1/D)";
  void fields(auto&&) {}
};

struct UniformInitConfig {
  static constexpr std::string_view kType = "uniform";
  static constexpr std::string_view kAbout =
      "Uniform in [-scale, scale] (Sutskever et al. 2014, section 3.4)";
  double scale = 0.08;
  void fields(auto&& visit) {
    visit("scale", scale, positive(), "largest absolute value of weights and embeddings");
  }
};

using InitConfig = std::variant<Gpt2InitConfig, XavierInitConfig, UniformInitConfig>;

// ---- pooling ---------------------------------------------------------------------------------

/// How a text's vectors become one.
enum class Pooling { cls, mean, max };
template <>
struct EnumNames<Pooling> {
  static constexpr std::array values{std::pair{Pooling::cls, "cls"},
                                     std::pair{Pooling::mean, "mean"},
                                     std::pair{Pooling::max, "max"}};
};

/// The activation of the projection behind the pooling.
enum class Pooler { none, tanh, relu };
template <>
struct EnumNames<Pooler> {
  static constexpr std::array values{std::pair{Pooler::none, "none"},
                                     std::pair{Pooler::tanh, "tanh"},
                                     std::pair{Pooler::relu, "relu"}};
};

// ---- recurrent networks ----------------------------------------------------------------------

enum class RecurrentCell { tanh, lstm, gru };
template <>
struct EnumNames<RecurrentCell> {
  static constexpr std::array values{std::pair{RecurrentCell::tanh, "tanh"},
                                     std::pair{RecurrentCell::lstm, "lstm"},
                                     std::pair{RecurrentCell::gru, "gru"}};
};

struct NoSourceAttentionConfig {
  static constexpr std::string_view kType = "none";
  static constexpr std::string_view kAbout =
      "No attention: the source is one vector (Sutskever et al. 2014; Cho et al. 2014)";
  void fields(auto&&) {}
};

struct BahdanauAttentionConfig {
  static constexpr std::string_view kType = "bahdanau";
  static constexpr std::string_view kAbout =
      "Additive scores, v . tanh(W s + U h), with U h computed once (Bahdanau et al. 2015, "
      "\"Neural "
      "Machine Translation by Jointly Learning to Align and Translate\", appendix A.1.2)";
  int64_t d_attention = 0;
  void fields(auto&& visit) {
    visit("d_attention", d_attention, non_negative(), "width of the tanh; 0: d_hidden");
  }
  int64_t width(int64_t d_hidden) const { return d_attention > 0 ? d_attention : d_hidden; }
};

struct DotAttentionConfig {
  static constexpr std::string_view kType = "dot";
  static constexpr std::string_view kAbout =
      "Scores s . h (Luong et al. 2015, \"Effective Approaches to Attention-based Neural Machine "
      "Translation\", section 3.1)";
  void fields(auto&&) {}
};

struct GeneralAttentionConfig {
  static constexpr std::string_view kType = "general";
  static constexpr std::string_view kAbout = "Scores s W h (Luong et al. 2015, section 3.1)";
  void fields(auto&&) {}
};

struct ScaledDotAttentionConfig {
  static constexpr std::string_view kType = "scaled_dot";
  static constexpr std::string_view kAbout =
      "Scores s . h / sqrt(width) (Vaswani et al. 2017, section 3.2.1)";
  void fields(auto&&) {}
};

/// How a recurrent decoder looks at the source.
using SourceAttentionConfig =
    std::variant<BahdanauAttentionConfig, NoSourceAttentionConfig, DotAttentionConfig,
                 GeneralAttentionConfig, ScaledDotAttentionConfig>;

}  // namespace zoo
