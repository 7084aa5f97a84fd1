// The curves of trainings: small charts of one size, the same colour for a run in all of them.

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/plot.h"
#include "analysis/report/sections.h"
#include "analysis/report/svg_file.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr int kWidth = 400, kHeight = 270;  // legible at a telephone's width too

struct Place {
  const char* title;  ///< in captions: "Loss by training time"
  const char* axis;
  std::vector<double> RunCurve::*values;
};
constexpr Place kStep{"", "step", &RunCurve::step};

enum class Scale { linear, either, log_first };

/// What one chart shows of all runs.
struct Wish {
  std::string caption;
  std::string solid, dashed;  ///< names of curves; dashed may be empty
  std::string y;
  Scale scale = Scale::linear;
  Place x = kStep;
};

std::vector<Series> series_of(const std::vector<RunRecord>& runs, const Wish& wish) {
  std::vector<Series> found;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const bool dashed : {false, true}) {
      const std::string& name = dashed ? wish.dashed : wish.solid;
      const RunCurve* const curve = name.empty() ? nullptr : runs[i].curve(name);
      if (curve == nullptr) continue;
      std::string said = runs[i].name;
      if (!wish.dashed.empty()) said += dashed ? ", validation" : ", training";
      found.push_back({.name = said,
                       .x = curve->*wish.x.values,
                       .y = curve->value,
                       .mark = dashed ? Series::Mark::dashed : Series::Mark::line,
                       .colour = static_cast<int>(i)});
    }
  return found;
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
  chart.x.label = wish.x.axis;
  chart.y.label = wish.y;
  chart.series = series_of(runs, wish);
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
  return cat("<figure data-x=\"", wish.x.axis, "\"><figcaption><strong>", escaped_xml(wish.caption),
             "</strong>", control, "</figcaption>\n", picture,
             wish.dashed.empty() ? "" : "<p>Solid: training; dashed: validation.</p>\n",
             "</figure>\n");
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
  std::vector<Wish> list = {{"Loss", "loss", "valid_loss", "nats", Scale::either}};
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
    for (const Place& place : {Place{"training time", "seconds", &RunCurve::seconds},
                               Place{"tokens read", "tokens", &RunCurve::tokens},
                               Place{"operations", "FLOPs", &RunCurve::flops}})
      list.push_back({cat("Validation loss by ", place.title), "valid_loss", "", "nats",
                      Scale::either, place});
  list.push_back({"Gradient norm", "grad_norm", "", "2-norm, before clipping", Scale::log_first});
  list.push_back({"Learning rate", "learning_rate", "", "", Scale::either});
  list.push_back({"Speed", "tokens_per_second", "", "tokens per second"});
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
                    "\" checked>", run_label(runs, i), "</label>\n");
    choice += "</fieldset>\n";
  }
  made.html =
      section("curves", "Training curves",
              cat(choice, "<div class=\"figures of-runs\">\n", figures, "</div>\n", tables));
  return made;
}

}  // namespace zoo
