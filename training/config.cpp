#include "training/config.h"

#include "core/config.h"
#include "core/error.h"

namespace zoo {

namespace {

bool is_packed(const std::string& path) { return path.ends_with(".tokens"); }

/// "" if `files` are texts or one packed file.
std::string check_files(const std::vector<std::string>& files, const char* key) {
  if (files.size() > 1)
    for (const std::string& file : files)
      if (is_packed(file))
        return cat(key, ": ", file, " is packed and must stand alone, found ", files.size(),
                   " files; pack all texts into one file with `data pack`");
  return "";
}

double min_learning_rate(const ScheduleConfig& schedule) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.min_learning_rate; }) return s.min_learning_rate;
        return 0.0;
      },
      schedule);
}

}  // namespace

std::string LanguageModelTaskConfig::check() const {
  for (const std::string& problem : {check_files(train, "train"), check_files(valid, "valid")})
    if (!problem.empty()) return problem;
  return "";
}

std::string MaskedLmTaskConfig::check() const {
  return mask_share + random_share > 1
             ? cat("mask_share ", mask_share, " and random_share ", random_share,
                   " are more than 1 together; the rest are the tokens that stay")
             : "";
}

std::string SgdConfig::check() const {
  return nesterov && momentum == 0 ? "nesterov needs a momentum above 0, found 0" : "";
}

std::string TrainingConfig::check() const {
  if (std::holds_alternative<NoamScheduleConfig>(schedule) && learning_rate < 0.01)
    return cat(
        "learning_rate: is the factor of the noam schedule, found ", learning_rate,
        "; the paper's factor is 1 (at d_model 512 and 4,000 warm-up steps the highest rate is "
        "7e-4); set learning_rate to 1 or use inverse_sqrt");
  if (min_learning_rate(schedule) > learning_rate)
    return cat("schedule: min_learning_rate ", min_learning_rate(schedule),
               " is above learning_rate ", learning_rate, "; it must not be");
  const bool of_last = average.of == AverageOf::last;
  const int64_t kept = of_last ? keep_last : keep_best;
  if (average.checkpoints > kept && !(of_last && keep_last == 0))
    return cat("average: ", average.checkpoints, " checkpoints, but only ", kept, " are kept; set ",
               of_last ? "keep_last" : "keep_best", " to at least as many");
  return "";
}

ConfigSetting parse_setting(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw ConfigError(cat("--set ", text, ": expected KEY=VALUE, such as training.max_steps=100"));
  const std::string value(text.substr(equals + 1));
  // accept() neither throws nor knows comments, so that "a//b" stays a string.
  return {std::string(text.substr(0, equals)),
          Json::accept(value) ? parse_json(value, cat("--set ", text)) : Json(value)};
}

void merge_config(Json& base, const Json& over) {
  if (over.is_string() && base.is_object() && base.contains("type") && base["type"] == over) return;
  if (!over.is_object()) {
    base = over;
    return;
  }
  if (base.is_string()) base = Json{{"type", base}};
  const auto changes = [&](const char* key) {
    return over.contains(key) && base.contains(key) && base[key] != over[key];
  };
  if (!base.is_object() || changes("type") || changes("preset")) {
    base = over;
    return;
  }
  for (const auto& [key, value] : over.items()) {
    if (base.contains(key))
      merge_config(base[key], value);
    else
      base[key] = value;
  }
}

void merge_setting(Json& base, const ConfigSetting& setting) {
  Json over = Json::object();
  set_by_path(over, setting.key, setting.value);
  merge_config(base, over);
}

ProjectConfig read_project(const std::vector<fs::path>& files,
                           const std::vector<ConfigSetting>& settings, Json base) {
  std::vector<std::string> sources;
  for (const fs::path& file : files) {
    const Json content = read_json_file(file);
    if (!content.is_object())
      throw ConfigError(cat(utf8(file),
                            ": expected an object with the keys model, tokenizer, task and "
                            "training, found ",
                            describe_json(content)));
    merge_config(base, content);
    sources.push_back(utf8(file));
  }
  for (const ConfigSetting& setting : settings) merge_setting(base, setting);
  if (!settings.empty()) sources.emplace_back("--set");
  return read_project(std::move(base), join(sources, " + ") + "#");
}

ProjectConfig read_project(Json json, const std::string& where) {
  json.erase("$schema");
  ProjectConfig project;
  // A model of pictures has no tokenizer, and it would be a nuisance to say so.
  const bool names_tokenizer = json.is_object() && json.contains("tokenizer");
  read_config(json, project, where);
  const bool reads_text = !std::holds_alternative<VitConfig>(project.model);
  if (!names_tokenizer && !reads_text) project.tokenizer = NoTokenizerConfig{};
  if (std::holds_alternative<NoTokenizerConfig>(project.tokenizer) == reads_text)
    throw ConfigError(cat(where, "/tokenizer: the model ", model_type(project.model),
                          reads_text ? " reads text, and needs another tokenizer than \"none\""
                                     : " reads pictures; leave the tokenizer out"));
  return project;
}

}  // namespace zoo
