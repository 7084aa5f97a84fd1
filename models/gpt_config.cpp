#include "models/gpt_config.h"

#include "models/presets.h"

namespace zoo {

std::string GptConfig::check() const { return check_widths(block, position, d_model); }

namespace {

GptConfig gpt2(int64_t num_layers, int64_t num_heads, int64_t d_model) {
  GptConfig config;
  config.vocab_size = 50257;
  config.num_layers = num_layers;
  config.d_model = d_model;
  config.block.attention.num_heads = num_heads;
  config.block.feed_forward = MlpConfig{.activation = Activation::gelu_tanh};
  config.dropout = {.embedding = 0.1, .attention = 0.1, .residual = 0.1};
  return config;
}

/// Karpathy's nanoGPT for characters: GPT-2's block without biases.
GptConfig nanogpt(int64_t max_length, int64_t num_layers, int64_t num_heads, int64_t d_model,
                  double dropout) {
  GptConfig config;
  config.max_length = max_length;
  config.num_layers = num_layers;
  config.d_model = d_model;
  config.block.norm = LayerNormConfig{.bias = false};
  config.block.attention = {.num_heads = num_heads, .bias = false};
  config.block.feed_forward = MlpConfig{.bias = false};
  config.dropout = {dropout, dropout, dropout};
  return config;
}

/// The classic 512-wide GPT of teaching material: sinusoidal positions, attention without biases.
GptConfig gpt_mini() {
  GptConfig config;
  config.vocab_size = 50257;
  config.max_length = 512;
  config.num_layers = 6;
  config.d_model = 512;
  config.position = SinusoidalPositionConfig{};
  config.block.attention = {.num_heads = 8, .bias = false};
  config.dropout = {.embedding = 0.1, .attention = 0.1, .residual = 0.1};
  return config;
}

/// GPT-2's block, 175 billion parameters large (Brown et al. 2020, table 2.1).
GptConfig gpt3() {
  GptConfig config = gpt2(96, 96, 12288);
  config.max_length = 2048;
  return config;
}

/// Touvron et al. 2023, "Llama 2", section 2.2 and table 1.
GptConfig llama2(int64_t num_layers, int64_t num_heads, int64_t num_kv_heads, int64_t d_model,
                 int64_t d_ff) {
  GptConfig config;
  config.vocab_size = 32000;
  config.max_length = 4096;
  config.num_layers = num_layers;
  config.d_model = d_model;
  config.position = RopePositionConfig{};
  config.block.norm = RmsNormConfig{.eps = 1e-5};
  config.block.attention = {.num_heads = num_heads, .num_kv_heads = num_kv_heads, .bias = false};
  config.block.feed_forward = GatedFeedForwardConfig{.d_ff = d_ff};
  config.tie_embeddings = false;
  return config;
}

/// Today's block at the size of nanogpt-cpu: RoPE, RMSNorm, SwiGLU, GQA, QK-norm, no biases.
GptConfig modern() {
  GptConfig config;
  config.max_length = 64;
  config.num_layers = 4;
  config.d_model = 128;
  config.position = RopePositionConfig{};
  config.block.norm = RmsNormConfig{};
  config.block.attention = {.num_heads = 4, .num_kv_heads = 2, .bias = false, .qk_norm = true};
  config.block.feed_forward = GatedFeedForwardConfig{};
  return config;
}

const std::vector<Preset<GptConfig>>& presets() {
  static const std::vector<Preset<GptConfig>> all = {
      {"nanogpt-cpu", nanogpt(64, 4, 4, 128, 0.0)},
      {"nanogpt-gpu", nanogpt(256, 6, 6, 384, 0.2)},
      {"gpt2", gpt2(12, 12, 768)},
      {"gpt2-medium", gpt2(24, 16, 1024)},
      {"gpt2-large", gpt2(36, 20, 1280)},
      {"gpt2-xl", gpt2(48, 25, 1600)},
      {"gpt3", gpt3()},
      {"gpt-mini", gpt_mini()},
      {"llama2-7b", llama2(32, 32, 0, 4096, 11008)},
      {"llama2-70b", llama2(80, 64, 8, 8192, 28672)},
      {"modern", modern()},
  };
  return all;
}

}  // namespace

std::vector<std::string> GptConfig::preset_names() { return names_of(presets()); }

GptConfig GptConfig::preset(const std::string& name) { return find_preset(presets(), name); }

}  // namespace zoo
