#include "analysis/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/median.h"
#include "analysis/plot.h"
#include "core/config.h"
#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double last_of(const std::vector<double>& values) {
  for (auto value = values.rbegin(); value != values.rend(); ++value)
    if (std::isfinite(*value)) return *value;
  return kNan;
}

/// Metrics of runs from before tokens were counted: speed times time gives them.
void count_tokens(RunRecord& run) {
  const RunCurve* const speed = run.curve("tokens_per_second");
  if (speed == nullptr || std::isfinite(last_of(speed->tokens))) return;
  std::vector<double> steps, tokens;
  double sum = 0, before = 0;
  for (size_t i = 0; i < speed->step.size(); ++i) {
    sum += speed->value[i] * (speed->seconds[i] - before);
    before = speed->seconds[i];
    steps.push_back(speed->step[i]);
    tokens.push_back(sum);
  }
  for (RunCurve& curve : run.curves)
    for (size_t i = 0; i < curve.step.size(); ++i) {
      // The report of steps stands before an evaluation's.
      const auto at = std::upper_bound(steps.begin(), steps.end(), curve.step[i]);
      if (at != steps.begin())
        curve.tokens[i] = tokens[static_cast<size_t>(at - steps.begin()) - 1];
    }
}

std::string text_if_any(const fs::path& file) { return fs::exists(file) ? read_file(file) : ""; }

/// The longest text that a model is taught with, which decides what the data are cut into.
Json effective_length(const Json& config, const char* model_key) {
  const Json& model = config.at("model");
  const Json& task = config.at("task");
  int64_t limit = 0;
  for (const char* key : {"max_length", "block_size"})
    if (task.contains(key)) limit = task[key].get<int64_t>();
  if (!model.contains(model_key)) return nullptr;
  const auto longest = model[model_key].get<int64_t>();
  return limit == 0 ? longest : std::min(limit, longest);
}

std::string count_text(double value) { return with_thousands(std::llround(value)); }
std::string four_digits(double value) { return fixed(value, 4); }
std::string percent_text(double value) { return fixed(100 * value, 1) + " %"; }
std::string flops_text(double value) { return human_count(value) + "FLOP"; }

std::vector<std::string> metric_names(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedRun& run : comparison.runs)
    for (const RunCurve& curve : run.record.curves)
      if (curve.name.starts_with("valid_") && curve.name != "valid_loss_estimate" &&
          std::find(names.begin(), names.end(), curve.name) == names.end())
        names.push_back(curve.name);
  return names;
}

std::string loss_chart(const Comparison& comparison, const std::string& by, const std::string& unit,
                       std::vector<double> RunCurve::*place) {
  LineChart chart;
  chart.title = "Loss by " + by;
  chart.x.label = unit;
  chart.y.label = "nats a target; dashed: training, points: validation";
  int colour = 0;
  for (const ComparedRun& run : comparison.runs) {
    const auto add = [&](const char* name, Series::Mark mark, const std::string& label) {
      const RunCurve* const curve = run.record.curve(name);
      if (curve == nullptr) return;
      chart.series.push_back({label, curve->*place, curve->value, mark, colour});
    };
    add("loss", Series::Mark::dashed, run.record.name);
    add("valid_loss", Series::Mark::line, "");
    add("valid_loss", Series::Mark::points, "");
    ++colour;
  }
  return svg(chart);
}

std::string curve_chart(const Comparison& comparison, const std::string& title,
                        const std::string& curve_name, const std::string& unit, bool log) {
  LineChart chart;
  chart.title = title;
  chart.x.label = "step";
  chart.y = {unit, log};
  for (const ComparedRun& run : comparison.runs)
    if (const RunCurve* const curve = run.record.curve(curve_name); curve != nullptr)
      chart.series.push_back({run.record.name, curve->step, curve->value});
  return svg(chart);
}

std::string length_chart(const Comparison& comparison) {
  LineChart chart;
  chart.title = "Scores by length";
  chart.x.label = "words of the reference, from";
  chart.y.label = "percent; solid: BLEU, dashed: exact matches";
  int colour = 0;
  for (const ComparedRun& run : comparison.runs) {
    Series bleu, exact;
    bleu.name = run.record.name;
    for (const LengthScore& score : run.by_length) {
      bleu.x.push_back(static_cast<double>(score.shortest));
      bleu.y.push_back(score.bleu);
      exact.y.push_back(score.exact_match);
    }
    exact.x = bleu.x;
    exact.mark = Series::Mark::dashed;
    bleu.colour = exact.colour = colour++;
    chart.series.push_back(std::move(bleu));
    chart.series.push_back(std::move(exact));
  }
  return svg(chart);
}

std::vector<std::pair<std::string, const Dynamics*>> dynamics_of(const Comparison& comparison) {
  std::vector<std::pair<std::string, const Dynamics*>> found;
  for (const ComparedRun& run : comparison.runs) found.emplace_back(run.record.name, &run.dynamics);
  return found;
}

bool any_run(const Comparison& comparison, auto&& holds) {
  return std::any_of(comparison.runs.begin(), comparison.runs.end(), holds);
}

}  // namespace

std::string ComparedRun::model() const {
  const Json::json_pointer type("/model/type");
  return record.config.contains(type) ? record.config.at(type).get<std::string>() : "?";
}

double ComparedRun::last(const std::string& name) const {
  const RunCurve* const curve = record.curve(name);
  return curve == nullptr ? kNan : last_of(curve->value);
}

double ComparedRun::best(const std::string& name) const {
  const RunCurve* const curve = record.curve(name);
  double best = kNan;
  if (curve == nullptr) return best;
  const bool larger = name != "valid_loss";  // as larger_is_better() has it
  for (const double value : curve->value)
    if (std::isfinite(value) && (std::isnan(best) || (larger ? value > best : value < best)))
      best = value;
  return best;
}

double ComparedRun::steps() const {
  const RunCurve* const curve = record.curve("loss");
  return curve == nullptr ? kNan : last_of(curve->step);
}
double ComparedRun::seconds() const {
  const RunCurve* const curve = record.curve("loss");
  return curve == nullptr ? kNan : last_of(curve->seconds);
}
double ComparedRun::tokens() const {
  const RunCurve* const curve = record.curve("loss");
  return curve == nullptr ? kNan : last_of(curve->tokens);
}
double ComparedRun::flops() const {
  const RunCurve* const curve = record.curve("loss");
  return curve == nullptr ? kNan : last_of(curve->flops);
}

double ComparedRun::tokens_per_second() const {
  const RunCurve* const curve = record.curve("tokens_per_second");
  return curve == nullptr ? kNan : median(curve->value);
}

double ComparedRun::median_grad_norm() const {
  const RunCurve* const curve = record.curve("grad_norm");
  return curve == nullptr ? kNan : median(curve->value);
}

double ComparedRun::memory() const {
  const Json sessions = record.receipt_at("/sessions");
  if (!sessions.is_array() || sessions.empty()) return kNan;
  const Json& last = sessions.back();
  if (!last.contains("peak_memory_bytes") || !last.contains("memory_before_bytes")) return kNan;
  return last["peak_memory_bytes"].get<double>() - last["memory_before_bytes"].get<double>();
}

double ComparedRun::clipped() const {
  double sum = 0;
  int64_t before = 0;
  for (const DynamicsStep& step : dynamics.steps) {
    sum += step.clipped * static_cast<double>(step.step - before);
    before = step.step;
  }
  return before == 0 ? kNan : sum / static_cast<double>(before);
}

Comparison read_comparison(const std::vector<fs::path>& folders) {
  std::vector<RunRecord> records;
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder) || !is_run_folder(folder))
      throw DataError(cat(utf8(folder),
                          ": holds no run (there is no run.json and no metrics.jsonl); name a "
                          "folder that `train` or `compare` wrote"));
    records.push_back(read_run(folder));
    if (!records.back().config.is_object() || records.back().curves.empty())
      throw DataError(cat(utf8(folder),
                          ": holds no config or no metrics, so there is nothing to "
                          "compare; name a run that has begun"));
  }
  make_names_unique(records);
  Comparison comparison;
  for (RunRecord& record : records) {
    count_tokens(record);
    for (const std::string& note : record.notes)
      comparison.notes.push_back(cat(record.name, ": ", note));
    const fs::path file = record.folder / "dynamics.csv";
    ComparedRun run{std::move(record), {}, {}};
    run.dynamics = read_dynamics(text_if_any(file),
                                 text_if_any(run.record.folder / "gradient_time.csv"), utf8(file));
    comparison.runs.push_back(std::move(run));
  }
  return comparison;
}

void require_same_learning(const Json& config, const Json& other, const std::string& first,
                           const std::string& second) {
  for (const auto& [section, what, advice] :
       {std::tuple{"task", "learn different tasks or data",
                   "only models that learn the same from the same files can be compared; give all "
                   "configs one task"},
        std::tuple{
            "tokenizer", "have different tokenizers",
            "losses of different tokens cannot be compared; give all configs one tokenizer"}})
    for (const ConfigDifference& difference :
         compare_json(config.at(section), other.at(section), section)) {
      // Where packed tokens are kept changes nothing.
      if (difference.path == "task.cache") continue;
      throw ConfigError(cat("compare: ", first, " and ", second, " ", what, ": ", difference.path,
                            " is ", difference.first, " and ", difference.second, "; ", advice));
    }
  for (const char* key : {"max_length", "max_source_length"}) {
    const Json one = effective_length(config, key), two = effective_length(other, key);
    if (one != two && !one.is_null() && !two.is_null())
      throw ConfigError(cat("compare: ", first, " and ", second, " read texts of up to ",
                            one.dump(), " and ", two.dump(), " tokens (model.", key,
                            "), so they would not learn from the same data; give both one limit, "
                            "such as --set model.",
                            key, "=", std::min(one.get<int64_t>(), two.get<int64_t>())));
  }
}

void require_comparable(Comparison& comparison) {
  const RunRecord& first = comparison.runs.front().record;
  for (size_t i = 1; i < comparison.runs.size(); ++i) {
    const RunRecord& other = comparison.runs[i].record;
    require_same_learning(first.config, other.config, first.name, other.name);
    for (const ConfigDifference& difference :
         compare_json(first.receipt_at("/data"), other.receipt_at("/data"), "data"))
      throw ConfigError(cat("compare: ", first.name, " and ", other.name,
                            " have read different data: ", difference.path, " was ",
                            difference.first, " and ", difference.second,
                            "; train both on the same files"));
    for (const char* key : {"seed", "batch_size", "batch_type", "grad_accum", "label_smoothing"}) {
      const Json::json_pointer place(cat("/training/", key));
      const Json one = first.config.value(place, Json()), two = other.config.value(place, Json());
      if (one != two)
        comparison.notes.push_back(cat(other.name, ": training.", key, " is ", two.dump(), ", of ",
                                       first.name, " ", one.dump(),
                                       ": their batches are not the same"));
    }
  }
}

std::vector<std::vector<std::string>> comparison_table(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows = {{"quantity"}};
  for (const ComparedRun& run : comparison.runs) rows[0].push_back(run.record.name);
  rows.push_back({"model"});
  for (const ComparedRun& run : comparison.runs) rows.back().push_back(run.model());
  const auto add = [&](const std::string& name, auto&& value, auto&& text) {
    std::vector<std::string> row = {name};
    bool known = false;
    for (const ComparedRun& run : comparison.runs) {
      const double number = value(run);
      row.push_back(std::isfinite(number) ? text(number) : "");
      known |= std::isfinite(number);
    }
    if (known) rows.push_back(std::move(row));
  };
  using Run = const ComparedRun&;
  add(
      "parameters",
      [](Run run) {
        const Json count = run.record.receipt_at("/parameters");
        return count.is_number() ? count.get<double>() : kNan;
      },
      count_text);
  add(
      "steps", [](Run run) { return run.steps(); }, count_text);
  add(
      "tokens", [](Run run) { return run.tokens(); }, count_text);
  add(
      "seconds", [](Run run) { return run.seconds(); },
      [](double value) { return fixed(value, 1); });
  add(
      "tokens/s", [](Run run) { return run.tokens_per_second(); }, count_text);
  add(
      "FLOPs", [](Run run) { return run.flops(); }, flops_text);
  add(
      "FLOP/s", [](Run run) { return run.flops() / run.seconds(); }, flops_text);
  add(
      "memory", [](Run run) { return run.memory(); }, human_bytes);
  add(
      "loss", [](Run run) { return run.last("loss"); }, four_digits);
  for (const std::string& name : metric_names(comparison))
    add(
        "best " + name, [&](Run run) { return run.best(name); }, four_digits);
  add(
      "gradient norm", [](Run run) { return run.median_grad_norm(); }, four_digits);
  add(
      "clipped steps", [](Run run) { return run.clipped(); }, percent_text);
  return rows;
}

std::vector<std::vector<std::string>> length_table(const Comparison& comparison) {
  if (!any_run(comparison, [](const ComparedRun& run) { return !run.by_length.empty(); }))
    return {};
  std::vector<std::vector<std::string>> rows = {{"words", "lines"}};
  for (const ComparedRun& run : comparison.runs)
    for (const char* metric : {" BLEU", " exact"}) rows[0].push_back(run.record.name + metric);
  // All runs have translated the same lines.
  const auto longest = std::max_element(comparison.runs.begin(), comparison.runs.end(),
                                        [](const auto& one, const auto& other) {
                                          return one.by_length.size() < other.by_length.size();
                                        });
  for (size_t i = 0; i < longest->by_length.size(); ++i) {
    const LengthScore& bucket = longest->by_length[i];
    rows.push_back(
        {bucket.longest < 0 ? cat(bucket.shortest, "+") : cat(bucket.shortest, "-", bucket.longest),
         with_thousands(bucket.lines)});
    for (const ComparedRun& run : comparison.runs) {
      const bool known = i < run.by_length.size();
      rows.back().push_back(known ? fixed(run.by_length[i].bleu, 1) : "");
      rows.back().push_back(known ? fixed(run.by_length[i].exact_match, 1) : "");
    }
  }
  return rows;
}

std::string comparison_csv(const Comparison& comparison) {
  std::string csv = "run,step,tokens,seconds,flops,quantity,value\n";
  for (const ComparedRun& run : comparison.runs)
    for (const RunCurve& curve : run.record.curves)
      for (size_t i = 0; i < curve.step.size(); ++i)
        csv += cat(csv_field(run.record.name), ',', csv_number(curve.step[i]), ',',
                   csv_number(curve.tokens[i]), ',', csv_number(curve.seconds[i]), ',',
                   csv_number(curve.flops[i]), ',', csv_field(curve.name), ',',
                   csv_number(curve.value[i]), '\n');
  return csv;
}

Json to_json(const Comparison& comparison) {
  Json runs = Json::array();
  for (const ComparedRun& run : comparison.runs) {
    Json best = Json::object();
    for (const std::string& name : metric_names(comparison)) best[name] = run.best(name);
    Json lengths = Json::array();
    for (const LengthScore& score : run.by_length)
      lengths.push_back({{"from", score.shortest},
                         {"to", score.longest < 0 ? Json() : Json(score.longest)},
                         {"lines", score.lines},
                         {"bleu", score.bleu},
                         {"exact_match", score.exact_match}});
    runs.push_back({{"name", run.record.name},
                    {"folder", utf8(run.record.folder.filename())},
                    {"model", run.model()},
                    {"parameters", run.record.receipt_at("/parameters")},
                    {"steps", run.steps()},
                    {"tokens", run.tokens()},
                    {"seconds", run.seconds()},
                    {"flops", run.flops()},
                    {"tokens_per_second", run.tokens_per_second()},
                    {"memory_bytes", run.memory()},
                    {"loss", run.last("loss")},
                    {"best", best},
                    {"median_grad_norm", run.median_grad_norm()},
                    {"clipped", run.clipped()},
                    {"by_length", lengths}});
  }
  return {
      {"version", 1}, {"budget", comparison.budget}, {"runs", runs}, {"notes", comparison.notes}};
}

std::vector<std::pair<std::string, std::string>> comparison_charts(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::string>> charts = {
      {"loss-tokens.svg", loss_chart(comparison, "tokens", "tokens read", &RunCurve::tokens)},
      {"loss-seconds.svg",
       loss_chart(comparison, "time", "seconds of training", &RunCurve::seconds)},
      {"loss-flops.svg", loss_chart(comparison, "FLOPs", "FLOPs", &RunCurve::flops)},
      {"grad-norm.svg", curve_chart(comparison, "Norm of the whole gradient, before clipping",
                                    "grad_norm", "2-norm", true)},
      {"speed.svg", curve_chart(comparison, "Speed", "tokens_per_second", "tokens/s", false)}};
  if (any_run(comparison, [](const ComparedRun& run) { return !run.by_length.empty(); }))
    charts.emplace_back("length.svg", length_chart(comparison));
  if (any_run(comparison, [](const ComparedRun& run) { return !run.dynamics.reach.empty(); }))
    charts.emplace_back("reach.svg", reach_chart(dynamics_of(comparison)));
  if (any_run(comparison, [](const ComparedRun& run) { return !run.dynamics.steps.empty(); }))
    charts.emplace_back("clipping.svg", clipping_chart(dynamics_of(comparison)));
  return charts;
}

void write_comparison(const Comparison& comparison, const fs::path& folder) {
  std::string steps, reach;
  const auto append = [](std::string& all, const std::string& table) {
    all += all.empty() ? table : table.substr(table.find('\n') + 1);
  };
  for (const ComparedRun& run : comparison.runs) {
    if (!run.dynamics.steps.empty()) append(steps, dynamics_csv(run.dynamics, run.record.name));
    if (!run.dynamics.reach.empty()) append(reach, reach_csv(run.dynamics, run.record.name));
  }
  if (!steps.empty()) write_file(folder / "dynamics.csv", steps);
  if (!reach.empty()) write_file(folder / "gradient_time.csv", reach);
  for (const auto& [name, picture] : comparison_charts(comparison))
    write_file(folder / utf8_path(name), picture);
  write_file(folder / "compare.csv", comparison_csv(comparison));
  write_json_file(folder / "compare.json", to_json(comparison));
}

}  // namespace zoo
