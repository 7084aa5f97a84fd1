#pragma once
// Tables of ready-made configs. No torch in this header.

#include <string>
#include <vector>

#include "core/error.h"

namespace zoo {

template <class Config>
struct Preset {
  const char* name;
  Config config;
};

template <class Config>
std::vector<std::string> names_of(const std::vector<Preset<Config>>& presets) {
  std::vector<std::string> names;
  for (const auto& preset : presets) names.emplace_back(preset.name);
  return names;
}

/// @throws ConfigError if there is none of that name
template <class Config>
const Config& find_preset(const std::vector<Preset<Config>>& presets, const std::string& name) {
  for (const auto& preset : presets)
    if (preset.name == name) return preset.config;
  throw ConfigError("unknown preset \"" + name + "\"");
}

}  // namespace zoo
