// Llama (Touvron et al. 2023) and Qwen3 (Yang et al. 2025) as Hugging Face's `transformers` stores
// them: RoPE, RMSNorm, gated feed-forward, grouped heads; Qwen3 adds the norms of queries and keys.

#include "checkpoint/hugging_face.h"
#include "checkpoint/known_keys.h"

namespace zoo {

namespace {

/// The keys of config.json that decide the model, with LlamaConfig's defaults.
struct LlamaConfig {
  int64_t vocab_size = 32000, max_position_embeddings = 2048, hidden_size = 4096;
  int64_t intermediate_size = 11008, num_hidden_layers = 32, num_attention_heads = 32;
  std::optional<int64_t> num_key_value_heads, head_dim;
  std::string hidden_act = "silu";
  double rms_norm_eps = 1e-6, rope_theta = 10000, attention_dropout = 0, initializer_range = 0.02;
  bool attention_bias = false, mlp_bias = false, tie_word_embeddings = false;
  bool use_sliding_window = false;

  void fields(auto&& visit) {
    visit("vocab_size", vocab_size, at_least(1), "");
    visit("max_position_embeddings", max_position_embeddings, at_least(1), "");
    visit("hidden_size", hidden_size, at_least(1), "");
    visit("intermediate_size", intermediate_size, at_least(1), "");
    visit("num_hidden_layers", num_hidden_layers, at_least(1), "");
    visit("num_attention_heads", num_attention_heads, at_least(1), "");
    visit("num_key_value_heads", num_key_value_heads, at_least(1), "null: num_attention_heads");
    visit("head_dim", head_dim, at_least(1), "null: hidden_size / num_attention_heads");
    visit("hidden_act", hidden_act, "");
    visit("rms_norm_eps", rms_norm_eps, positive(), "");
    visit("rope_theta", rope_theta, positive(), "");
    visit("attention_dropout", attention_dropout, fraction(), "");
    visit("initializer_range", initializer_range, positive(), "");
    visit("attention_bias", attention_bias, "");
    visit("mlp_bias", mlp_bias, "");
    visit("tie_word_embeddings", tie_word_embeddings, "");
    visit("use_sliding_window", use_sliding_window, "");
  }
};

/// Newer files hold the base and the kind of RoPE in `rope_parameters`, older ones scaled kinds in
/// `rope_scaling`.
void read_rope(const Json& json, double& theta, const std::string& where) {
  for (const std::string key : {"rope_parameters", "rope_scaling"}) {
    if (!json.contains(key) || !json[key].is_object()) continue;
    const Json& rope = json[key];
    for (const char* name : {"rope_type", "type"})
      if (rope.contains(name) && rope[name] != "default")
        throw DataError(cat(where, "/", key, "/", name, ": found ", rope[name].dump(),
                            "; only \"default\" is supported"));
    if (rope.contains("rope_theta")) {
      if (!rope["rope_theta"].is_number())
        throw FormatError(cat(where, "/", key, "/rope_theta: expected a number, found ",
                              describe_json(rope["rope_theta"])));
      theta = rope["rope_theta"].get<double>();
    }
  }
}

ModelConfig read_config_of(const Json& json, const std::string& where, bool qk_norm) {
  LlamaConfig theirs;
  read_known_keys(json, theirs, where);
  read_rope(json, theirs.rope_theta, where);
  const auto refuse = [&](const char* key, const std::string& allowed) {
    throw DataError(cat(where, "/", key, ": only ", allowed, " is supported"));
  };
  if (theirs.hidden_size % theirs.num_attention_heads != 0)
    refuse("hidden_size", "a multiple of num_attention_heads");
  const int64_t head_dim = theirs.hidden_size / theirs.num_attention_heads;
  // Qwen3Config's default is not the quotient.
  if (theirs.head_dim.value_or(qk_norm ? 128 : head_dim) != head_dim)
    refuse("head_dim", cat("hidden_size / num_attention_heads = ", head_dim));
  if (theirs.use_sliding_window) refuse("use_sliding_window", "false");
  if (qk_norm && theirs.mlp_bias) refuse("mlp_bias", "false");
  // The norms of queries and keys have this one in nn/attention.
  if (qk_norm && theirs.rms_norm_eps != RmsNormConfig{}.eps) refuse("rms_norm_eps", "1e-6");
  refuse_quantised(json, where);

  GptConfig ours;
  ours.vocab_size = theirs.vocab_size;
  ours.max_length = theirs.max_position_embeddings;
  ours.num_layers = theirs.num_hidden_layers;
  ours.d_model = theirs.hidden_size;
  ours.position = RopePositionConfig{.base = theirs.rope_theta};
  ours.block.norm = RmsNormConfig{.eps = theirs.rms_norm_eps};
  ours.block.attention = {
      .num_heads = theirs.num_attention_heads,
      .num_kv_heads = theirs.num_key_value_heads.value_or(theirs.num_attention_heads),
      .bias = theirs.attention_bias,
      .qk_norm = qk_norm};
  ours.block.feed_forward = GatedFeedForwardConfig{
      .d_ff = theirs.intermediate_size,
      .activation = activation_from_hf(theirs.hidden_act, where + "/hidden_act"),
      .bias = theirs.mlp_bias};
  ours.dropout.attention = theirs.attention_dropout;
  ours.init = Gpt2InitConfig{.std = theirs.initializer_range};
  ours.tie_embeddings = theirs.tie_word_embeddings;
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::optional<Json> write_config_of(const ModelConfig& config, bool qk_norm) {
  const auto* ours = std::get_if<GptConfig>(&config);
  if (ours == nullptr) return std::nullopt;
  const AttentionConfig& attention = ours->block.attention;
  const auto* position = std::get_if<RopePositionConfig>(&ours->position);
  const auto* norm = std::get_if<RmsNormConfig>(&ours->block.norm);
  const auto* gated = std::get_if<GatedFeedForwardConfig>(&ours->block.feed_forward);
  const bool same_shape = position != nullptr && norm != nullptr && gated != nullptr &&
                          position->pairing == RopePairing::half &&
                          ours->block.placement == NormPlacement::pre &&
                          attention.qk_norm == qk_norm && !ours->scale_embeddings &&
                          (!qk_norm || (norm->eps == RmsNormConfig{}.eps && !gated->bias));
  if (!same_shape) return std::nullopt;

  LlamaConfig theirs;
  theirs.vocab_size = ours->vocab_size;
  theirs.max_position_embeddings = ours->max_length;
  theirs.hidden_size = ours->d_model;
  theirs.intermediate_size = gated->inner_width(ours->d_model);
  theirs.num_hidden_layers = ours->num_layers;
  theirs.num_attention_heads = attention.num_heads;
  theirs.num_key_value_heads = attention.kv_heads();
  theirs.head_dim = ours->d_model / attention.num_heads;
  theirs.hidden_act = activation_to_hf(gated->activation);
  theirs.rms_norm_eps = norm->eps;
  theirs.rope_theta = position->base;
  theirs.attention_dropout = ours->dropout.attention;
  if (const auto* init = std::get_if<Gpt2InitConfig>(&ours->init))
    theirs.initializer_range = init->std;
  theirs.attention_bias = attention.bias;
  theirs.mlp_bias = gated->bias;
  theirs.tie_word_embeddings = ours->tie_embeddings;
  Json json = config_to_json(theirs);
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", position->base}};
  return json;
}

std::vector<HfWeight> weights(const ModelConfig& config) {
  const auto& gpt = std::get<GptConfig>(config);
  const auto& gated = std::get<GatedFeedForwardConfig>(gpt.block.feed_forward);
  const AttentionConfig& attention = gpt.block.attention;
  std::vector<HfRow> table = {
      {"token_embedding.weight", {"model.embed_tokens.weight"}},
      {"blocks.*.norm1.weight", {"model.layers.*.input_layernorm.weight"}},
      {"blocks.*.attention.qkv.weight",
       {"model.layers.*.self_attn.q_proj.weight", "model.layers.*.self_attn.k_proj.weight",
        "model.layers.*.self_attn.v_proj.weight"}},
      {"blocks.*.attention.out.weight", {"model.layers.*.self_attn.o_proj.weight"}},
      {"blocks.*.norm2.weight", {"model.layers.*.post_attention_layernorm.weight"}},
      {"blocks.*.feed_forward.gate_up.weight",
       {"model.layers.*.mlp.gate_proj.weight", "model.layers.*.mlp.up_proj.weight"}},
      {"blocks.*.feed_forward.down.weight", {"model.layers.*.mlp.down_proj.weight"}},
      {"final_norm.weight", {"model.norm.weight"}},
  };
  const auto add = [&](bool wanted, const std::vector<HfRow>& rows) {
    if (wanted) table.insert(table.end(), rows.begin(), rows.end());
  };
  add(attention.bias,
      {{"blocks.*.attention.qkv.bias",
        {"model.layers.*.self_attn.q_proj.bias", "model.layers.*.self_attn.k_proj.bias",
         "model.layers.*.self_attn.v_proj.bias"}},
       {"blocks.*.attention.out.bias", {"model.layers.*.self_attn.o_proj.bias"}}});
  add(attention.qk_norm,
      {{"blocks.*.attention.q_norm.weight", {"model.layers.*.self_attn.q_norm.weight"}},
       {"blocks.*.attention.k_norm.weight", {"model.layers.*.self_attn.k_norm.weight"}}});
  add(gated.bias, {{"blocks.*.feed_forward.gate_up.bias",
                    {"model.layers.*.mlp.gate_proj.bias", "model.layers.*.mlp.up_proj.bias"}},
                   {"blocks.*.feed_forward.down.bias", {"model.layers.*.mlp.down_proj.bias"}}});
  add(!gpt.tie_embeddings, {{"output.weight", {"lm_head.weight"}}});

  const int64_t head_dim = gpt.d_model / attention.num_heads;
  const int64_t inner = gated.inner_width(gpt.d_model);
  std::vector<HfWeight> all = expand_table(table, gpt.num_layers);
  for (HfWeight& weight : all) {
    if (weight.theirs.size() == 3)
      weight.rows = {attention.num_heads * head_dim, attention.kv_heads() * head_dim,
                     attention.kv_heads() * head_dim};
    if (weight.theirs.size() == 2) weight.rows = {inner, inner};
  }
  return all;
}

constexpr bool kLlama = false, kQwen3 = true;  ///< with norms of queries and keys

template <bool qk_norm>
HfFamily family(std::string_view model_type, std::string_view architecture) {
  return {
      .model_type = model_type,
      .architecture = architecture,
      .prefix = "model.",
      .embedding = "model.embed_tokens.weight",
      .output = "lm_head.weight",
      .buffers = {".rotary_emb.inv_freq"},
      .read_config = [](const Json& json,
                        const std::string& where) { return read_config_of(json, where, qk_norm); },
      .write_config = [](const ModelConfig& config) { return write_config_of(config, qk_norm); },
      .weights = weights,
  };
}

}  // namespace

const HfFamily& hf_llama() {
  static const HfFamily llama = family<kLlama>("llama", "LlamaForCausalLM");
  return llama;
}

const HfFamily& hf_qwen3() {
  static const HfFamily qwen3 = family<kQwen3>("qwen3", "Qwen3ForCausalLM");
  return qwen3;
}

}  // namespace zoo
