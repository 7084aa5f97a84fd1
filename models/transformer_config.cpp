#include "models/transformer_config.h"

#include "core/error.h"
#include "models/presets.h"

namespace zoo {

std::string TransformerConfig::check() const {
  if (tie_embeddings == EmbeddingTying::all && source_vocab_size != vocab_size)
    return cat("tie_embeddings \"all\" needs one vocabulary, but source_vocab_size is ",
               source_vocab_size, " and vocab_size ", vocab_size,
               "; make them equal, or tie the \"target\" only");
  return check_widths(block, position, d_model);
}

namespace {

/// Vaswani et al. 2017, table 3.
TransformerConfig vaswani(int64_t d_model, int64_t num_heads, double dropout) {
  TransformerConfig config;
  config.d_model = d_model;
  config.block.attention.num_heads = num_heads;
  config.dropout = {.embedding = dropout, .residual = dropout};
  return config;
}

/// For some 10^4 pairs of sentences: the norm before each sub-layer, which trains without warm-up.
TransformerConfig compact(int64_t layers, int64_t d_model, int64_t num_heads, int64_t d_ff,
                          double dropout) {
  TransformerConfig config = vaswani(d_model, num_heads, dropout);
  config.encoder_layers = config.decoder_layers = layers;
  config.max_source_length = config.max_length = 256;
  config.block.placement = NormPlacement::pre;
  config.block.feed_forward = MlpConfig{.d_ff = d_ff, .activation = Activation::relu};
  return config;
}

const std::vector<Preset<TransformerConfig>>& presets() {
  static const std::vector<Preset<TransformerConfig>> all = {
      {"base", vaswani(512, 8, 0.1)},
      {"big", vaswani(1024, 16, 0.3)},
      {"small", compact(3, 256, 8, 512, 0.1)},
      {"tiny", compact(4, 128, 4, 256, 0.3)},  // Wu et al. 2021, for Multi30k
  };
  return all;
}

}  // namespace

std::vector<std::string> TransformerConfig::preset_names() { return names_of(presets()); }

TransformerConfig TransformerConfig::preset(const std::string& name) {
  return find_preset(presets(), name);
}

}  // namespace zoo
