#include "analysis/report/run_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kMetrics = "metrics.jsonl";

/// Numbers that place a line, and are no curve of their own.
bool is_place(const std::string& key) {
  return key == "step" || key == "epoch" || key == "seconds" || key == "tokens" || key == "flops" ||
         key == "evaluation_seconds" || key == "skipped_steps";
}

/// A JSON object of a file; null, with a note, if there is none.
Json read_object(const fs::path& file, std::vector<std::string>& notes) {
  const std::string name = utf8(file.filename());
  if (!fs::exists(file)) {
    notes.push_back(name + " is missing");
    return nullptr;
  }
  try {
    Json json = read_json_file(file);
    if (json.is_object()) return json;
    notes.push_back(cat(name, " is left out: it holds ", describe_json(json), ", not an object"));
  } catch (const DataError& error) {
    notes.push_back(cat(name, " is left out: ", error.what()));
  }
  return nullptr;
}

/// The curves of metrics.jsonl, line by line.
class MetricsReader {
 public:
  explicit MetricsReader(RunRecord& run) : run_(run) {}

  void read(std::string_view text) {
    for_each_line(text, [&](std::string_view line) {
      ++line_;
      if (!is_blank(line)) read_line(line);
    });
    if (broken_ == 1 && first_broken_ == line_ && !text.ends_with('\n'))
      note("its last line is half written and left out");
    else if (broken_ > 0)
      note(cat(broken_, broken_ == 1 ? " line is" : " lines are",
               " not of a training and left out, the first is line ", first_broken_));
    if (times_back_ > 0)
      note(cat("it goes back to an earlier step ", times_back_,
               times_back_ == 1 ? " time" : " times",
               ", as a resumed training does; of steps that stand twice the later line counts"));
    if (skipped_ > 0)
      note(cat(skipped_, " steps were skipped, since their gradients were not finite"));
  }

 private:
  void read_line(std::string_view line) {
    Json json;
    if (Json::accept(line)) json = Json::parse(line);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number()) {
      if (broken_++ == 0) first_broken_ = line_;
      return;
    }
    const double step = json["step"].get<double>();
    if (step < last_step_) {
      ++times_back_;
      seconds_ = tokens_ = flops_ = kNone;
    }
    last_step_ = step;
    // Lines of evaluations say none of these; the report of steps just before them does.
    read_number(json, "seconds", seconds_);
    read_number(json, "tokens", tokens_);
    read_number(json, "flops", flops_);
    if (const auto skipped = json.find("skipped_steps");
        skipped != json.end() && skipped->is_number_integer())
      skipped_ = skipped->get<int64_t>();
    for (const auto& [key, value] : json.items())
      if (!is_place(key) && (value.is_number() || value.is_null()))
        add(key, step, value.is_null() ? kNone : value.get<double>());
  }

  static void read_number(const Json& json, const char* key, double& value) {
    if (const auto found = json.find(key); found != json.end() && found->is_number())
      value = found->get<double>();
  }

  void add(const std::string& key, double step, double value) {
    const auto [entry, is_new] = place_.try_emplace(key, run_.curves.size());
    if (is_new) run_.curves.emplace_back().name = key;
    RunCurve& curve = run_.curves[entry->second];
    const auto kept = static_cast<size_t>(
        std::lower_bound(curve.step.begin(), curve.step.end(), step) - curve.step.begin());
    for (const auto& [numbers, number] : {std::pair{&curve.step, step},
                                          {&curve.seconds, seconds_},
                                          {&curve.tokens, tokens_},
                                          {&curve.flops, flops_},
                                          {&curve.value, value}}) {
      numbers->resize(kept);
      numbers->push_back(number);
    }
  }

  void note(const std::string& text) { run_.notes.push_back(cat(kMetrics, ": ", text)); }

  RunRecord& run_;
  std::map<std::string, size_t> place_;
  int64_t line_ = 0, broken_ = 0, first_broken_ = 0, times_back_ = 0, skipped_ = 0;
  double last_step_ = -1, seconds_ = kNone, tokens_ = kNone, flops_ = kNone;
};

void read_samples(RunRecord& run) {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run.folder / "samples", ignored))
    if (entry.is_regular_file() && entry.path().extension() == ".txt")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    run.samples.push_back({.name = utf8(file.stem()), .text = read_file(file)});
}

void note_status(RunRecord& run) {
  const Json status = run.receipt_at("/status");
  if (status == "running" || status == "preparing")
    run.notes.push_back(
        "run.json says that it goes on: it does, or was killed; what is here is so far");
  if (const Json error = run.receipt_at("/error"); error.is_string())
    run.notes.push_back("it failed: " + error.get<std::string>());
}

/// The last `count` parts of a path.
std::string last_parts(const fs::path& path, int count) {
  fs::path name = path.filename(), parent = path.parent_path();
  for (; count > 1 && parent.has_filename(); --count, parent = parent.parent_path())
    name = parent.filename() / name;
  return utf8(name);
}

}  // namespace

const RunCurve* RunRecord::curve(const std::string& wanted) const {
  const auto found = std::find_if(curves.begin(), curves.end(),
                                  [&](const RunCurve& curve) { return curve.name == wanted; });
  return found == curves.end() ? nullptr : &*found;
}

Json RunRecord::receipt_at(const std::string& pointer) const {
  const Json::json_pointer place(pointer);
  return receipt.contains(place) ? receipt.at(place) : Json();
}

bool is_run_folder(const fs::path& folder) {
  return fs::exists(folder / "run.json") || fs::exists(folder / kMetrics);
}

RunRecord read_run(const fs::path& folder) {
  RunRecord run;
  run.folder = fs::canonical(folder);
  run.name = last_parts(run.folder, 1);
  run.receipt = read_object(folder / "run.json", run.notes);
  run.config = run.receipt_at("/config");
  if (!run.config.is_object()) {
    const Json project = read_object(folder / "zoo.json", run.notes);
    run.config = project.is_object() && project.contains("config") ? project["config"] : Json();
  }
  if (!fs::exists(folder / kMetrics))
    run.notes.push_back(cat(kMetrics, " is missing: there are no curves"));
  else
    MetricsReader(run).read(read_file(folder / kMetrics));
  if (!run.curves.empty() &&
      std::none_of(run.curves.begin(), run.curves.end(),
                   [](const RunCurve& curve) { return curve.name.starts_with("valid_"); }))
    run.notes.emplace_back("it has not been evaluated yet");
  read_samples(run);
  note_status(run);
  return run;
}

void make_names_unique(std::vector<RunRecord>& runs) {
  std::map<std::string, std::vector<RunRecord*>> same;
  for (RunRecord& run : runs) same[run.name].push_back(&run);
  for (const auto& [name, group] : same) {
    if (group.size() < 2) continue;
    std::map<std::string, int> seen;
    for (int parts = 2; parts < 64 && seen.size() < group.size(); ++parts) {
      seen.clear();
      for (RunRecord* run : group) ++seen[run->name = last_parts(run->folder, parts)];
    }
  }
}

}  // namespace zoo
