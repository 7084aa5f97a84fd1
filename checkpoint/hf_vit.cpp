// The Vision Transformer (Dosovitskiy et al. 2021) with its classifier, as Hugging Face's
// `transformers` stores it.

#include <tuple>

#include "checkpoint/hugging_face.h"
#include "checkpoint/known_keys.h"

namespace zoo {

namespace {

/// The keys of config.json that decide the model, with ViTConfig's defaults.
struct HfVitConfig {
  int64_t hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12;
  int64_t intermediate_size = 3072, patch_size = 16, num_channels = 3;
  std::string hidden_act = "gelu";
  double hidden_dropout_prob = 0, attention_probs_dropout_prob = 0;
  double initializer_range = 0.02, layer_norm_eps = 1e-12;
  bool qkv_bias = true;

  void fields(auto&& visit) {
    visit("hidden_size", hidden_size, at_least(1), "");
    visit("num_hidden_layers", num_hidden_layers, at_least(1), "");
    visit("num_attention_heads", num_attention_heads, at_least(1), "");
    visit("intermediate_size", intermediate_size, at_least(1), "");
    visit("patch_size", patch_size, at_least(1), "");
    visit("num_channels", num_channels, at_least(1), "");
    visit("hidden_act", hidden_act, "");
    visit("hidden_dropout_prob", hidden_dropout_prob, fraction(), "");
    visit("attention_probs_dropout_prob", attention_probs_dropout_prob, fraction(), "");
    visit("initializer_range", initializer_range, positive(), "");
    visit("layer_norm_eps", layer_norm_eps, positive(), "");
    visit("qkv_bias", qkv_bias, "");
  }
};

/// image_size is one number, or height and width.
std::pair<int64_t, int64_t> image_size(const Json& json, const std::string& where) {
  constexpr int64_t kDefault = 224;
  if (!json.contains("image_size")) return {kDefault, kDefault};
  const Json& size = json["image_size"];
  const auto is_size = [](const Json& value) {
    return value.is_number_integer() && value.get<int64_t>() > 0;
  };
  if (is_size(size)) return {size, size};
  if (size.is_array() && size.size() == 2 && is_size(size[0]) && is_size(size[1]))
    return {size[0], size[1]};
  throw FormatError(cat(where,
                        "/image_size: expected a whole number above 0, or two (height and "
                        "width), found ",
                        size.dump()));
}

ModelConfig read_vit(const Json& json, const std::string& where) {
  HfVitConfig theirs;
  read_known_keys(json, theirs, where);
  refuse_quantised(json, where);
  refuse_unless(theirs.qkv_bias, where, "qkv_bias", "true");
  const bool names_class = json.contains("architectures") && json["architectures"].is_array() &&
                           !json["architectures"].empty();
  refuse_unless(!names_class || json["architectures"][0] == "ViTForImageClassification", where,
                "architectures", "\"ViTForImageClassification\"");

  VitConfig ours;
  std::tie(ours.image_height, ours.image_width) = image_size(json, where);
  ours.channels = theirs.num_channels;
  ours.patch_size = theirs.patch_size;
  ours.num_layers = theirs.num_hidden_layers;
  ours.d_model = theirs.hidden_size;
  ours.block.norm = LayerNormConfig{.eps = theirs.layer_norm_eps};
  ours.block.attention = {.num_heads = theirs.num_attention_heads};
  ours.block.feed_forward =
      MlpConfig{.d_ff = theirs.intermediate_size,
                .activation = activation_from_hf(theirs.hidden_act, where + "/hidden_act")};
  ours.dropout = {theirs.hidden_dropout_prob, theirs.attention_probs_dropout_prob,
                  theirs.hidden_dropout_prob};
  ours.init = Gpt2InitConfig{.std = theirs.initializer_range};
  ours.labels = labels_from_hf(json, where);
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::optional<Json> write_vit(const ModelConfig& config) {
  const auto* ours = std::get_if<VitConfig>(&config);
  if (ours == nullptr || !ours->has_class_token() || ours->position != PatchPosition::learned ||
      !is_plain_block(ours->block, NormPlacement::pre))
    return std::nullopt;
  const auto& mlp = std::get<MlpConfig>(ours->block.feed_forward);
  HfVitConfig theirs;
  theirs.hidden_size = ours->d_model;
  theirs.num_hidden_layers = ours->num_layers;
  theirs.num_attention_heads = ours->block.attention.num_heads;
  theirs.intermediate_size = mlp.inner_width(ours->d_model);
  theirs.patch_size = ours->patch_size;
  theirs.num_channels = ours->channels;
  theirs.hidden_act = activation_to_hf(mlp.activation);
  theirs.hidden_dropout_prob = ours->dropout.residual;
  theirs.attention_probs_dropout_prob = ours->dropout.attention;
  theirs.layer_norm_eps = std::get<LayerNormConfig>(ours->block.norm).eps;
  if (const auto* init = std::get_if<Gpt2InitConfig>(&ours->init))
    theirs.initializer_range = init->std;
  Json json = config_to_json(theirs);
  if (ours->image_height == ours->image_width)
    json["image_size"] = ours->image_height;
  else
    json["image_size"] = Json::array({ours->image_height, ours->image_width});
  labels_to_hf(ours->labels, json);
  return json;
}

std::vector<HfWeight> vit_weights(const ModelConfig& config) {
  const auto& ours = std::get<VitConfig>(config);
  std::vector<HfWeight> weights = expand_table(
      {
          {"class_token.weight", {"vit.embeddings.cls_token"}},
          {"position.weight", {"vit.embeddings.position_embeddings"}},
          {"patch_embedding.weight", {"vit.embeddings.patch_embeddings.projection.weight"}},
          {"patch_embedding.bias", {"vit.embeddings.patch_embeddings.projection.bias"}},
          {"blocks.*.norm1.weight", {"vit.encoder.layer.*.layernorm_before.weight"}},
          {"blocks.*.norm1.bias", {"vit.encoder.layer.*.layernorm_before.bias"}},
          {"blocks.*.attention.qkv.weight",
           {"vit.encoder.layer.*.attention.attention.query.weight",
            "vit.encoder.layer.*.attention.attention.key.weight",
            "vit.encoder.layer.*.attention.attention.value.weight"}},
          {"blocks.*.attention.qkv.bias",
           {"vit.encoder.layer.*.attention.attention.query.bias",
            "vit.encoder.layer.*.attention.attention.key.bias",
            "vit.encoder.layer.*.attention.attention.value.bias"}},
          {"blocks.*.attention.out.weight", {"vit.encoder.layer.*.attention.output.dense.weight"}},
          {"blocks.*.attention.out.bias", {"vit.encoder.layer.*.attention.output.dense.bias"}},
          {"blocks.*.norm2.weight", {"vit.encoder.layer.*.layernorm_after.weight"}},
          {"blocks.*.norm2.bias", {"vit.encoder.layer.*.layernorm_after.bias"}},
          {"blocks.*.feed_forward.up.weight", {"vit.encoder.layer.*.intermediate.dense.weight"}},
          {"blocks.*.feed_forward.up.bias", {"vit.encoder.layer.*.intermediate.dense.bias"}},
          {"blocks.*.feed_forward.down.weight", {"vit.encoder.layer.*.output.dense.weight"}},
          {"blocks.*.feed_forward.down.bias", {"vit.encoder.layer.*.output.dense.bias"}},
          {"final_norm.weight", {"vit.layernorm.weight"}},
          {"final_norm.bias", {"vit.layernorm.bias"}},
          {"classifier.weight", {"classifier.weight"}},
          {"classifier.bias", {"classifier.bias"}},
      },
      ours.num_layers);
  for (HfWeight& weight : weights) {
    if (weight.theirs.size() == 3) weight.rows.assign(3, ours.d_model);
    if (weight.ours == "class_token.weight") weight.shape = {1, 1, ours.d_model};
    if (weight.ours == "position.weight") weight.shape = {1, ours.tokens(), ours.d_model};
    if (weight.ours == "patch_embedding.weight")
      weight.shape = {ours.d_model, ours.channels, ours.patch_size, ours.patch_size};
  }
  return weights;
}

}  // namespace

const HfFamily& hf_vit() {
  static const HfFamily family = {
      .model_type = "vit",
      .architecture = "ViTForImageClassification",
      .prefix = "vit.",
      .embedding = "",
      .output = "",
      // The bare model's pooler, which the classifier does not read.
      .buffers = {"pooler.dense.weight", "pooler.dense.bias"},
      .read_config = read_vit,
      .write_config = write_vit,
      .weights = vit_weights,
  };
  return family;
}

}  // namespace zoo
