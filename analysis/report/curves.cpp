// The curves of trainings: small charts of one size, the same colour for a run in all of them.

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/median.h"
#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "analysis/report/svg_file.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr int kWidth = 400, kHeight = 270;  // legible at a telephone's width too

struct Unit {
  double size;
  const char* name;
};
struct Place {
  const char* title;  ///< in captions: "Loss by training time"
  std::vector<double> RunCurve::*values;
  std::vector<Unit> units;  ///< ascending; the largest is taken of which there are some
};
const Place kStep{"", &RunCurve::step, {{1, "step"}}};
const Place kTime{
    "training time", &RunCurve::seconds, {{1, "seconds"}, {60, "minutes"}, {3600, "hours"}}};
const Place kTokens{
    "tokens read",
    &RunCurve::tokens,
    {{1, "tokens"}, {1e3, "thousand tokens"}, {1e6, "million tokens"}, {1e9, "billion tokens"}}};
const Place kOperations{
    "operations",
    &RunCurve::flops,
    {{1, "FLOPs"}, {1e9, "GFLOPs"}, {1e12, "TFLOPs"}, {1e15, "PFLOPs"}, {1e18, "EFLOPs"}}};

enum class Scale { linear, either, log_first };

/// What one chart shows of all runs.
struct Wish {
  std::string caption;
  std::string solid, dashed;  ///< names of curves; dashed may be empty
  std::string y;
  Scale scale = Scale::linear;
  bool scatters = false;  ///< from report to report, since each is of a few batches
  Place x = kStep;
};

/// Reports to a running median, an odd number; 0: the curve is short enough to be read as it is.
size_t median_width(const RunCurve& curve) {
  const size_t reports = curve.value.size();
  return reports < 120 ? 0 : reports / 80 * 2 + 3;
}

/// The median of each value and its neighbours, fewer at the ends.
std::vector<double> running_median(const std::vector<double>& values, size_t width) {
  std::vector<double> smooth;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t reach = std::min({width / 2, i, values.size() - 1 - i});
    const auto middle = values.begin() + static_cast<int64_t>(i);
    const auto near = static_cast<int64_t>(reach);
    smooth.push_back(std::isfinite(values[i]) ? median({middle - near, middle + near + 1})
                                              : values[i]);
  }
  return smooth;
}

/// Curves that scatter are drawn faint, under their running median.
std::vector<Series> series_of(const std::vector<RunRecord>& runs, const Wish& wish) {
  std::vector<Series> found;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const bool dashed : {false, true}) {
      const std::string& name = dashed ? wish.dashed : wish.solid;
      const RunCurve* const curve = name.empty() ? nullptr : runs[i].curve(name);
      if (curve == nullptr) continue;
      std::string said = runs[i].name;
      if (!wish.dashed.empty()) said += dashed ? ", validation" : ", training";
      Series series{.name = said,
                    .x = curve->*wish.x.values,
                    .y = curve->value,
                    .mark = dashed ? Series::Mark::dashed : Series::Mark::line,
                    .colour = static_cast<int>(i)};
      const size_t width = wish.scatters && !dashed ? median_width(*curve) : 0;
      if (width > 0) series.mark = Series::Mark::faint;
      found.push_back(series);
      if (width == 0) continue;
      series.name.clear();  // read-outs tell what was reported
      series.mark = Series::Mark::line;
      series.y = running_median(series.y, width);
      found.push_back(std::move(series));
    }
  return found;
}

/// Puts x into the largest unit of which there are some, and gives its name.
std::string into_unit(std::vector<Series>& series, const std::vector<Unit>& units) {
  double largest = 0;
  for (const Series& one : series)
    for (const double x : one.x)
      if (std::isfinite(x)) largest = std::max(largest, x);
  Unit unit = units[0];
  for (const Unit& larger : units)
    if (largest >= 3 * larger.size) unit = larger;
  for (Series& one : series)
    for (double& x : one.x) x /= unit.size;
  return unit.name;
}

bool has_a_point(const std::vector<Series>& series) {
  return std::any_of(series.begin(), series.end(), [](const Series& one) {
    for (size_t i = 0; i < one.x.size(); ++i)
      if (std::isfinite(one.x[i]) && std::isfinite(one.y[i])) return true;
    return false;
  });
}

/// A logarithmic scale says something of positive numbers only.
bool is_positive(const std::vector<Series>& series) {
  return std::all_of(series.begin(), series.end(), [](const Series& one) {
    return std::none_of(one.y.begin(), one.y.end(), [](double value) { return value <= 0; });
  });
}

/// Empty if no run has such a curve.
std::string chart_html(const std::vector<RunRecord>& runs, const Wish& wish) {
  LineChart chart;
  chart.y.label = wish.y;
  chart.series = series_of(runs, wish);
  chart.x.label = into_unit(chart.series, wish.x.units);
  chart.legend = false;  // the choice of runs above is one
  chart.width = kWidth;
  chart.height = kHeight;
  if (!has_a_point(chart.series)) return "";
  chart.alt =
      cat(wish.caption, " of ", runs.size() == 1 ? runs[0].name : cat(runs.size(), " runs"));
  const bool choice = wish.scale != Scale::linear && is_positive(chart.series);
  std::string picture = cat("<div class=\"linear\">", without_style(svg(chart)), "</div>\n");
  std::string control;
  if (choice) {
    chart.y.log = true;
    chart.alt += ", logarithmic";
    picture += cat("<div class=\"log\">", without_style(svg(chart)), "</div>\n");
    control = cat("<label class=\"scale-choice\"><input type=\"checkbox\" class=\"scale\"",
                  wish.scale == Scale::log_first ? " checked" : "", "> log scale</label>");
  }
  const bool is_faint =
      std::any_of(chart.series.begin(), chart.series.end(),
                  [](const Series& one) { return one.mark == Series::Mark::faint; });
  std::vector<std::string> notes;
  if (!wish.dashed.empty()) notes.emplace_back("Solid: training; dashed: validation.");
  if (is_faint) notes.emplace_back("Faint: as reported, under its running median.");
  return cat("<figure data-x=\"", chart.x.label, "\"><figcaption><strong>",
             escaped_xml(wish.caption), "</strong>", control, "</figcaption>\n", picture,
             notes.empty() ? "" : cat("<p>", join(notes, " "), "</p>\n"), "</figure>\n");
}

/// Names of all curves, in the order in which the runs have them.
std::vector<std::string> curve_names(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs)
    for (const RunCurve& curve : run.curves)
      if (std::find(names.begin(), names.end(), curve.name) == names.end())
        names.push_back(curve.name);
  return names;
}

std::vector<Wish> wishes(const std::vector<RunRecord>& runs) {
  std::vector<Wish> list = {{"Loss", "loss", "valid_loss", "nats", Scale::either, true}};
  const std::vector<std::string> names = curve_names(runs);
  const auto add_others = [&](bool validation) {
    for (const std::string& name : names) {
      const bool is_known = name == "loss" || name == "valid_loss" || name == "learning_rate" ||
                            name == "grad_norm" || name == "tokens_per_second";
      if (is_known || name.starts_with("valid_") != validation) continue;
      const std::string title = metric_title(name);
      list.push_back({validation ? "Validation: " + title : title, name, "", title});
    }
  };
  add_others(true);
  // What a loss costs is a question between runs.
  if (runs.size() > 1)
    for (const Place& place : {kTime, kTokens, kOperations})
      list.push_back({cat("Validation loss by ", place.title), "valid_loss", "", "nats",
                      Scale::either, false, place});
  list.push_back(
      {"Gradient norm", "grad_norm", "", "2-norm, before clipping", Scale::log_first, true});
  list.push_back({"Learning rate", "learning_rate", "", "", Scale::either});
  list.push_back({"Speed", "tokens_per_second", "", "tokens per second", Scale::linear, true});
  add_others(false);
  return list;
}

/// All evaluations of a run as a table; empty if there are none.
std::string evaluations(const RunRecord& run) {
  std::vector<const RunCurve*> metrics;
  std::vector<std::string> header = {"step"};
  std::map<double, std::vector<double>> rows;
  for (const RunCurve& curve : run.curves) {
    if (!curve.name.starts_with("valid_")) continue;
    metrics.push_back(&curve);
    header.push_back(escaped_xml(metric_title(curve.name)));
  }
  for (size_t i = 0; i < metrics.size(); ++i)
    for (size_t j = 0; j < metrics[i]->step.size(); ++j) {
      std::vector<double>& row =
          rows.try_emplace(metrics[i]->step[j], metrics.size(), std::nan("")).first->second;
      row[i] = metrics[i]->value[j];
    }
  if (rows.empty()) return "";
  HtmlTable table("Evaluations of " + run.name, header);
  for (const auto& [step, values] : rows) {
    std::vector<std::string> cells = {number_text(step)};
    for (const double value : values) cells.push_back(number_text(value));
    table.add(cells);
  }
  return folded(cat("Evaluations of ", run.name, " (", rows.size(), ")"), table.html());
}

}  // namespace

Section curves_section(const std::vector<RunRecord>& runs) {
  Section made;
  std::string figures, tables;
  for (const Wish& wish : wishes(runs)) {
    const std::string html = chart_html(runs, wish);
    figures += html;
    made.pictures += html.empty() ? 0 : 1;
  }
  for (const RunRecord& run : runs) tables += evaluations(run);
  if (made.pictures == 0) return made;
  std::string choice;
  if (runs.size() > 1) {
    choice =
        "<fieldset class=\"runs\"><legend class=\"hidden\">Runs that the curves show</legend>\n";
    for (size_t i = 0; i < runs.size(); ++i)
      choice += cat("<label class=\"r", i, "\"><input type=\"checkbox\" id=\"run-", i,
                    "\" checked><bdi>", escaped_xml(runs[i].name), "</bdi></label>\n");
    choice += "</fieldset>\n";
  }
  made.html =
      section("curves", "Training curves",
              cat(choice, "<div class=\"figures of-runs\">\n", figures, "</div>\n", tables));
  return made;
}

}  // namespace zoo
