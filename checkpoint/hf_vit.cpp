// The Vision Transformer (Dosovitskiy et al. 2021) with its classifier, as Hugging Face's
// `transformers` stores it, and as `timm` does (read only).

#include <array>
#include <tuple>

#include "checkpoint/hugging_face.h"
#include "checkpoint/image_folder.h"
#include "checkpoint/known_keys.h"
#include "core/text.h"

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
      ours->stem != PatchStem::linear || !is_plain_block(ours->block, NormPlacement::pre))
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

/// The shapes of the tensors that both libraries store with more dimensions than ours.
void set_shapes(std::vector<HfWeight>& weights, const VitConfig& ours) {
  for (HfWeight& weight : weights) {
    if (weight.ours == "class_token.weight") weight.shape = {1, 1, ours.d_model};
    if (weight.ours == "position.weight") weight.shape = {1, ours.tokens(), ours.d_model};
    if (weight.ours == "patch_embedding.weight")
      weight.shape = {ours.d_model, ours.channels, ours.patch_size, ours.patch_size};
  }
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
  divide_rows(weights, ours.d_model);
  set_shapes(weights, ours);
  return weights;
}

// ---- timm ------------------------------------------------------------------------------------

/// The sizes behind timm's names: vit_tiny_patch16_224, …
struct TimmSize {
  std::string_view name;
  int64_t width, depth, heads;
};
constexpr std::array kTimmSizes{TimmSize{"tiny", 192, 12, 3}, TimmSize{"small", 384, 12, 6},
                                TimmSize{"base", 768, 12, 12}, TimmSize{"large", 1024, 24, 16},
                                TimmSize{"huge", 1280, 32, 16}};

/// The arguments of timm's VisionTransformer that change the model and that ours can follow.
struct TimmArguments {
  int64_t embed_dim = 0, depth = 0, num_heads = 0, patch_size = 0, in_chans = 3;
  double mlp_ratio = 4;
  bool qkv_bias = true;

  void fields(auto&& visit) {
    visit("embed_dim", embed_dim, at_least(1), "");
    visit("depth", depth, at_least(1), "");
    visit("num_heads", num_heads, at_least(1), "");
    visit("patch_size", patch_size, at_least(1), "");
    visit("in_chans", in_chans, at_least(1), "");
    visit("mlp_ratio", mlp_ratio, positive(), "");
    visit("qkv_bias", qkv_bias, "");
  }
};

/// How a picture becomes timm's input, with the defaults of its resolve_data_config().
ImageInputConfig read_timm_input(const Json& pretrained, int64_t channels,
                                 const std::string& where) {
  ImageInputConfig input{.mean = {0.485, 0.456, 0.406},
                         .std = {0.229, 0.224, 0.225},
                         .crop_pct = 0.875,
                         .interpolation = Interpolation::bicubic};
  if (pretrained.is_object()) read_known_keys(pretrained, input, where + "/pretrained_cfg");
  input.mean = channel_values(input.mean, channels);
  input.std = channel_values(input.std, channels);
  return input;
}

/// "vit_tiny_patch16_224": the arguments that the name stands for, and the picture's size.
std::pair<TimmArguments, int64_t> read_timm_name(const std::string& name,
                                                 const std::string& where) {
  for (const TimmSize& size : kTimmSizes) {
    const std::string start = cat("vit_", size.name, "_patch");
    if (!name.starts_with(start)) continue;
    // What follows the dot names the training, not the model.
    const std::vector<std::string> numbers =
        split(name.substr(start.size(), name.find('.') - start.size()), '_');
    const auto is_number = [](const std::string& text) {
      return !text.empty() && text.size() < 6 &&
             text.find_first_not_of("0123456789") == std::string::npos;
    };
    if (numbers.size() != 2 || !is_number(numbers[0]) || !is_number(numbers[1])) break;
    TimmArguments arguments;
    arguments.embed_dim = size.width;
    arguments.depth = size.depth;
    arguments.num_heads = size.heads;
    arguments.patch_size = std::stoll(numbers[0]);
    return {arguments, std::stoll(numbers[1])};
  }
  throw DataError(cat(where, "/architecture: found \"", name,
                      "\"; of timm's models those named vit_SIZE_patchN_N are supported, SIZE one "
                      "of tiny, small, base, large, huge"));
}

/// Whether an argument leaves what a trained model computes as it is.
bool is_harmless_in_timm(std::string_view key) {
  return key == "img_size" || key == "num_classes" || key == "dynamic_img_size" ||
         key == "strict_img_size" || key.ends_with("drop_rate") || key == "drop_path_rate";
}

std::vector<std::string> timm_labels(const Json& json, int64_t count, const std::string& where) {
  const Json& from = json.contains("label_names") ? json : json.value("pretrained_cfg", Json());
  Json names = from.is_object() && from.contains("label_names") ? from["label_names"] : Json();
  if (names.is_array()) {
    Json by_id = Json::object();
    for (size_t id = 0; id < names.size(); ++id) by_id[std::to_string(id)] = names[id];
    names = by_id;
  }
  if (!names.is_object()) return labels_from_hf({{"num_labels", count}}, where);
  if (std::ssize(names) != count)
    throw FormatError(
        cat(where, "/label_names: names ", names.size(), " classes, num_classes is ", count));
  return labels_from_hf({{"id2label", names}}, where);
}

bool is_timms(const Json& json) {
  return json.is_object() && !json.contains("model_type") && json.contains("architecture") &&
         json["architecture"].is_string() && json.contains("num_classes");
}

ModelConfig read_timm(const Json& json, const std::string& where) {
  auto [arguments, size] = read_timm_name(json["architecture"].get<std::string>(), where);
  refuse_unless(json.value("global_pool", Json("token")) == "token", where, "global_pool",
                "\"token\"");
  const Json pretrained = json.value("pretrained_cfg", Json::object());
  Json sizes = {{"image_size", size}};
  if (pretrained.is_object() && pretrained.contains("input_size")) {
    const Json& input = pretrained["input_size"];  // channels, height, width
    if (!input.is_array() || input.size() != 3 || !input[0].is_number_integer())
      throw FormatError(cat(where, "/pretrained_cfg/input_size: expected three whole numbers ",
                            "(channels, height, width), found ", input.dump()));
    arguments.in_chans = input[0];
    sizes["image_size"] = {input[1], input[2]};
  }
  const Json given = json.value("model_args", Json::object());
  const Json known = config_to_json(arguments);
  if (given.is_object())
    for (const auto& [key, value] : given.items())
      if (!known.contains(key) && !is_harmless_in_timm(key))
        throw DataError(cat(where, "/model_args/", key, ": found ", value.dump(),
                            "; this argument is not supported"));
  read_known_keys(given, arguments, where + "/model_args");
  if (given.contains("img_size") && !given["img_size"].is_null())
    sizes["image_size"] = given["img_size"];
  refuse_unless(arguments.qkv_bias, where + "/model_args", "qkv_bias", "true");
  if (!json["num_classes"].is_number_integer() || json["num_classes"].get<int64_t>() < 1)
    throw DataError(cat(where, "/num_classes: found ", json["num_classes"].dump(),
                        "; a model without classes is not supported"));

  VitConfig ours;
  std::tie(ours.image_height, ours.image_width) = image_size(sizes, where);
  ours.channels = arguments.in_chans;
  ours.patch_size = arguments.patch_size;
  ours.num_layers = arguments.depth;
  ours.d_model = arguments.embed_dim;
  ours.block.norm = LayerNormConfig{.eps = 1e-6};
  ours.block.attention = {.num_heads = arguments.num_heads};
  ours.block.feed_forward = MlpConfig{
      .d_ff = static_cast<int64_t>(static_cast<double>(arguments.embed_dim) * arguments.mlp_ratio)};
  ours.input = read_timm_input(pretrained, ours.channels, where);
  ours.labels = timm_labels(json, json["num_classes"], where);
  if (const std::string problem = ours.check(); !problem.empty())
    throw FormatError(where + ": " + problem);
  return ours;
}

std::vector<HfWeight> timm_weights(const ModelConfig& config) {
  const auto& ours = std::get<VitConfig>(config);
  std::vector<HfWeight> weights = expand_table(
      {
          {"class_token.weight", {"cls_token"}},
          {"position.weight", {"pos_embed"}},
          {"patch_embedding.weight", {"patch_embed.proj.weight"}},
          {"patch_embedding.bias", {"patch_embed.proj.bias"}},
          {"blocks.*.norm1.weight", {"blocks.*.norm1.weight"}},
          {"blocks.*.norm1.bias", {"blocks.*.norm1.bias"}},
          {"blocks.*.attention.qkv.weight", {"blocks.*.attn.qkv.weight"}},
          {"blocks.*.attention.qkv.bias", {"blocks.*.attn.qkv.bias"}},
          {"blocks.*.attention.out.weight", {"blocks.*.attn.proj.weight"}},
          {"blocks.*.attention.out.bias", {"blocks.*.attn.proj.bias"}},
          {"blocks.*.norm2.weight", {"blocks.*.norm2.weight"}},
          {"blocks.*.norm2.bias", {"blocks.*.norm2.bias"}},
          {"blocks.*.feed_forward.up.weight", {"blocks.*.mlp.fc1.weight"}},
          {"blocks.*.feed_forward.up.bias", {"blocks.*.mlp.fc1.bias"}},
          {"blocks.*.feed_forward.down.weight", {"blocks.*.mlp.fc2.weight"}},
          {"blocks.*.feed_forward.down.bias", {"blocks.*.mlp.fc2.bias"}},
          {"final_norm.weight", {"norm.weight"}},
          {"final_norm.bias", {"norm.bias"}},
          {"classifier.weight", {"head.weight"}},
          {"classifier.bias", {"head.bias"}},
      },
      ours.num_layers);
  set_shapes(weights, ours);
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

const HfFamily& hf_timm_vit() {
  static const HfFamily family = {
      .model_type = "timm's vit_*",
      .architecture = "",
      .prefix = "",
      .embedding = "",
      .output = "",
      .buffers = {},
      .read_config = read_timm,
      .write_config = [](const ModelConfig&) { return std::optional<Json>(); },
      .weights = timm_weights,
      .owns = is_timms,
  };
  return family;
}

}  // namespace zoo
