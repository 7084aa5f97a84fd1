// GPT-2 (Radford et al. 2019) as Hugging Face's `transformers` stores it.

#include "checkpoint/hugging_face.h"
#include "checkpoint/known_keys.h"

namespace zoo {

namespace {

/// The keys of config.json that decide the model, with GPT2Config's defaults.
struct Gpt2Config {
  int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12;
  std::optional<int64_t> n_inner;
  std::string activation_function = "gelu_new";
  double resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1;
  double layer_norm_epsilon = 1e-5, initializer_range = 0.02;
  bool tie_word_embeddings = true;
  bool scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false;
  bool add_cross_attention = false;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, at_least(1), "");
    visit("n_positions", n_positions, at_least(1), "");
    visit("n_embd", n_embd, at_least(1), "");
    visit("n_layer", n_layer, at_least(1), "");
    visit("n_head", n_head, at_least(1), "");
    visit("n_inner", n_inner, at_least(1), "null: 4 n_embd");
    visit("activation_function", activation_function, "");
    visit("resid_pdrop", resid_pdrop, fraction(), "");
    visit("embd_pdrop", embd_pdrop, fraction(), "");
    visit("attn_pdrop", attn_pdrop, fraction(), "");
    visit("layer_norm_epsilon", layer_norm_epsilon, positive(), "");
    visit("initializer_range", initializer_range, positive(), "");
    visit("tie_word_embeddings", tie_word_embeddings, "");
    visit("scale_attn_weights", scale_attn_weights, "");
    visit("scale_attn_by_inverse_layer_idx", scale_attn_by_inverse_layer_idx, "");
    visit("add_cross_attention", add_cross_attention, "");
  }
};

ModelConfig read_config(const Json& json, const std::string& where) {
  Gpt2Config theirs;
  read_known_keys(json, theirs, where,
                  {{"hidden_size", "n_embd"},
                   {"max_position_embeddings", "n_positions"},
                   {"num_attention_heads", "n_head"},
                   {"num_hidden_layers", "n_layer"}});
  const auto refuse = [&](const char* key, const char* allowed) {
    throw DataError(cat(where, "/", key, ": only ", allowed, " is supported"));
  };
  if (!theirs.scale_attn_weights) refuse("scale_attn_weights", "true");
  if (theirs.scale_attn_by_inverse_layer_idx) refuse("scale_attn_by_inverse_layer_idx", "false");
  if (theirs.add_cross_attention) refuse("add_cross_attention", "false");
  refuse_quantised(json, where);

  GptConfig ours;
  ours.vocab_size = theirs.vocab_size;
  ours.max_length = theirs.n_positions;
  ours.num_layers = theirs.n_layer;
  ours.d_model = theirs.n_embd;
  ours.position = LearnedPositionConfig{};
  ours.block.norm = LayerNormConfig{.eps = theirs.layer_norm_epsilon};
  ours.block.attention = {.num_heads = theirs.n_head};
  ours.block.feed_forward = MlpConfig{
      .d_ff = theirs.n_inner.value_or(0),
      .activation = activation_from_hf(theirs.activation_function, where + "/activation_function")};
  ours.dropout = {theirs.embd_pdrop, theirs.attn_pdrop, theirs.resid_pdrop};
  ours.init = Gpt2InitConfig{.std = theirs.initializer_range};
  ours.tie_embeddings = theirs.tie_word_embeddings;
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::optional<Json> write_config(const ModelConfig& config) {
  const auto* ours = std::get_if<GptConfig>(&config);
  if (ours == nullptr) return std::nullopt;
  const AttentionConfig& attention = ours->block.attention;
  const auto* norm = std::get_if<LayerNormConfig>(&ours->block.norm);
  const auto* mlp = std::get_if<MlpConfig>(&ours->block.feed_forward);
  const bool same_shape =
      norm != nullptr && mlp != nullptr && ours->block.placement == NormPlacement::pre &&
      std::holds_alternative<LearnedPositionConfig>(ours->position) &&
      attention.kv_heads() == attention.num_heads && !attention.qk_norm && !ours->scale_embeddings;
  if (!same_shape) return std::nullopt;

  Gpt2Config theirs;
  theirs.vocab_size = ours->vocab_size;
  theirs.n_positions = ours->max_length;
  theirs.n_layer = ours->num_layers;
  theirs.n_embd = ours->d_model;
  theirs.n_head = attention.num_heads;
  if (mlp->d_ff > 0) theirs.n_inner = mlp->d_ff;
  theirs.activation_function = activation_to_hf(mlp->activation);
  theirs.embd_pdrop = ours->dropout.embedding;
  theirs.attn_pdrop = ours->dropout.attention;
  theirs.resid_pdrop = ours->dropout.residual;
  theirs.layer_norm_epsilon = norm->eps;
  if (const auto* init = std::get_if<Gpt2InitConfig>(&ours->init))
    theirs.initializer_range = init->std;
  theirs.tie_word_embeddings = ours->tie_embeddings;
  return config_to_json(theirs);
}

std::vector<HfWeight> weights(const ModelConfig& config) {
  const auto& gpt = std::get<GptConfig>(config);
  static const std::vector<HfRow> table = {
      {"token_embedding.weight", {"transformer.wte.weight"}},
      {"position.weight", {"transformer.wpe.weight"}},
      {"blocks.*.norm1.weight", {"transformer.h.*.ln_1.weight"}},
      {"blocks.*.norm1.bias", {"transformer.h.*.ln_1.bias"}, HfRow::zero_if_absent},
      {"blocks.*.attention.qkv.weight", {"transformer.h.*.attn.c_attn.weight"}, HfRow::transposed},
      {"blocks.*.attention.qkv.bias", {"transformer.h.*.attn.c_attn.bias"}, HfRow::zero_if_absent},
      {"blocks.*.attention.out.weight", {"transformer.h.*.attn.c_proj.weight"}, HfRow::transposed},
      {"blocks.*.attention.out.bias", {"transformer.h.*.attn.c_proj.bias"}, HfRow::zero_if_absent},
      {"blocks.*.norm2.weight", {"transformer.h.*.ln_2.weight"}},
      {"blocks.*.norm2.bias", {"transformer.h.*.ln_2.bias"}, HfRow::zero_if_absent},
      {"blocks.*.feed_forward.up.weight", {"transformer.h.*.mlp.c_fc.weight"}, HfRow::transposed},
      {"blocks.*.feed_forward.up.bias", {"transformer.h.*.mlp.c_fc.bias"}, HfRow::zero_if_absent},
      {"blocks.*.feed_forward.down.weight",
       {"transformer.h.*.mlp.c_proj.weight"},
       HfRow::transposed},
      {"blocks.*.feed_forward.down.bias",
       {"transformer.h.*.mlp.c_proj.bias"},
       HfRow::zero_if_absent},
      {"final_norm.weight", {"transformer.ln_f.weight"}},
      {"final_norm.bias", {"transformer.ln_f.bias"}, HfRow::zero_if_absent},
  };
  std::vector<HfWeight> all = expand_table(table, gpt.num_layers);
  if (!gpt.tie_embeddings) all.push_back({.ours = "output.weight", .theirs = {"lm_head.weight"}});
  return all;
}

}  // namespace

const HfFamily& hf_gpt2() {
  static const HfFamily family = {
      .model_type = "gpt2",
      .architecture = "GPT2LMHeadModel",
      .prefix = "transformer.",
      .embedding = "transformer.wte.weight",
      .output = "lm_head.weight",
      // The causal mask and its filler, which older releases stored with each layer.
      .buffers = {".attn.bias", ".attn.masked_bias"},
      .read_config = read_config,
      .write_config = write_config,
      .weights = weights,
  };
  return family;
}

}  // namespace zoo
