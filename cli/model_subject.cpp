#include "cli/model_subject.h"

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "cli/project.h"
#include "core/config.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelPreset& preset : model_presets()) names.push_back(preset.name);
  return names;
}

ModelSubject in_folder(const GlobalOptions& globals, const std::string& command,
                       const std::string& target) {
  if (!globals.set.empty() || !globals.config.empty())
    throw ConfigError(
        cat(command, ": ", target,
            " is a folder, whose model cannot be changed by --set or --config; leave them out"));
  const fs::path path = utf8_path(target);
  const LoadedModel loaded = load_model(path, {.weights = false});
  ModelSubject subject{.model = loaded.config, .folder = path};
  if (loaded.tokenizer)
    subject.tokenizer = cat(loaded.tokenizer->type(), ", ",
                            with_thousands(loaded.tokenizer->vocab_size()), " tokens");
  return subject;
}

}  // namespace

int64_t states_of(const OptimizerConfig& optimizer) {
  return std::holds_alternative<SgdConfig>(optimizer) ? 1 : 2;
}

ModelSubject find_model(const GlobalOptions& globals, const std::string& command,
                        const std::string& target) {
  if (target.empty() && globals.config.empty())
    throw ConfigError(cat(command,
                          ": no model was given; name a folder, a config file or a preset: ",
                          join(preset_names(), ", ")));
  const fs::path path = utf8_path(target);
  if (fs::is_directory(path)) return in_folder(globals, command, target);
  const std::vector<ModelPreset> presets = model_presets();
  const auto preset_named = std::find_if(presets.begin(), presets.end(),
                                         [&](const auto& preset) { return preset.name == target; });
  if (preset_named != presets.end() && !fs::exists(path)) {
    Json json{{"model", {{"type", std::string(preset_named->type)}, {"preset", target}}}};
    for (const ConfigSetting& setting : settings_of(globals)) merge_setting(json, setting);
    return {.model = zoo::read_project(json, cat(target, " + --set#")).model};
  }
  std::vector<std::string> files;
  if (!target.empty()) {
    if (!fs::exists(path)) {
      const std::string guess = nearest(target, preset_names());
      throw DataError(cat(target, ": no such folder, file or preset",
                          guess.empty() ? "" : cat("; did you mean \"", guess, "\"?"),
                          guess.empty() ? "; " : " ", "presets: ", join(preset_names(), ", ")));
    }
    files.push_back(target);
  }
  const ProjectConfig project = read_project(globals, files);
  return {.model = project.model, .optimizer = project.training.optimizer};
}

void warn_of_open_vocabulary(const ModelConfig& model) {
  if (vocab_size_of(model) == 0)
    log_warning(
        "vocab_size is 0, the tokenizer's size once there is one: V counts as 0 here; "
        "--set model.vocab_size=N counts it");
}

}  // namespace zoo::cli
