#pragma once
// Charts as SVG text: lines over axes, and heat maps. No torch, no scripts and no fonts of their
// own in the picture, so that it is the same in a browser, in a report and on paper; colours follow
// the page's light or dark theme. The same chart gives the same bytes.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zoo {

struct Axis {
  std::string label;  ///< with its unit
  bool log = false;   ///< values of 0 or less are left out then
};

struct Series {
  enum class Mark { line, dashed, points, faint };
  std::string name;          ///< in the legend; empty: not there
  std::vector<double> x, y;  ///< of equal length; NaN and infinity make a gap
  Mark mark = Mark::line;
  int colour =
      -1;  ///< number in the palette of 8, so that a theory has its measurement's; -1: next
};

struct LineChart {
  std::string title;  ///< drawn above; empty: not there
  Axis x, y;
  std::vector<Series> series;
  std::string alt;                ///< for those who cannot see it; empty: the title
  bool legend = true;             ///< false where the page around it has one
  int width = 640, height = 400;  ///< in CSS pixels
};

/// @return an `<svg>` element, complete as a file too; a chart without a point says "no data". What
/// belongs to a series is in groups of the class "p" and its colour's number, that of its points
/// with its name (data-name), and the frame says which values its sides are (data-x, data-y: "0
/// 100" or "1 100 log"), so that a page can hide series and read values off the picture.
/// @throws std::invalid_argument if a series has not as many x as y
std::string svg(const LineChart& chart);

struct HeatMap {
  std::string title;
  std::string row_title, column_title;
  std::vector<std::string> rows, columns;  ///< labels: all of them, or none
  int64_t row_count = 0, column_count = 0;
  std::vector<double> values;      ///< row by row; NaN: no cell
  double lowest = 0, highest = 0;  ///< of the colours; equal: those of the values
  bool log = false;                ///< colours by the logarithm
};

/// @return an `<svg>` element; each cell has a `<title>` with labels and value while there are at
/// most 4,096 of them, so that pointing at one shows it
std::string svg(const HeatMap& map);

/// The `<style>` element in each picture, the same in all.
std::string_view plot_style();

/// Text for XML and HTML: & < > " ' as entities; control characters, which XML forbids, and what is
/// not UTF-8 as U+FFFD.
std::string escaped_xml(std::string_view text);

}  // namespace zoo
