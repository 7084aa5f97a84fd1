#include "analysis/bench.h"

#include <algorithm>
#include <sstream>

#include "analysis/plot.h"
#include "core/error.h"

namespace zoo {

namespace {

/// The points of one series and pass. Seconds are the fastest ones: whatever else the machine does
/// only adds to a time.
struct Curve {
  std::string series, pass;
  std::vector<double> tokens = {}, seconds = {}, bytes = {}, flops = {};
};

/// In the order in which they appear.
std::vector<Curve> curves_of(const std::vector<BenchPoint>& points) {
  std::vector<Curve> curves;
  for (const BenchPoint& point : points) {
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const Curve& known) {
      return known.series == point.series && known.pass == point.pass;
    });
    if (curve == curves.end()) curve = curves.insert(curves.end(), Curve{point.series, point.pass});
    curve->tokens.push_back(static_cast<double>(point.tokens));
    curve->seconds.push_back(point.fastest);
    curve->bytes.push_back(point.bytes);
    curve->flops.push_back(point.flops);
  }
  return curves;
}

const Curve& find_curve(const std::vector<Curve>& curves, const std::string& series,
                        const std::string& pass) {
  for (const Curve& curve : curves)
    if (curve.series == series && curve.pass == pass) return curve;
  throw ConfigError(cat("crossing: \"", series, "\", ", pass, ", was not measured"));
}

bool has_layers(const BenchResult& result) {
  return std::any_of(result.points.begin(), result.points.end(),
                     [](const BenchPoint& point) { return point.path_length > 0; });
}

}  // namespace

std::vector<BenchFit> fit_points(const std::vector<BenchPoint>& points) {
  std::vector<BenchFit> fits;
  for (const Curve& curve : curves_of(points)) {
    const size_t count = std::min(curve.tokens.size(), kFittedLengths);
    if (count < 2) continue;
    const auto last = [&](const std::vector<double>& values) {
      return std::span(values).last(count);
    };
    for (const auto& [quantity, values] :
         {std::pair{"seconds", &curve.seconds}, {"bytes", &curve.bytes}, {"flops", &curve.flops}}) {
      const auto fitted = last(*values);
      if (std::all_of(fitted.begin(), fitted.end(), [](double value) { return value > 0; }))
        fits.push_back({curve.series, curve.pass, quantity, fit_power(last(curve.tokens), fitted)});
    }
  }
  return fits;
}

BenchCrossing find_crossing(const std::vector<BenchPoint>& points, const std::string& first,
                            const std::string& second, const std::string& pass, double predicted) {
  const std::vector<Curve> curves = curves_of(points);
  const Curve& a = find_curve(curves, first, pass);
  const Curve& b = find_curve(curves, second, pass);
  return {first, second, pass, predicted, crossing(a.tokens, a.seconds, b.seconds)};
}

Json to_json(const BenchResult& result) {
  Json json{{"mode", result.mode},   {"setting", result.setting},  {"points", Json::array()},
            {"fits", Json::array()}, {"crossings", Json::array()}, {"facts", Json::object()}};
  const bool layers = has_layers(result);
  for (const BenchPoint& point : result.points) {
    Json entry{{"series", point.series},   {"pass", point.pass},       {"tokens", point.tokens},
               {"seconds", point.seconds}, {"fastest", point.fastest}, {"slowest", point.slowest},
               {"bytes", point.bytes},     {"flops", point.flops}};
    if (layers) {
      entry["path_length"] = point.path_length;
      entry["sequential_steps"] = point.sequential_steps;
    }
    json["points"].push_back(std::move(entry));
  }
  for (const BenchFit& fit : result.fits)
    json["fits"].push_back({{"series", fit.series},
                            {"pass", fit.pass},
                            {"quantity", fit.quantity},
                            {"exponent", fit.fit.slope},
                            {"low", fit.fit.low},  // JSON has no infinity: null
                            {"high", fit.fit.high}});
  for (const BenchCrossing& crossing : result.crossings) {
    Json entry{{"first", crossing.first},
               {"second", crossing.second},
               {"pass", crossing.pass},
               {"predicted", crossing.predicted},
               {"measured", nullptr}};
    if (crossing.measured) entry["measured"] = *crossing.measured;
    json["crossings"].push_back(std::move(entry));
  }
  for (const auto& [name, value] : result.facts) json["facts"][name] = value;
  return json;
}

std::string to_csv(const BenchResult& result) {
  const bool layers = has_layers(result);
  std::ostringstream text;
  text << "series,pass,tokens,seconds,fastest,slowest,bytes,flops"
       << (layers ? ",path_length,sequential_steps" : "") << '\n';
  text.precision(9);
  for (const BenchPoint& point : result.points) {
    text << '"' << point.series << "\"," << point.pass << ',' << point.tokens << ','
         << point.seconds << ',' << point.fastest << ',' << point.slowest << ',' << point.bytes
         << ',' << point.flops;
    if (layers) text << ',' << point.path_length << ',' << point.sequential_steps;
    text << '\n';
  }
  return text.str();
}

std::string to_svg(const BenchResult& result) {
  LineChart chart;
  chart.title = cat("bench ", result.mode);
  chart.x = {.label = "tokens", .log = true};
  chart.y = {.label = "seconds", .log = true};
  std::vector<std::string> series;  // one colour each, whatever the pass
  std::string first_pass;
  for (const Curve& curve : curves_of(result.points)) {
    if (first_pass.empty()) first_pass = curve.pass;
    auto known = std::find(series.begin(), series.end(), curve.series);
    if (known == series.end()) known = series.insert(series.end(), curve.series);
    chart.series.push_back(
        {.name = cat(curve.series, ", ", curve.pass),
         .x = curve.tokens,
         .y = curve.seconds,
         .mark = curve.pass == first_pass ? Series::Mark::line : Series::Mark::dashed,
         .colour = static_cast<int>(known - series.begin())});
  }
  return svg(chart);
}

}  // namespace zoo
