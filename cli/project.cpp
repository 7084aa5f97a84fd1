#include "cli/project.h"

namespace zoo::cli {

std::vector<ConfigSetting> settings_of(const GlobalOptions& globals) {
  std::vector<ConfigSetting> settings;
  for (const std::string& text : globals.set) settings.push_back(parse_setting(text));
  return settings;
}

fs::path output_folder(const std::string& name, bool overwrite) {
  fs::path folder = utf8_path(name);
  if (fs::is_directory(folder) && !fs::is_empty(folder) && !overwrite)
    throw ConfigError(name + ": is not empty; give --overwrite to replace it, or another -o DIR");
  return folder;
}

ProjectConfig read_project(const GlobalOptions& globals, const std::vector<std::string>& more,
                           const std::vector<ConfigSetting>& flags) {
  std::vector<fs::path> files;
  for (const auto* names : {&globals.config, &more})
    for (const std::string& name : *names) files.push_back(utf8_path(name));
  std::vector<ConfigSetting> settings = settings_of(globals);
  settings.insert(settings.end(), flags.begin(), flags.end());
  return zoo::read_project(files, settings);
}

}  // namespace zoo::cli
