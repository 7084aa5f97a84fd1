#include "models/model_config.h"

namespace zoo {

namespace {

template <class... Config>
void add_presets(std::type_identity<std::variant<Config...>>, std::vector<ModelPreset>& presets) {
  const auto add = [&]<class One>(std::type_identity<One>) {
    for (const std::string& name : One::preset_names())
      presets.push_back({One::kType, name, One::preset(name)});
  };
  (add(std::type_identity<Config>{}), ...);
}

}  // namespace

std::string_view model_type(const ModelConfig& config) {
  return std::visit([](const auto& model) { return model.kType; }, config);
}

std::vector<std::string>* class_names(ModelConfig& config) {
  if (auto* vit = std::get_if<VitConfig>(&config)) return &vit->labels;
  auto* bert = std::get_if<BertConfig>(&config);
  if (bert == nullptr) return nullptr;
  return std::visit(
      [](auto& head) -> std::vector<std::string>* {
        if constexpr (requires { head.labels; })
          return &head.labels;
        else
          return nullptr;
      },
      bert->head);
}

std::vector<ModelPreset> model_presets() {
  std::vector<ModelPreset> presets;
  add_presets(std::type_identity<ModelConfig>{}, presets);
  return presets;
}

}  // namespace zoo
