#include "analysis/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "analysis/plot_parts.h"
#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace zoo {
namespace {

constexpr double kCharacter = 6.7;  // mean width of a character of 12 pixels, for layout only
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Colours are variables, so that a page may set its own; the second list is for dark pages. All of
// them stand out from the paper by at least 4.5 to 1.
constexpr std::string_view kStyle = R"(<style>
.zoo-plot{--p-ink:#1f2328;--p-soft:#59636e;--p-grid:#d1d9e0;--p-paper:#fff;
--p0:#0969da;--p1:#bc4c00;--p2:#1a7f37;--p3:#8250df;--p4:#cf222e;--p5:#1b7c83;--p6:#bf3989;--p7:#57606a;
font:12px system-ui,-apple-system,"Segoe UI","Helvetica Neue",Arial,sans-serif;background:var(--p-paper)}
@media (prefers-color-scheme:dark){.zoo-plot{--p-ink:#e6edf3;--p-soft:#9198a1;--p-grid:#3d444d;--p-paper:#0d1117;
--p0:#58a6ff;--p1:#f0883e;--p2:#3fb950;--p3:#bc8cff;--p4:#ff7b72;--p5:#39c5cf;--p6:#f778ba;--p7:#9198a1}}
.zoo-plot text{fill:var(--p-ink)}.zoo-plot .soft{fill:var(--p-soft)}
.zoo-plot .title{font-size:14px;font-weight:600}
.zoo-plot .grid{stroke:var(--p-grid);stroke-width:1}.zoo-plot .frame{stroke:var(--p-soft);fill:none}
.zoo-plot rect{shape-rendering:crispEdges}.zoo-plot .line{fill:none;stroke-width:1.75;stroke-linejoin:round}.zoo-plot .faint{stroke-opacity:.3}
</style>)";

std::string number(double value) { return fixed(value, 2); }

}  // namespace

namespace plot {

std::string value_text(double value) { return significant(value, 4); }

Colour shade(double part) {
  static constexpr std::array<std::array<double, 3>, 6> kStops{
      {{253, 231, 37}, {122, 209, 81}, {34, 168, 132}, {42, 120, 142}, {65, 68, 135}, {68, 1, 84}}};
  // The largest value is the lightest: it must be seen first on dark and on light paper alike.
  const double place = (1 - std::clamp(part, 0.0, 1.0)) * (kStops.size() - 1);
  const size_t below = std::min(static_cast<size_t>(place), kStops.size() - 2);
  Colour mixed{};
  for (size_t i = 0; i < 3; ++i)
    mixed[i] = static_cast<uint8_t>(
        std::lround(kStops[below][i] + (place - static_cast<double>(below)) *
                                           (kStops[below + 1][i] - kStops[below][i])));
  return mixed;
}

std::string hex(const Colour& colour) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "#%02x%02x%02x", colour[0], colour[1], colour[2]);
  return buffer.data();
}

std::string opened(int width, int height, const std::string& alt) {
  return cat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"zoo-plot\" role=\"img\" aria-label=\"",
      escaped_xml(alt), "\" viewBox=\"0 0 ", width, " ", height, "\" width=\"", width,
      "\" height=\"", height, "\">\n", kStyle, "\n",
      "<rect width=\"100%\" height=\"100%\" fill=\"var(--p-paper)\"/>\n");
}

double text_width(const std::string& text) {
  return kCharacter * static_cast<double>(std::count_if(text.begin(), text.end(),
                                                        [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string label(double x, double y, std::string_view anchor, const std::string& text,
                  std::string_view more) {
  return cat("<text x=\"", number(x), "\" y=\"", number(y), "\" text-anchor=\"", anchor, "\"", more,
             ">", escaped_xml(text), "</text>\n");
}

}  // namespace plot

namespace {

using plot::label;
using plot::opened;
using plot::text_width;
using plot::value_text;

std::string shade(double part) { return plot::hex(plot::shade(part)); }

// 10⁻⁵ for a whole power of ten outside of 0.01 to 1,000.
std::string tick_text(double value, bool log) {
  if (!log) {
    const double size = std::abs(value);
    if (size >= 1e6 && size < 1e21) {
      size_t unit = 0;
      double scaled = value / 1e6;
      for (; std::abs(scaled) >= 999.5; ++unit) scaled /= 1000;
      return cat(value_text(scaled), ' ', "MGTPE"[unit]);
    }
    if (size >= 1e4 && size < 1e15 && value == std::floor(value))
      return with_thousands(static_cast<int64_t>(value));
    return value_text(value);
  }
  const double exponent = std::log10(value);
  const double whole = std::round(exponent);
  if (std::abs(exponent - whole) > 1e-9 || (whole >= -2 && whole <= 3)) return value_text(value);
  static constexpr std::array kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = "10";
  if (whole < 0) text += "⁻";
  for (const char digit : std::to_string(static_cast<int>(std::abs(whole))))
    text += kDigits[static_cast<size_t>(digit - '0')];
  return text;
}

// The values from which a step of 1, 2 or 5 times a power of ten makes at most `most` of them.
std::vector<double> linear_ticks(double low, double high, int most) {
  const double rough = (high - low) / most;
  double step = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * step >= rough * (1 - 1e-9)) {
      step *= factor;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
    ticks.push_back(i == 0 ? 0 : i * step);
  return ticks;
}

// Whole powers of ten; where there are fewer than two, 2 and 5 times them as well.
std::vector<double> log_ticks(double low, double high, int most) {
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9)),
            last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  std::vector<double> ticks;
  if (last - first >= 1) {
    const int step = (last - first + most) / most;
    for (int e = first; e <= last; e += step) ticks.push_back(std::pow(10, e));
    return ticks;
  }
  for (int e = first - 1; e <= last + 1; ++e) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, e);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

// From values to pixels along one axis.
class Scale {
 public:
  // Spans the values of all series, with a margin for lines that would lie on the frame.
  Scale(const Axis& axis, const std::vector<Series>& series, std::vector<double> Series::*values,
        int most_ticks)
      : log_(axis.log) {
    for (const Series& one : series) {
      for (size_t i = 0; i < one.x.size(); ++i) {
        if (!shows(one.x[i], one.y[i])) continue;
        if (!holds((one.*values)[i])) continue;
        low_ = std::min(low_, (one.*values)[i]);
        high_ = std::max(high_, (one.*values)[i]);
      }
    }
    if (low_ > high_) return;
    if (log_) {
      if (low_ == high_) low_ /= 2, high_ *= 2;
      const double margin = std::pow(high_ / low_, 0.03);
      low_ = std::max(low_ / margin, std::numeric_limits<double>::min());
      high_ *= margin;
      ticks_ = log_ticks(low_, high_, most_ticks);
    } else {
      if (low_ == high_) {
        const double margin = low_ == 0 ? 1 : std::abs(low_) / 2;
        low_ -= margin, high_ += margin;
      }
      const double margin = 0.03 * (high_ - low_);
      low_ -= margin, high_ += margin;
      ticks_ = linear_ticks(low_, high_, most_ticks);
    }
  }

  bool empty() const { return low_ > high_; }
  bool holds(double value) const { return std::isfinite(value) && (!log_ || value > 0); }
  void place(double from, double to) { from_ = from, to_ = to; }
  double operator()(double value) const {
    const double part =
        log_ ? (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_))
             : (value - low_) / (high_ - low_);
    return from_ + part * (to_ - from_);
  }
  const std::vector<double>& ticks() const { return ticks_; }
  // What a script must know to read values off the frame.
  std::string ends() const {
    std::array<char, 80> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.9g %.9g%s", low_, high_, log_ ? " log" : "");
    return buffer.data();
  }
  bool log() const { return log_; }

 private:
  static bool shows(double x, double y) { return std::isfinite(x) && std::isfinite(y); }

  bool log_;
  double low_ = kInfinity, high_ = -kInfinity, from_ = 0, to_ = 1;
  std::vector<double> ticks_;
};

struct Point {
  double x, y;
};

// Of the points that share a column of pixels, the first, lowest, highest and last, which draw the
// same line.
std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> kept;
  for (size_t begin = 0, end; begin < points.size(); begin = end) {
    size_t low = begin, high = begin;
    for (end = begin;
         end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x); ++end) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
    }
    std::array of{begin, std::min(low, high), std::max(low, high), end - 1};
    for (size_t i = 0; i < of.size(); ++i)
      if (i == 0 || of[i] != of[i - 1]) kept.push_back(points[of[i]]);
  }
  return kept;
}

std::string colour_of(int index) { return cat("var(--p", index, ")"); }

std::string group_of(int colour, const std::string& content, const std::string& more = "") {
  return cat("<g class=\"p", colour, "\"", more, ">\n", content, "</g>\n");
}

std::string sideways(double x, double y, const std::string& text) {
  const std::string turn =
      cat(" class=\"soft\" transform=\"rotate(-90 ", number(x), " ", number(y), ")\"");
  return label(x, y, "middle", text, turn);
}

// One series as a line with gaps, or as points.
std::string drawn(const Series& series, const Scale& x, const Scale& y, const std::string& colour) {
  std::string out;
  std::vector<Point> run;
  const auto finish = [&] {
    if (run.size() == 1)
      out += cat("<circle cx=\"", number(run[0].x), "\" cy=\"", number(run[0].y),
                 "\" r=\"2\" fill=\"", colour, "\"/>\n");
    if (run.size() > 1) {
      out += cat("<polyline class=\"line", series.mark == Series::Mark::faint ? " faint" : "",
                 "\" stroke=\"", colour, "\"");
      if (series.mark == Series::Mark::dashed) out += " stroke-dasharray=\"6 4\"";
      out += " points=\"";
      for (const Point& point : thinned(run))
        out += cat(number(point.x), ",", number(point.y), " ");
      out.back() = '"';
      out += "/>\n";
    }
    run.clear();
  };
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!x.holds(series.x[i]) || !y.holds(series.y[i])) {
      finish();
      continue;
    }
    const Point point{x(series.x[i]), y(series.y[i])};
    if (series.mark == Series::Mark::points)
      out += cat("<circle cx=\"", number(point.x), "\" cy=\"", number(point.y),
                 "\" r=\"3\" fill=\"", colour, "\"/>\n");
    else
      run.push_back(point);
  }
  finish();
  return out;
}

double longest(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& one : labels) width = std::max(width, text_width(one));
  return width;
}

}  // namespace

std::string_view plot_style() { return kStyle; }

std::string escaped_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    switch (step.code_point) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const char32_t c = step.code_point;
        const bool control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f ||
                             c == 0xFFFE || c == 0xFFFF;
        append_utf8(out, control ? U'\uFFFD' : c);
      }
    }
    text.remove_prefix(step.length);
  }
  return out;
}

std::string svg(const LineChart& chart) {
  for (const Series& series : chart.series)
    if (series.x.size() != series.y.size())
      throw std::invalid_argument(cat("series \"", series.name, "\" has ", series.x.size(),
                                      " x and ", series.y.size(), " y; give as many of both"));
  std::string out = opened(chart.width, chart.height, chart.alt.empty() ? chart.title : chart.alt);
  double top = 8;
  if (!chart.title.empty()) {
    out += label(chart.width / 2.0, top + 14, "middle", chart.title, " class=\"title\"");
    top += 24;
  }
  const double height = chart.height, width = chart.width;
  Scale x(chart.x, chart.series, &Series::x, std::max(2, chart.width / 75));
  Scale y(chart.y, chart.series, &Series::y, std::max(2, chart.height / 50));
  if (x.empty() || y.empty()) {
    out += label(width / 2, height / 2, "middle", "no data", " class=\"soft\"");
    return out + "</svg>\n";
  }

  // The legend, in as many rows as it needs.
  double at = 16;
  int next = 0;
  std::vector<int> colours;
  for (const Series& series : chart.series) {
    colours.push_back((series.colour >= 0 ? series.colour : next++) % 8);
    if (series.name.empty() || !chart.legend) continue;
    const double wide = 44 + text_width(series.name);
    if (at > 16 && at + wide > width - 8) at = 16, top += 18;
    const std::string colour = colour_of(colours.back());
    std::string key;
    if (series.mark == Series::Mark::points) {
      key = cat("<circle cx=\"", number(at + 11), "\" cy=\"", number(top + 8), "\" r=\"3\" fill=\"",
                colour, "\"/>\n");
    } else {
      key = cat("<path class=\"line\" stroke=\"", colour, "\"",
                series.mark == Series::Mark::dashed ? " stroke-dasharray=\"6 4\"" : "", " d=\"M",
                number(at), " ", number(top + 8), "h22\"/>\n");
    }
    out += group_of(colours.back(), key + label(at + 27, top + 12, "start", series.name));
    at += wide;
  }
  if (at > 16) top += 22;

  double left = 0;
  for (const double tick : y.ticks()) left = std::max(left, text_width(tick_text(tick, y.log())));
  left += chart.y.label.empty() ? 16 : 34;
  const double right = width - 18, bottom = height - (chart.x.label.empty() ? 24 : 42);
  x.place(left, right);
  y.place(bottom, top);
  for (const double tick : y.ticks()) {
    out += cat("<path class=\"grid\" d=\"M", number(left), " ", number(y(tick)), "H", number(right),
               "\"/>\n");
    out += label(left - 6, y(tick) + 4, "end", tick_text(tick, y.log()), " class=\"soft\"");
  }
  for (const double tick : x.ticks()) {
    out += cat("<path class=\"grid\" d=\"M", number(x(tick)), " ", number(top), "V", number(bottom),
               "\"/>\n");
    out += label(x(tick), bottom + 16, "middle", tick_text(tick, x.log()), " class=\"soft\"");
  }
  out += cat("<rect class=\"frame\" x=\"", number(left), "\" y=\"", number(top), "\" width=\"",
             number(right - left), "\" height=\"", number(bottom - top), "\" data-x=\"", x.ends(),
             "\" data-y=\"", y.ends(), "\"/>\n");
  if (!chart.x.label.empty())
    out += label((left + right) / 2, height - 8, "middle", chart.x.label, " class=\"soft\"");
  if (!chart.y.label.empty()) out += sideways(14, (top + bottom) / 2, chart.y.label);
  for (size_t i = 0; i < chart.series.size(); ++i)
    out += group_of(colours[i], drawn(chart.series[i], x, y, colour_of(colours[i])),
                    cat(" data-name=\"", escaped_xml(chart.series[i].name), "\""));
  return out + "</svg>\n";
}

std::string svg(const HeatMap& map) {
  const auto rows = static_cast<size_t>(map.row_count),
             columns = static_cast<size_t>(map.column_count);
  if (map.values.size() != rows * columns)
    throw std::invalid_argument(cat("a heat map of ", rows, " x ", columns, " cells has ",
                                    map.values.size(), " values; give one for each cell"));
  if ((!map.rows.empty() && map.rows.size() != rows) ||
      (!map.columns.empty() && map.columns.size() != columns))
    throw std::invalid_argument(cat("a heat map of ", rows, " x ", columns, " cells has ",
                                    map.rows.size(), " and ", map.columns.size(),
                                    " labels; give one for each row and column, or none"));
  double low = map.lowest, high = map.highest;
  const auto shown = [&](double value) { return std::isfinite(value) && (!map.log || value > 0); };
  if (low == high) {
    low = kInfinity, high = -kInfinity;
    for (const double value : map.values)
      if (shown(value)) low = std::min(low, value), high = std::max(high, value);
  }
  if (low > high || rows == 0 || columns == 0) {
    return opened(320, 80, map.title) + label(160, 44, "middle", "no data", " class=\"soft\"") +
           "</svg>\n";
  }
  const auto part = [&](double value) {
    if (low == high) return 1.0;
    return map.log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  };

  const double cell = std::clamp(560.0 / static_cast<double>(std::max(rows, columns)), 1.0, 28.0);
  const size_t every = static_cast<size_t>(std::ceil(13 / cell));  // labels that do not overlap
  const double labels_left = longest(map.rows), labels_above = longest(map.columns);
  const double left =
      12 + (map.row_title.empty() ? 0 : 20) + (labels_left > 0 ? labels_left + 6 : 0);
  const double top = 8 + (map.title.empty() ? 0 : 24) + (map.column_title.empty() ? 0 : 20) +
                     (labels_above > 0 ? labels_above + 8 : 0);
  const double right = left + cell * static_cast<double>(columns);
  const double bottom = top + cell * static_cast<double>(rows);
  const double width = std::max({right + 90, text_width(map.title) * 1.25 + 16, 240.0});
  const double height = std::max(bottom + 12, top + 92);

  std::string out =
      opened(static_cast<int>(std::ceil(width)), static_cast<int>(std::ceil(height)), map.title);
  if (!map.title.empty()) out += label(12, 22, "start", map.title, " class=\"title\"");
  if (!map.column_title.empty())
    out += label((left + right) / 2, map.title.empty() ? 20 : 44, "middle", map.column_title,
                 " class=\"soft\"");
  if (!map.row_title.empty()) out += sideways(16, (top + bottom) / 2, map.row_title);
  for (size_t i = 0; i < map.rows.size(); i += every)
    out += label(left - 6, top + cell * (static_cast<double>(i) + 0.5) + 4, "end", map.rows[i]);
  for (size_t i = 0; i < map.columns.size(); i += every) {
    const double x = left + cell * (static_cast<double>(i) + 0.5) + 4, y = top - 6;
    out += label(x, y, "start", map.columns[i],
                 cat(" transform=\"rotate(-90 ", number(x), " ", number(y), ")\""));
  }

  const bool titles = rows * columns <= 4096;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const double value = map.values[r * columns + c];
      if (!shown(value)) continue;
      const std::string fill = shade(part(value));
      size_t end = c + 1;  // without titles, equal neighbours are one rectangle
      while (!titles && end < columns && shown(map.values[r * columns + end]) &&
             shade(part(map.values[r * columns + end])) == fill)
        ++end;
      out += cat("<rect x=\"", number(left + cell * static_cast<double>(c)), "\" y=\"",
                 number(top + cell * static_cast<double>(r)), "\" width=\"",
                 number(cell * static_cast<double>(end - c)), "\" height=\"", number(cell),
                 "\" fill=\"", fill, "\"");
      if (titles) {
        const std::string row = map.rows.empty() ? cat(r) : map.rows[r];
        const std::string column = map.columns.empty() ? cat(c) : map.columns[c];
        out += cat("><title>", escaped_xml(cat(row, ", ", column, ": ", value_text(value))),
                   "</title></rect>\n");
      } else {
        out += "/>\n";
      }
      c = end - 1;
    }
  }
  out += cat("<rect class=\"frame\" x=\"", number(left), "\" y=\"", number(top), "\" width=\"",
             number(right - left), "\" height=\"", number(bottom - top), "\"/>\n");

  // What the colours mean.
  constexpr int kSteps = 16;
  const double bar = right + 16, tall = std::clamp(bottom - top, 80.0, 160.0);
  for (int i = 0; i < kSteps; ++i)
    out += cat("<rect x=\"", number(bar), "\" y=\"", number(top + tall * i / kSteps),
               "\" width=\"12\" height=\"", number(tall / kSteps + 0.5), "\" fill=\"",
               shade(1 - (i + 0.5) / kSteps), "\"/>\n");
  out += label(bar + 17, top + 10, "start", value_text(high), " class=\"soft\"");
  out += label(bar + 17, top + tall, "start", value_text(low), " class=\"soft\"");
  return out + "</svg>\n";
}

}  // namespace zoo
