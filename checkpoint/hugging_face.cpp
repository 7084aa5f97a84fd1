#include "checkpoint/hugging_face.h"

#include <algorithm>
#include <array>
#include <functional>

#include "core/config.h"
#include "core/error.h"
#include "core/text.h"

namespace zoo {

const std::vector<HfFamily>& hf_families() {
  static const std::vector<HfFamily> families = {hf_gpt2(),     hf_llama(),      hf_qwen3(),
                                                 hf_bert(),     hf_distilbert(), hf_vit(),
                                                 hf_timm_vit(), hf_marian()};
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
    if (family.owns != nullptr
            ? family.owns(config)
            : type == family.model_type || (type.empty() && architecture == family.architecture))
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

namespace {

/// Puts the values of `ours` into `json`, a config that a family has, as far as `fits` stays true.
/// @param misfits gets the places of those that do not fit: "model.block.norm (found …, needed …)"
void put_back(Json& whole, Json::json_pointer place, const Json& ours,
              const std::function<bool()>& fits, std::vector<std::string>* misfits) {
  for (const auto& [key, value] : ours.items()) {
    const Json::json_pointer here = place / key;
    const Json theirs = whole.contains(here) ? whole[here] : Json();
    if (theirs == value) continue;
    whole[here] = value;
    if (fits()) continue;
    whole[here] = theirs;
    const bool same_variant = theirs.is_object() && value.is_object() &&
                              theirs.value("type", Json()) == value.value("type", Json());
    if (same_variant) {
      put_back(whole, here, value, fits, misfits);
    } else if (misfits != nullptr) {
      std::string path = here.to_string();
      std::replace(path.begin(), path.end(), '/', '.');
      misfits->push_back(
          cat("model", path, " (found ", value.dump(), ", needed ", theirs.dump(), ")"));
    }
  }
}

/// The keys of `config` that keep `family` from holding it; nothing if it is of another kind.
std::optional<std::vector<std::string>> misfits_of(const HfFamily& family,
                                                   const ModelConfig& config) {
  // The family's config with its own defaults, which it holds by definition.
  Json json = {{"model_type", family.model_type},
               {"architectures", Json::array({std::string(family.architecture)})}};
  const ModelConfig defaults = family.read_config(json, "");
  if (defaults.index() != config.index()) return std::nullopt;
  Json changed = config_to_json(defaults);
  const Json ours = config_to_json(config);
  const auto fits = [&] {
    try {
      ModelConfig candidate;
      read_config(changed, candidate, "");
      return family.write_config(candidate).has_value();
    } catch (const ConfigError&) {
      return false;  // a size that another, not put back yet, must suit
    }
  };
  std::vector<std::string> misfits;
  for (std::string before; before != changed.dump();) {
    before = changed.dump();
    put_back(changed, Json::json_pointer(), ours, fits, nullptr);
  }
  put_back(changed, Json::json_pointer(), ours, fits, &misfits);
  return misfits;
}

}  // namespace

std::string why_no_hf_family(const ModelConfig& config) {
  std::string nearest_type;
  std::optional<std::vector<std::string>> fewest;
  for (const HfFamily& family : hf_families()) {
    if (family.owns != nullptr) continue;  // only read
    const auto misfits = misfits_of(family, config);
    if (!misfits || (fewest && fewest->size() <= misfits->size())) continue;
    nearest_type = family.model_type;
    fewest = misfits;
  }
  if (!fewest)
    return cat("Hugging Face's library has no model of the kind \"", model_type(config), "\"");
  return cat("no model of Hugging Face's library has this shape; the nearest, ", nearest_type,
             ", differs in ", join(*fewest, ", "));
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

void divide_rows(std::vector<HfWeight>& weights, int64_t rows) {
  for (HfWeight& weight : weights)
    if (weight.theirs.size() > 1) weight.rows.assign(weight.theirs.size(), rows);
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
