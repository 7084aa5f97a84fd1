// The runs in a table: what was trained, how far, how well.

#include <cmath>

#include "analysis/median.h"
#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "core/text.h"

namespace zoo {

namespace {

double number_at(const RunRecord& run, const std::string& pointer) {
  const Json value = run.receipt_at(pointer);
  return value.is_number() ? value.get<double>() : std::nan("");
}

double last_of(const RunCurve* curve, std::vector<double> RunCurve::*values) {
  return curve == nullptr || (curve->*values).empty() ? std::nan("") : (curve->*values).back();
}

/// What the receipt says, else the last that metrics.jsonl says.
double result_or_last(const RunRecord& run, const char* result,
                      std::vector<double> RunCurve::*values) {
  const double said = number_at(run, cat("/result/", result));
  return std::isnan(said) ? last_of(run.curve("loss"), values) : said;
}

std::string type_of(const RunRecord& run, const char* part) {
  const Json::json_pointer place(cat("/", part, "/type"));
  return run.config.is_object() && run.config.contains(place) && run.config.at(place).is_string()
             ? run.config.at(place).get<std::string>()
             : "";
}

double median_speed(const RunRecord& run) {
  const RunCurve* const curve = run.curve("tokens_per_second");
  return curve == nullptr ? std::nan("") : std::round(median(curve->value));
}

std::string best_text(const RunRecord& run) {
  const double best = number_at(run, "/result/best_value");
  const Json metric = run.receipt_at("/result/metric");
  if (std::isnan(best) || !metric.is_string()) return "–";
  return cat("<span class=\"whole\">", escaped_xml(metric_title(metric.get<std::string>())),
             " <strong>", number_text(best), "</strong></span> <span class=\"whole soft\">at step ",
             number_text(number_at(run, "/result/best_step")), "</span>");
}

std::string status_text(const RunRecord& run) {
  const Json status = run.receipt_at("/status");
  if (!status.is_string()) return "not known";
  std::string text = status.get<std::string>();
  if (text == "failed") return "<span class=\"fail\">failed</span>";
  std::replace(text.begin(), text.end(), '_', ' ');
  return cat("<span class=\"whole\">", escaped_xml(text), "</span>");
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "–" : cat("<span class=\"whole\">", escaped_xml(text), "</span>");
}

}  // namespace

std::string overview_section(const std::vector<RunRecord>& runs) {
  if (runs.empty()) return "";
  HtmlTable table("Runs", {"Run", "Model", "Task", "Parameters", "Steps", "Best", "Validation loss",
                           "Training time", "Tokens/s", "End"});
  std::string notes;
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    const double seconds = result_or_last(run, "seconds", &RunCurve::seconds);
    table.add({run_label(runs, i), or_dash(type_of(run, "model")), or_dash(type_of(run, "task")),
               number_text(number_at(run, "/parameters")),
               number_text(result_or_last(run, "step", &RunCurve::step)), best_text(run),
               number_text(last_of(run.curve("valid_loss"), &RunCurve::value)),
               std::isnan(seconds) ? "–" : human_seconds(seconds), number_text(median_speed(run)),
               status_text(run)});
    for (const std::string& note : run.notes)
      notes += cat("<li><bdi>", escaped_xml(run.name), "</bdi>: ", escaped_xml(note), "</li>\n");
  }
  if (!notes.empty()) notes = cat("<ul class=\"notes\">\n", notes, "</ul>\n");
  return section("overview", runs.size() == 1 ? "The run" : "The runs", table.html() + notes);
}

}  // namespace zoo
