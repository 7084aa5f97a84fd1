#pragma once
// The config of the encoder-decoder Transformer and its presets. No torch in this header.

#include <string>
#include <vector>

#include "nn/config.h"

namespace zoo {

struct TransformerConfig {
  static constexpr std::string_view kType = "transformer";
  static constexpr std::string_view kAbout =
      "Encoder-decoder Transformer (Vaswani et al. 2017, \"Attention Is All You Need\"), with "
      "every "
      "part chosen by config";
  int64_t source_vocab_size = 0, vocab_size = 0;
  int64_t max_source_length = 512, max_length = 512;
  int64_t encoder_layers = 6, decoder_layers = 6;
  int64_t d_model = 512;
  PositionConfig position = SinusoidalPositionConfig{};
  BlockConfig block{.norm = LayerNormConfig{},
                    .placement = NormPlacement::post,
                    .attention = {.num_heads = 8, .bias = false},
                    .feed_forward = MlpConfig{.activation = Activation::relu}};
  DropoutConfig dropout{.embedding = 0.1, .residual = 0.1};
  InitConfig init = XavierInitConfig{};
  EmbeddingTying tie_embeddings = EmbeddingTying::all;
  bool scale_embeddings = true;
  bool output_bias = false;

  void fields(auto&& visit) {
    visit("source_vocab_size", source_vocab_size, non_negative(),
          "tokens in the source's vocabulary; 0: the tokenizer's");
    visit("vocab_size", vocab_size, non_negative(),
          "tokens in the target's vocabulary; 0: the tokenizer's");
    visit("max_source_length", max_source_length, at_least(1), "longest source, in tokens");
    visit("max_length", max_length, at_least(1), "longest target, in tokens");
    visit("encoder_layers", encoder_layers, at_least(1), "blocks of the encoder");
    visit("decoder_layers", decoder_layers, at_least(1), "blocks of the decoder");
    visit("d_model", d_model, at_least(1), "width of the residual stream");
    visit("position", position, "how order enters encoder and decoder");
    visit("block", block, "every block's parts, those of the attention to the source included");
    visit("dropout", dropout, "dropout rates while training");
    visit("init", init, "how parameters are drawn");
    visit("tie_embeddings", tie_embeddings,
          "none; target: output projection = target embedding (Press & Wolf 2017); all: the source "
          "embedding too, for one vocabulary of both sides (Vaswani et al. 2017, section 3.4)");
    visit("scale_embeddings", scale_embeddings,
          "multiply token embeddings by sqrt(d_model) (Vaswani et al. 2017, section 3.4)");
    visit("output_bias", output_bias, "add a learned bias to the logits, as Marian does");
  }
  std::string check() const;

  /// base, big, small, tiny
  static std::vector<std::string> preset_names();
  static TransformerConfig preset(const std::string& name);

  bool operator==(const TransformerConfig&) const = delete;  // compare config_to_json() instead
};

}  // namespace zoo
