// Charts: what stands in the SVG and where.
#include "analysis/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <stdexcept>

namespace zoo {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The numbers of the only polyline's points: x, y, x, y, …
std::vector<double> line_of(const std::string& text) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex("<polyline[^>]* points=\"([^\"]*)\"")));
  std::vector<double> numbers;
  const std::string points = found[1];
  const std::regex figure("[-0-9.]+");
  for (std::sregex_iterator it(points.begin(), points.end(), figure), end; it != end; ++it)
    numbers.push_back(std::stod(it->str()));
  return numbers;
}

int64_t count(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Plot, PlacesValuesInProportion) {
  const LineChart chart{.title = "t", .series = {{"a", {0, 1, 4}, {0, 10, 20}}}};
  const std::vector<double> at = line_of(svg(chart));
  ASSERT_EQ(at.size(), 6U);
  EXPECT_NEAR((at[4] - at[0]) / (at[2] - at[0]), 4, 1e-3);  // coordinates have two digits
  EXPECT_NEAR((at[5] - at[1]) / (at[3] - at[1]), 2, 1e-3);
  EXPECT_LT(at[5], at[1]) << "larger values stand higher";
}

TEST(Plot, LogarithmsMakeDecadesEven) {
  const LineChart chart{.y = {"", true}, .series = {{"a", {0, 1, 2}, {1e-6, 1e-3, 1}}}};
  const std::string text = svg(chart);
  const std::vector<double> at = line_of(text);
  EXPECT_NEAR(at[1] - at[3], at[3] - at[5], 0.02);
  EXPECT_NE(text.find(">10⁻⁶<"), std::string::npos);
}

TEST(Plot, LeavesOutWhatHasNoPlace) {
  const LineChart gaps{.series = {{"a", {0, 1, 2, 3, 4}, {1, 2, kNan, 3, 4}}}};
  EXPECT_EQ(count(svg(gaps), "<polyline"), 2) << "NaN makes a gap";
  const LineChart zero{.y = {"", true}, .series = {{"a", {0, 1, 2}, {0, 1, 10}}}};
  EXPECT_EQ(line_of(svg(zero)).size(), 4U) << "0 has no logarithm";
  EXPECT_NE(svg(LineChart{}).find("no data"), std::string::npos);
  EXPECT_NE(svg(LineChart{.series = {{"a", {1}, {kNan}}}}).find("no data"), std::string::npos);
  EXPECT_EQ(svg(LineChart{.series = {{"a", {5}, {7}}}}).find("nan"), std::string::npos)
      << "one value has a range too";
}

TEST(Plot, ThinsLongLinesButKeepsTheirPeaks) {
  Series series{"a"};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i == 54'321 ? 100 : i % 2);
  }
  const std::vector<double> at = line_of(svg(LineChart{.series = {series}}));
  EXPECT_LT(at.size(), 2U * 4 * 640);
  double top = 1e9, second = 1e9;
  for (size_t i = 1; i < at.size(); i += 2) {
    if (at[i] < top)
      second = top, top = at[i];
    else if (at[i] > top)
      second = std::min(second, at[i]);
  }
  EXPECT_LT(top, second - 100) << "the one peak is there";
}

TEST(Plot, EscapesText) {
  EXPECT_EQ(escaped_xml("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escaped_xml(std::string("\x01\xFFz\n", 4)), "\uFFFD\uFFFDz\n");
  const std::string text = svg(LineChart{.title = "</svg><script>", .series = {{"<i>", {1}, {1}}}});
  EXPECT_EQ(count(text, "<script"), 0);
  EXPECT_EQ(count(text, "</svg>"), 1);
}

TEST(Plot, HeatMapHasACellForEachValue) {
  HeatMap map;
  map.title = "m";
  map.rows = {"r0", "r<1>"};
  map.columns = {"a", "b", "c"};
  map.row_count = 2, map.column_count = 3;
  map.values = {0, 0.25, 0.5, kNan, 0.75, 1};
  const std::string text = svg(map);
  EXPECT_EQ(count(text, "<title>"), 5);
  EXPECT_NE(text.find("r&lt;1&gt;, c: 1<"), std::string::npos);
  EXPECT_NE(text.find("fill=\"#440154\"><title>r0, a: 0<"), std::string::npos);
  EXPECT_NE(text.find("fill=\"#fde725\"><title>r&lt;1&gt;, c: 1<"), std::string::npos);
}

TEST(Plot, RefusesWhatDoesNotFit) {
  EXPECT_THROW(svg(LineChart{.series = {{"a", {1, 2}, {1}}}}), std::invalid_argument);
  HeatMap map;
  map.row_count = map.column_count = 2;
  map.values = {1, 2, 3};
  EXPECT_THROW(svg(map), std::invalid_argument);
  map.values = {1, 2, 3, 4};
  map.rows = {"only one"};
  EXPECT_THROW(svg(map), std::invalid_argument);
}

TEST(Plot, LargeNumbersAreShort) {
  const std::string chart =
      svg(LineChart{.y = {.log = true}, .series = {{"a", {0, 6e11}, {1, 1e6}}}});
  for (const char* label : {">200 G<", ">400 G<", ">10⁴<", ">100<"})
    EXPECT_NE(chart.find(label), std::string::npos) << label;
}

TEST(Plot, IsTheSameEachTime) {
  const LineChart chart{.title = "t", .series = {{"a", {0, 1}, {0.1, 0.2}}}};
  EXPECT_EQ(svg(chart), svg(chart));
}

}  // namespace
}  // namespace zoo
