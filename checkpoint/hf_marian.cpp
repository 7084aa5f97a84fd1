// Marian's encoder-decoder Transformer (Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine
// Translation in C++") as Hugging Face's `transformers` stores it.

#include "checkpoint/hugging_face.h"
#include "checkpoint/known_keys.h"

namespace zoo {

namespace {

/// The keys of config.json that decide the model, with MarianConfig's defaults.
struct HfMarianConfig {
  int64_t vocab_size = 58101, max_position_embeddings = 1024, d_model = 1024;
  std::optional<int64_t> decoder_vocab_size;
  int64_t encoder_layers = 12, encoder_attention_heads = 16, encoder_ffn_dim = 4096;
  int64_t decoder_layers = 12, decoder_attention_heads = 16, decoder_ffn_dim = 4096;
  std::string activation_function = "gelu";
  double dropout = 0.1, attention_dropout = 0, init_std = 0.02;
  bool scale_embedding = false, share_encoder_decoder_embeddings = true, tie_word_embeddings = true;
  // Older files name these; the library computes one value of each.
  bool normalize_before = false, normalize_embedding = false, add_final_layer_norm = false;
  bool static_position_embeddings = true;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, at_least(1), "");
    visit("decoder_vocab_size", decoder_vocab_size, at_least(1), "null: vocab_size");
    visit("max_position_embeddings", max_position_embeddings, at_least(1), "");
    visit("d_model", d_model, at_least(1), "");
    visit("encoder_layers", encoder_layers, at_least(1), "");
    visit("encoder_attention_heads", encoder_attention_heads, at_least(1), "");
    visit("encoder_ffn_dim", encoder_ffn_dim, at_least(1), "");
    visit("decoder_layers", decoder_layers, at_least(1), "");
    visit("decoder_attention_heads", decoder_attention_heads, at_least(1), "");
    visit("decoder_ffn_dim", decoder_ffn_dim, at_least(1), "");
    visit("activation_function", activation_function, "");
    visit("dropout", dropout, fraction(), "");
    visit("attention_dropout", attention_dropout, fraction(), "");
    visit("init_std", init_std, positive(), "");
    visit("scale_embedding", scale_embedding, "");
    visit("share_encoder_decoder_embeddings", share_encoder_decoder_embeddings, "");
    visit("tie_word_embeddings", tie_word_embeddings, "");
    visit("normalize_before", normalize_before, "");
    visit("normalize_embedding", normalize_embedding, "");
    visit("add_final_layer_norm", add_final_layer_norm, "");
    visit("static_position_embeddings", static_position_embeddings, "");
  }
};

ModelConfig read_marian(const Json& json, const std::string& where) {
  HfMarianConfig theirs;
  read_known_keys(json, theirs, where);
  refuse_quantised(json, where);
  const auto require = [&](bool holds, const char* key, const char* allowed) {
    refuse_unless(holds, where, key, allowed);
  };
  require(!theirs.normalize_before, "normalize_before", "false");
  require(!theirs.normalize_embedding, "normalize_embedding", "false");
  require(!theirs.add_final_layer_norm, "add_final_layer_norm", "false");
  require(theirs.static_position_embeddings, "static_position_embeddings", "true");
  require(theirs.decoder_attention_heads == theirs.encoder_attention_heads,
          "decoder_attention_heads", "the same number as encoder_attention_heads");
  require(theirs.decoder_ffn_dim == theirs.encoder_ffn_dim, "decoder_ffn_dim",
          "the same width as encoder_ffn_dim");
  require(!theirs.share_encoder_decoder_embeddings || theirs.tie_word_embeddings,
          "tie_word_embeddings", "true, where share_encoder_decoder_embeddings is true,");

  TransformerConfig ours;
  ours.source_vocab_size = theirs.vocab_size;
  // Shared embeddings have one size, whatever the other key says.
  ours.vocab_size = theirs.share_encoder_decoder_embeddings
                        ? theirs.vocab_size
                        : theirs.decoder_vocab_size.value_or(theirs.vocab_size);
  ours.max_source_length = ours.max_length = theirs.max_position_embeddings;
  ours.encoder_layers = theirs.encoder_layers;
  ours.decoder_layers = theirs.decoder_layers;
  ours.d_model = theirs.d_model;
  ours.position = SinusoidalPositionConfig{.layout = SinusoidalLayout::halves};
  ours.block.norm = LayerNormConfig{};
  ours.block.placement = NormPlacement::post;
  ours.block.attention = {.num_heads = theirs.encoder_attention_heads};
  ours.block.feed_forward = MlpConfig{
      .d_ff = theirs.encoder_ffn_dim,
      .activation = activation_from_hf(theirs.activation_function, where + "/activation_function")};
  ours.dropout = {theirs.dropout, theirs.attention_dropout, theirs.dropout};
  ours.init = Gpt2InitConfig{.std = theirs.init_std};
  ours.tie_embeddings = theirs.share_encoder_decoder_embeddings ? EmbeddingTying::all
                        : theirs.tie_word_embeddings            ? EmbeddingTying::target
                                                                : EmbeddingTying::none;
  ours.scale_embeddings = theirs.scale_embedding;
  ours.output_bias = true;
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::optional<Json> write_marian(const ModelConfig& config) {
  const auto* ours = std::get_if<TransformerConfig>(&config);
  if (ours == nullptr) return std::nullopt;
  const auto* position = std::get_if<SinusoidalPositionConfig>(&ours->position);
  const auto* norm = std::get_if<LayerNormConfig>(&ours->block.norm);
  BlockConfig with_biases = ours->block;  // those that ours lacks are written as 0
  with_biases.attention.bias = true;
  const bool same_shape =
      position != nullptr && norm != nullptr && position->layout == SinusoidalLayout::halves &&
      position->base == SinusoidalPositionConfig{}.base && norm->eps == LayerNormConfig{}.eps &&
      is_plain_block(with_biases, NormPlacement::post);
  if (!same_shape) return std::nullopt;
  const auto& mlp = std::get<MlpConfig>(ours->block.feed_forward);
  HfMarianConfig theirs;
  theirs.vocab_size = ours->source_vocab_size;
  theirs.decoder_vocab_size = ours->vocab_size;
  theirs.max_position_embeddings = std::max(ours->max_source_length, ours->max_length);
  theirs.d_model = ours->d_model;
  theirs.encoder_layers = ours->encoder_layers;
  theirs.decoder_layers = ours->decoder_layers;
  theirs.encoder_attention_heads = theirs.decoder_attention_heads = ours->block.attention.num_heads;
  theirs.encoder_ffn_dim = theirs.decoder_ffn_dim = mlp.inner_width(ours->d_model);
  theirs.activation_function = activation_to_hf(mlp.activation);
  theirs.dropout = ours->dropout.residual;
  theirs.attention_dropout = ours->dropout.attention;
  if (const auto* init = std::get_if<Gpt2InitConfig>(&ours->init)) theirs.init_std = init->std;
  theirs.scale_embedding = ours->scale_embeddings;
  theirs.share_encoder_decoder_embeddings = ours->tie_embeddings == EmbeddingTying::all;
  theirs.tie_word_embeddings = ours->tie_embeddings != EmbeddingTying::none;
  Json json = config_to_json(theirs);
  json["is_encoder_decoder"] = true;
  // MarianConfig's default would end every text that reaches its limit with the token 0.
  json["forced_eos_token_id"] = nullptr;
  return json;
}

/// Weight and bias of a module of ours, made of the rows of `theirs`, one below the other.
void add(std::vector<HfWeight>& all, const std::string& ours,
         const std::vector<std::string>& theirs) {
  for (const std::string part : {".weight", ".bias"}) {
    HfWeight weight{.ours = ours + part, .theirs = {}, .rows = {}, .shape = {}};
    for (const std::string& name : theirs) weight.theirs.push_back(name + part);
    all.push_back(weight);
  }
}

std::vector<HfWeight> marian_weights(const ModelConfig& config) {
  const auto& ours = std::get<TransformerConfig>(config);
  std::vector<HfWeight> all;
  const auto add_layer = [&](const std::string& block, const std::string& layer, bool decoder) {
    const auto add_norm = [&](const std::string& norm, const std::string& name) {
      add(all, block + norm, {layer + name + "_layer_norm"});
    };
    const std::string self = layer + "self_attn.", cross = layer + "encoder_attn.";
    add(all, block + "attention.qkv", {self + "q_proj", self + "k_proj", self + "v_proj"});
    add(all, block + "attention.out", {self + "out_proj"});
    add_norm("norm1", "self_attn");
    if (decoder) {
      add(all, block + "cross_attention.q", {cross + "q_proj"});
      add(all, block + "cross_attention.kv", {cross + "k_proj", cross + "v_proj"});
      add(all, block + "cross_attention.out", {cross + "out_proj"});
      add_norm("norm2", "encoder_attn");
    }
    add(all, block + "feed_forward.up", {layer + "fc1"});
    add(all, block + "feed_forward.down", {layer + "fc2"});
    add_norm(decoder ? "norm3" : "norm2", "final");
  };
  for (int64_t i = 0; i < ours.encoder_layers; ++i)
    add_layer(cat("encoder_blocks.", i, "."), cat("model.encoder.layers.", i, "."), false);
  for (int64_t i = 0; i < ours.decoder_layers; ++i)
    add_layer(cat("decoder_blocks.", i, "."), cat("model.decoder.layers.", i, "."), true);
  divide_rows(all, ours.d_model);
  for (HfWeight& weight : all)
    weight.zero_if_absent =
        weight.ours.find("attention.") != std::string::npos && weight.ours.ends_with(".bias");

  const auto add_table = [&](const char* name, const char* theirs) {
    all.push_back({.ours = name, .theirs = {theirs}, .rows = {}, .shape = {}});
  };
  if (ours.tie_embeddings == EmbeddingTying::all) {
    add_table("target_embedding.weight", "model.shared.weight");
  } else {
    add_table("source_embedding.weight", "model.encoder.embed_tokens.weight");
    add_table("target_embedding.weight", "model.decoder.embed_tokens.weight");
  }
  if (ours.tie_embeddings == EmbeddingTying::none) add_table("output.weight", "lm_head.weight");
  all.push_back({.ours = "output_bias",
                 .theirs = {"final_logits_bias"},
                 .rows = {},
                 .shape = {1, ours.vocab_size},
                 .zero_if_absent = true});
  return all;
}

}  // namespace

const HfFamily& hf_marian() {
  static const HfFamily family = {
      .model_type = "marian",
      .architecture = "MarianMTModel",
      .prefix = "model.",
      .embedding = "model.shared.weight",
      .output = "lm_head.weight",
      // The sines and cosines, which older releases stored.
      .buffers = {".embed_positions.weight"},
      .read_config = read_marian,
      .write_config = write_marian,
      .weights = marian_weights,
      // One table of several names may stand under any of them.
      .old_endings = {{"shared.weight", "decoder.embed_tokens.weight"},
                      {"shared.weight", "encoder.embed_tokens.weight"}},
      .copies = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
                 "lm_head.weight"},
  };
  return family;
}

}  // namespace zoo
