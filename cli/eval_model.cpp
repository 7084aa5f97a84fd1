#include "cli/eval_model.h"

#include <algorithm>
#include <tuple>

#include "core/text.h"
#include "training/config.h"

namespace zoo::cli {

EvalData find_eval_data(const EvalFlags& flags, const LoadedModel& loaded, bool completion) {
  const std::string& data = flags.data;
  EvalData found;
  if (data != "valid" && data != "test") {
    found.files = {utf8_path(data)};
    found.completion = completion || found.files[0].extension() == ".tsv";
  } else {
    if (!loaded.project.is_object() || !loaded.project.contains("task"))
      throw DataError(cat("--data ", data, ": ", flags.model,
                          " does not say which data it was trained on (it has no task in "
                          "zoo.json); name a file"));
    const ProjectConfig project =
        zoo::read_project(loaded.project, utf8(loaded.folder / "zoo.json") + "#");
    std::vector<std::string> train, valid;
    std::visit(
        [&]<class Task>(const Task& task) {
          if constexpr (std::is_same_v<Task, TranslationTaskConfig>)
            throw ConfigError(cat("--data ", data, ": ", flags.model,
                                  " translates, and has two sides of data; give --source and "
                                  "--reference"));
          else
            std::tie(train, valid) = std::tie(task.train, task.valid);
        },
        project.task);
    found.completion = std::holds_alternative<CompletionTaskConfig>(project.task);
    for (const std::string& name : valid.empty() ? train : valid)
      found.files.push_back(utf8_path(name));
    if (valid.empty())
      found.tail = std::visit(
          [](const auto& task) {
            if constexpr (requires { task.valid_fraction; }) return task.valid_fraction;
            return 1.0;
          },
          project.task);
    if (data == "test")
      for (fs::path& file : found.files) {
        const std::string name = utf8(file.filename());
        if (!name.starts_with("valid"))
          throw DataError(cat("--data test: ", flags.model, " was validated on ", utf8(file),
                              ", beside which no test file is known; name the file"));
        file.replace_filename(utf8_path("test" + name.substr(5)));
        found.tail = 1;
      }
  }
  if (found.files.empty())
    throw DataError(cat("--data ", data, ": the model's task names no file; name one"));
  for (const fs::path& file : found.files)
    if (!fs::exists(file))
      throw DataError(
          cat(utf8(file), ": no such file",
              data == "valid" || data == "test"
                  ? cat(" (--data ", data, " of ", flags.model, ", relative to the working folder)")
                  : "",
              "; name a text, a .tokens or a .tsv file with --data"));
  return found;
}

Json describe_eval(const EvalFlags& flags, const EvalData& data) {
  Json json{{"model", flags.model}, {"data", Json::array()}};
  for (const fs::path& file : data.files) json["data"].push_back(utf8(file));
  return json;
}

std::vector<std::string> chosen_metrics(
    const EvalFlags& flags, const std::vector<std::string>& known,
    const std::vector<std::pair<std::string, std::string>>& aliases) {
  if (flags.metric_lists.empty()) return known;
  std::vector<std::string> metrics;
  for (const std::string& list : flags.metric_lists)
    for (std::string name : split(list, ',')) {
      for (const auto& [alias, metric] : aliases)
        if (name == alias) name = metric;
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string guess = nearest(name, known);
        throw ConfigError(cat("--metrics: unknown metric \"", name, "\"",
                              guess.empty() ? "; " : cat("; did you mean \"", guess, "\"? "),
                              "allowed: ", join(known, ", ")));
      }
      metrics.push_back(name);
    }
  return metrics;
}

int pass_gate(const EvalFlags& flags, const std::string& metric, double value,
              bool small_is_better) {
  if (!flags.min_score) return kDone;
  if (small_is_better ? value <= *flags.min_score : value >= *flags.min_score) return kDone;
  out().flush();
  throw NumericError(cat("--min-score: ", metric, " is ", value, ", ",
                         small_is_better ? "above" : "below", " the gate of ", *flags.min_score));
}

}  // namespace zoo::cli
