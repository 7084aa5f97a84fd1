// What gradnorm writes: JSON, CSV and pictures.

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/gradnorm.h"
#include "analysis/plot.h"
#include "core/error.h"
#include "core/files.h"
#include "core/system.h"
#include "core/text.h"

namespace zoo {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// JSON has no NaN and no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

// Means over seeds of what rows give, for each x in turn.
template <class Row>
Series mean_series(const std::string& name, const std::vector<Row>& rows, auto&& x, auto&& y) {
  Series series{.name = name};
  std::vector<double> counts;
  for (const Row& row : rows) {
    const double at = x(row);
    if (std::isnan(at)) continue;
    const auto found = std::find(series.x.begin(), series.x.end(), at);
    const auto index = static_cast<size_t>(found - series.x.begin());
    if (found == series.x.end()) {
      series.x.push_back(at);
      series.y.push_back(0);
      counts.push_back(0);
    }
    series.y[index] += y(row);
    ++counts[index];
  }
  for (size_t i = 0; i < series.y.size(); ++i) series.y[i] /= counts[i];
  return series;
}

// What is drawn of a model: an LSTM has two states, a Transformer one for each layer.
bool is_drawn(const GradnormCurve& curve) {
  return curve.observed == "h" || curve.observed == "x0" || curve.observed == "c";
}

std::string name_of(const GradnormCurve& curve) {
  return curve.observed == "c" ? curve.model + " (cell)" : curve.model;
}

std::string time_chart(const GradnormResult& result) {
  LineChart chart{.title = "Gradient by distance, g_k / g_0",
                  .x = {"distance k, steps"},
                  .y = {"g_k / g_0", true}};
  // All seeds of a state lie side by side.
  const auto seeds = static_cast<size_t>(result.options.seeds);
  for (size_t begin = 0; begin < result.curves.size(); begin += seeds) {
    const GradnormCurve& first = result.curves[begin];
    if (!is_drawn(first)) continue;
    Series series{.name = name_of(first)};
    for (size_t k = 0; k < first.g.size(); ++k) {
      double sum = 0;
      for (size_t i = begin; i < begin + seeds; ++i)
        sum += std::log(result.curves[i].g[k] / result.curves[i].g[0]);
      series.x.push_back(static_cast<double>(k));
      series.y.push_back(std::exp(sum / static_cast<double>(seeds)));  // the geometric mean
    }
    series.colour = static_cast<int>(chart.series.size());
    chart.series.push_back(std::move(series));
  }
  const auto measured = chart.series;
  for (const Series& series : measured) {
    for (const GradnormCurve& curve : result.curves) {
      if (name_of(curve) != series.name || std::isnan(curve.theory.back())) continue;
      Series theory{.name = series.name + ", theory",
                    .x = series.x,
                    .y = curve.theory,
                    .mark = Series::Mark::dashed,
                    .colour = series.colour};
      chart.series.push_back(std::move(theory));
      break;
    }
  }
  return svg(chart);
}

std::string attention_chart(const GradnormResult& result) {
  LineChart chart{.title = "Gradient of the first of T steps, W = 0.9 Q",
                  .x = {"steps T", true},
                  .y = {"||dL/dh_1||", true}};
  for (const LengthRow& row : result.lengths) {
    const std::string name = row.model == "rnn-attn" ? "with attention" : "without";
    if (chart.series.empty() || chart.series.back().name != name)
      chart.series.push_back({.name = name});
    chart.series.back().x.push_back(static_cast<double>(row.T));
    chart.series.back().y.push_back(row.oldest);
  }
  if (chart.series.empty()) return svg(chart);
  const Series with = chart.series.front();
  Series guide{.name = "1 / T", .x = with.x, .mark = Series::Mark::dashed, .colour = 0};
  for (const double T : with.x) guide.y.push_back(with.y[0] * with.x[0] / T);
  chart.series.push_back(std::move(guide));
  return svg(chart);
}

std::string depth_chart(const GradnormResult& result) {
  LineChart chart{.title = "Gradient of the last layer's second feed-forward matrix",
                  .x = {"layers L", true},
                  .y = {"||dL/dW2||", true}};
  int colour = 0;
  for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post}) {
    const std::string name = cat(enum_name(norm), "-norm");
    Series series = mean_series(
        name, result.depth,
        [&](const DepthRow& row) {
          return row.norm == norm && row.parameter == "w2" && row.layer == row.depth
                     ? static_cast<double>(row.depth)
                     : kNone;
        },
        [](const DepthRow& row) { return row.grad_norm; });
    if (series.x.empty()) continue;
    series.colour = colour++;
    Series guide{.name = norm == NormPlacement::pre ? "L^-1/2" : "constant",
                 .mark = Series::Mark::dashed,
                 .colour = series.colour};
    for (const double x : series.x) {
      guide.x.push_back(x);
      guide.y.push_back(series.y[0] *
                        (norm == NormPlacement::pre ? std::sqrt(series.x[0] / x) : 1));
    }
    chart.series.push_back(std::move(series));
    chart.series.push_back(std::move(guide));
  }
  return svg(chart);
}

std::string layers_chart(const GradnormResult& result) {
  const int64_t deepest = result.depth.empty() ? 0 : result.depth.back().depth;
  LineChart chart{.title = cat("Gradient by layer, ", deepest, " layers"),
                  .x = {"layer"},
                  .y = {"||dL/dW2||", true}};
  for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post}) {
    Series series = mean_series(
        cat(enum_name(norm), "-norm"), result.depth,
        [&](const DepthRow& row) {
          return row.norm == norm && row.parameter == "w2" && row.depth == deepest
                     ? static_cast<double>(row.layer)
                     : kNone;
        },
        [](const DepthRow& row) { return row.grad_norm; });
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return svg(chart);
}

std::string jacobian_chart(const GradnormResult& result) {
  LineChart chart{.title = "Singular values of dh_T/dh_{T-k}",
                  .x = {"distance k, steps"},
                  .y = {"largest (line) and smallest (dashed)", true}};
  int colour = 0;
  for (const auto& [model, count] : result.parameters) {
    const auto distance = [&](const JacobianRow& row) {
      return row.model == model ? static_cast<double>(row.k) : kNone;
    };
    Series largest = mean_series(model, result.jacobian, distance,
                                 [](const JacobianRow& row) { return row.sigma_max; });
    Series smallest = mean_series("", result.jacobian, distance,
                                  [](const JacobianRow& row) { return row.sigma_min; });
    // Below this they are the rounding of the largest ones.
    for (size_t i = 0; i < smallest.y.size(); ++i)
      if (smallest.y[i] < 1e-15 * largest.y[i]) smallest.y[i] = kNone;
    smallest.mark = Series::Mark::dashed;
    largest.colour = smallest.colour = colour++;
    chart.series.push_back(std::move(largest));
    chart.series.push_back(std::move(smallest));
  }
  return svg(chart);
}

Json config_of(const GradnormResult& result) {
  const GradnormOptions& o = result.options;
  Json models = Json::array();
  for (const ProbeModel model : o.models) models.push_back(enum_name(model));
  Json config{
      {"T", o.T}, {"d", o.d}, {"batch", o.batch}, {"seeds", o.seeds}, {"loss", enum_name(o.loss)}};
  config["norm"] = o.norm ? Json(enum_name(*o.norm)) : Json(nullptr);
  if (result.mode == GradnormMode::depth) {
    config["depths"] = o.depths;
    return config;
  }
  config["models"] = models;
  config["layers"] = o.layers;
  config["init"] = enum_name(o.init);
  config["rho"] = o.rho;
  config["forget_bias"] = o.forget_bias ? Json(*o.forget_bias) : Json(nullptr);
  return config;
}

}  // namespace

std::vector<double> GradnormCurve::r() const {
  std::vector<double> ratios;
  ratios.reserve(g.size());
  for (const double value : g) ratios.push_back(value / g.front());
  return ratios;
}

double GradnormCurve::max_relative_error() const {
  double worst = kNone;
  const std::vector<double> ratios = r();
  for (size_t k = 0; k < theory.size(); ++k)
    if (!std::isnan(theory[k])) worst = std::fmax(worst, std::abs(ratios[k] / theory[k] - 1));
  return worst;
}

Json to_json(const GradnormResult& result) {
  Json json{{"version", 1},
            {"mode", enum_name(result.mode)},
            {"seed", result.options.seed},
            {"dtype", result.options.float32 ? "float32" : "float64"},
            {"machine", processor_name()},
            {"config", config_of(result)}};
  json["parameters"] = Json::object();
  for (const auto& [name, count] : result.parameters) json["parameters"][name] = count;
  json["curves"] = Json::array();
  for (const GradnormCurve& curve : result.curves) {
    Json k = Json::array();
    for (size_t i = 0; i < curve.g.size(); ++i) k.push_back(i);
    json["curves"].push_back({{"model", curve.model},
                              {"observed", curve.observed},
                              {"seed", curve.seed},
                              {"k", std::move(k)},
                              {"g", numbers(curve.g)},
                              {"r", numbers(curve.r())},
                              {"theory", numbers(curve.theory)},
                              {"exact", curve.exact},
                              {"max_rel_err", number(curve.max_relative_error())}});
  }
  json["fits"] = Json::array();
  for (const GradnormFit& fit : result.fits)
    json["fits"].push_back({{"model", fit.model},
                            {"observed", fit.observed},
                            {"rate", number(fit.rate)},
                            {"theory_rate", number(fit.theory_rate)},
                            {"mean_ce_rate", number(fit.mean_ce_rate)},
                            {"horizon", number(fit.horizon)},
                            {"slope", number(fit.slope)},
                            {"ci95", {number(fit.low), number(fit.high)}}});
  json["checks"] = to_json(result.checks);
  return json;
}

std::string to_csv(const GradnormResult& result) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) { text += join(cells, ",") + "\n"; };
  switch (result.mode) {
    case GradnormMode::time:
      line({"model", "observed", "seed", "T", "k", "t", "g", "r", "theory", "rel_err"});
      for (const GradnormCurve& curve : result.curves) {
        const std::vector<double> r = curve.r();
        for (size_t k = 0; k < r.size(); ++k)
          line({curve.model, curve.observed, cat(curve.seed), cat(r.size()), cat(k),
                cat(r.size() - k), csv_number(curve.g[k]), csv_number(r[k]),
                csv_number(curve.theory[k]), csv_number(r[k] / curve.theory[k] - 1)});
      }
      break;
    case GradnormMode::depth:
      line({"norm", "L", "layer", "param", "grad_norm", "hidden_sq_over_d", "lo", "hi", "seed"});
      for (const DepthRow& row : result.depth)
        line({std::string(enum_name(row.norm)), cat(row.depth), cat(row.layer), row.parameter,
              csv_number(row.grad_norm), csv_number(row.hidden_sq_over_d), csv_number(row.low),
              csv_number(row.high), cat(row.seed)});
      break;
    case GradnormMode::jacobian:
      line({"model", "seed", "k", "sigma_max", "sigma_min", "rank_eff", "lyapunov"});
      for (const JacobianRow& row : result.jacobian)
        line({row.model, cat(row.seed), cat(row.k), csv_number(row.sigma_max),
              csv_number(row.sigma_min), csv_number(row.rank_eff), csv_number(row.lyapunov)});
      break;
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> charts(const GradnormResult& result) {
  switch (result.mode) {
    case GradnormMode::time:
      return {{"time.svg", time_chart(result)}, {"attention.svg", attention_chart(result)}};
    case GradnormMode::depth:
      return {{"depth.svg", depth_chart(result)}, {"layers.svg", layers_chart(result)}};
    case GradnormMode::jacobian:
      return {{"jacobian.svg", jacobian_chart(result)}};
  }
  return {};
}

void write_gradnorm(const GradnormResult& result, const std::string& folder) {
  const fs::path path = utf8_path(folder);
  require_writable_folder(path);
  write_json_file(path / "gradnorm.json", to_json(result));
  write_file(path / cat(enum_name(result.mode), ".csv"), to_csv(result));
  for (const auto& [name, picture] : charts(result)) write_file(path / name, picture);
}

}  // namespace zoo
