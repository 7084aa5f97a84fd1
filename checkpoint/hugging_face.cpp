#include "checkpoint/hugging_face.h"

#include <array>

#include "core/error.h"
#include "core/text.h"

namespace zoo {

const std::vector<HfFamily>& hf_families() {
  static const std::vector<HfFamily> families = {hf_gpt2(), hf_llama(),      hf_qwen3(),
                                                 hf_bert(), hf_distilbert(), hf_vit()};
  return families;
}

const HfFamily& hf_family_of(const Json& config, const std::string& where) {
  const auto text = [&](const char* key) -> std::string {
    if (!config.is_object() || !config.contains(key)) return "";
    const Json& value =
        config[key].is_array() && !config[key].empty() ? config[key][0] : config[key];
    return value.is_string() ? value.get<std::string>() : "";
  };
  const std::string type = text("model_type"), architecture = text("architectures");
  std::vector<std::string> known;
  for (const HfFamily& family : hf_families()) {
    if (type == family.model_type || (type.empty() && architecture == family.architecture))
      return family;
    known.emplace_back(family.model_type);
  }
  throw DataError(cat(where, "/model_type: found \"", type, "\"; this version opens ",
                      join(known, ", "),
                      ", and its own checkpoints, which have a zoo.json beside config.json"));
}

const HfFamily* hf_family_for(const ModelConfig& config) {
  for (const HfFamily& family : hf_families())
    if (family.write_config(config)) return &family;
  return nullptr;
}

void refuse_quantised(const Json& json, const std::string& where) {
  if (json.contains("quantization_config") && !json["quantization_config"].is_null())
    throw DataError(where +
                    "/quantization_config: only null (weights that are not quantised) is "
                    "supported");
}

void refuse_unless(bool holds, const std::string& where, const char* key, const char* allowed) {
  if (!holds) throw DataError(cat(where, "/", key, ": only ", allowed, " is supported"));
}

bool is_plain_block(const BlockConfig& block, NormPlacement placement) {
  const auto* norm = std::get_if<LayerNormConfig>(&block.norm);
  const auto* mlp = std::get_if<MlpConfig>(&block.feed_forward);
  const AttentionConfig& attention = block.attention;
  return norm != nullptr && norm->bias && mlp != nullptr && mlp->bias &&
         block.placement == placement && attention.bias &&
         attention.kv_heads() == attention.num_heads && !attention.qk_norm;
}

std::vector<std::string> labels_from_hf(const Json& json, const std::string& where) {
  std::vector<std::string> labels;
  if (json.contains("id2label") && json["id2label"].is_object()) {
    const Json& names = json["id2label"];
    for (size_t id = 0; id < names.size(); ++id) {
      const std::string key = std::to_string(id);
      if (!names.contains(key) || !names[key].is_string())
        throw FormatError(cat(where, "/id2label: has no name for the class ", key,
                              "; it names the classes \"0\" to \"", names.size() - 1, "\""));
      labels.push_back(names[key]);
    }
    return labels;
  }
  const int64_t count = json.contains("num_labels") && json["num_labels"].is_number_integer()
                            ? json["num_labels"].get<int64_t>()
                            : 2;
  for (int64_t id = 0; id < count; ++id) labels.push_back(cat("LABEL_", id));
  return labels;
}

void labels_to_hf(const std::vector<std::string>& labels, Json& json) {
  for (size_t id = 0; id < labels.size(); ++id) {
    json["id2label"][std::to_string(id)] = labels[id];
    json["label2id"][labels[id]] = id;
  }
}

std::vector<HfWeight> expand_table(const std::vector<HfRow>& table, int64_t num_layers) {
  const auto in_layer = [](std::string_view pattern, int64_t layer) {
    std::string name(pattern);
    if (const size_t star = name.find('*'); star != std::string::npos)
      name.replace(star, 1, std::to_string(layer));
    return name;
  };
  std::vector<HfWeight> weights;
  for (const HfRow& row : table) {
    const int64_t copies = row.ours.find('*') == std::string_view::npos ? 1 : num_layers;
    for (int64_t layer = 0; layer < copies; ++layer) {
      HfWeight weight;
      weight.ours = in_layer(row.ours, layer);
      for (const std::string_view name : row.theirs) weight.theirs.push_back(in_layer(name, layer));
      weight.transposed = row.layout == HfRow::transposed;
      weight.zero_if_absent = row.layout == HfRow::zero_if_absent;
      weights.push_back(std::move(weight));
    }
  }
  return weights;
}

namespace {

/// The first name of each activation is the one we write; the others compute the same.
constexpr std::array kActivations{std::pair{Activation::gelu_tanh, "gelu_new"},
                                  std::pair{Activation::gelu_tanh, "gelu_pytorch_tanh"},
                                  std::pair{Activation::gelu_tanh, "gelu_fast"},
                                  std::pair{Activation::gelu, "gelu"},
                                  std::pair{Activation::gelu, "gelu_python"},
                                  std::pair{Activation::relu, "relu"},
                                  std::pair{Activation::silu, "silu"},
                                  std::pair{Activation::silu, "swish"}};

}  // namespace

Activation activation_from_hf(const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (const auto& [activation, known_name] : kActivations) {
    if (name == known_name) return activation;
    known.emplace_back(known_name);
  }
  throw DataError(cat(where, ": found \"", name, "\"; known: ", join(known, ", ")));
}

std::string activation_to_hf(Activation activation) {
  for (const auto& [known, name] : kActivations)
    if (known == activation) return name;
  throw Error("activation_to_hf: unknown activation");
}

}  // namespace zoo
