#include "analysis/plot_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "analysis/bitmap_font.h"
#include "analysis/plot_parts.h"
#include "core/error.h"
#include "core/text.h"
#include "data/image_file.h"

namespace zoo {

namespace {

constexpr double kMargin = 12, kGap = 14;  // pixels
constexpr double kLetterHeight = 12;       // of a line of labels
constexpr double kSideAlone = 560;         // a map's longer side where there is one alone
constexpr double kWidthOfAll = 1040, kSmallestSide = 96, kLargestSide = 280;
constexpr double kLargestCell = 28;
constexpr int64_t kDots = 2;  // of a picture, for each pixel of the SVG
constexpr int64_t kCellsWithTitles = 4096;
constexpr double kBarWidth = 12, kBarHeight = 120;

enum class Style { label, soft, title };

struct PlacedText {
  double x, y;  ///< of the base line
  std::string_view anchor;
  Style style;
  bool upwards;  ///< turned to the left by 90 degrees about (x, y)
  std::string text;
};

struct PlacedMap {
  double x, y, cell;
  HeatMap map;        ///< no more cells than can be seen
  bool whole = true;  ///< its cells are those of the given map, and so are its labels
};

/// All that is to be drawn.
struct Drawing {
  std::string title;
  double width = 0, height = 0;
  std::vector<PlacedText> texts;
  std::vector<PlacedMap> maps;
  double low = 0, high = 0;
  double bar_x = 0, bar_y = 0;

  double part(double value) const { return low == high ? 1 : (value - low) / (high - low); }
};

std::string number(double value) { return fixed(value, 2); }

void require_complete(const HeatMap& map) {
  const auto fits = [](const std::vector<std::string>& labels, int64_t count) {
    return labels.empty() || std::ssize(labels) == count;
  };
  if (std::ssize(map.values) != map.row_count * map.column_count ||
      !fits(map.rows, map.row_count) || !fits(map.columns, map.column_count))
    throw std::invalid_argument(
        cat("a heat map of ", map.row_count, " x ", map.column_count, " cells has ",
            map.values.size(), " values and ", map.rows.size(), " and ", map.columns.size(),
            " labels; give one value for each cell, and a label for each row and column or none"));
}

double longest(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, plot::text_width(label));
  return width;
}

/// Squares of factor x factor cells become one with the largest value, so that thin lines remain.
HeatMap pooled(const HeatMap& map, int64_t factor) {
  HeatMap small;
  small.title = map.title;
  small.row_count = (map.row_count + factor - 1) / factor;
  small.column_count = (map.column_count + factor - 1) / factor;
  small.values.assign(static_cast<size_t>(small.row_count * small.column_count),
                      std::numeric_limits<double>::quiet_NaN());
  for (int64_t row = 0; row < map.row_count; ++row)
    for (int64_t column = 0; column < map.column_count; ++column) {
      double& most =
          small.values[static_cast<size_t>(row / factor * small.column_count + column / factor)];
      most = std::fmax(most, map.values[static_cast<size_t>(row * map.column_count + column)]);
    }
  return small;
}

class Layout {
 public:
  explicit Layout(const HeatMapGrid& grid) {
    drawing_.title = grid.title;
    size_t columns = 1, count = 0;
    for (const auto& row : grid.rows) {
      columns = std::max(columns, row.size());
      count += row.size();
      for (const HeatMap& map : row) {
        require_complete(map);
        set_scale(map);
      }
    }
    if (drawing_.low > drawing_.high) drawing_.low = drawing_.high = 0;
    side_ = count <= 1 ? kSideAlone
                       : std::clamp(kWidthOfAll / static_cast<double>(columns), kSmallestSide,
                                    kLargestSide);
    place_titles(grid);
    const double top = y_;
    const HeatMap* above = nullptr;
    for (const auto& row : grid.rows) {
      if (row.empty()) continue;
      place_row(row, above);
      above = &row.front();
    }
    place_bar(top);
  }

  const Drawing& drawing() const { return drawing_; }

 private:
  void set_scale(const HeatMap& map) {
    for (const double value : map.values) {
      if (!std::isfinite(value)) continue;
      low_ = std::min(low_, value);
      high_ = std::max(high_, value);
    }
    drawing_.low = low_;
    drawing_.high = high_;
  }

  void text(double x, double y, std::string_view anchor, Style style, const std::string& text,
            bool upwards = false) {
    if (!text.empty()) drawing_.texts.push_back({x, y, anchor, style, upwards, text});
  }

  void place_titles(const HeatMapGrid& grid) {
    y_ = kMargin;
    if (!grid.title.empty()) {
      text(kMargin, y_ + 10, "start", Style::title, grid.title);
      title_right_ = kMargin + 1.2 * plot::text_width(grid.title);
      y_ += 24;
    }
    left_ = kMargin;
    for (const auto& row : grid.rows) {
      if (row.empty()) continue;
      const double titles = row.front().row_title.empty() ? 0 : 20;
      const double labels = row.front().rows.empty() ? 0 : longest(row.front().rows) + 6;
      left_ = std::max(left_, kMargin + titles + labels);
    }
  }

  /// @param above the first map of the row above, or null
  void place_row(const std::vector<HeatMap>& row, const HeatMap* above) {
    const HeatMap& first = row.front();
    const auto most =
        static_cast<double>(std::max({first.row_count, first.column_count, int64_t{1}}));
    const auto factor = static_cast<int64_t>(std::ceil(most / (kDots * side_)));
    const double shown = std::ceil(most / static_cast<double>(factor));
    const double cell = std::min(side_ / shown, kLargestCell);
    const double step = cell / static_cast<double>(factor);  // from one label to the next
    const auto every = static_cast<size_t>(std::ceil(kLetterHeight / step));

    const bool titles =
        std::any_of(row.begin(), row.end(), [](const HeatMap& map) { return !map.title.empty(); });
    const bool new_columns = above == nullptr || above->columns != first.columns ||
                             above->column_title != first.column_title;
    if (new_columns && !first.column_title.empty()) {
      text(left_, y_ + 10, "start", Style::soft, first.column_title);
      y_ += 18;
    }
    const double title_y = y_ + 10;
    if (titles) y_ += 16;
    const double labels = new_columns && !first.columns.empty() ? longest(first.columns) + 8 : 0;
    y_ += labels;

    double x = left_;
    for (const HeatMap& map : row) {
      text(x, title_y, "start", Style::soft, map.title);
      if (labels > 0)
        for (size_t i = 0; i < first.columns.size(); i += every)
          text(x + step * (static_cast<double>(i) + 0.5) + 4, y_ - 5, "start", Style::label,
               first.columns[i], /*upwards=*/true);
      PlacedMap placed{x, y_, cell, factor == 1 ? map : pooled(map, factor), factor == 1};
      const double width = cell * static_cast<double>(placed.map.column_count);
      right_ = std::max(right_, x + std::max(width, plot::text_width(map.title)));
      x += std::max(width, plot::text_width(map.title)) + kGap;
      drawing_.maps.push_back(std::move(placed));
    }
    for (size_t i = 0; i < first.rows.size(); i += every)
      text(left_ - 6, y_ + step * (static_cast<double>(i) + 0.5) + 4, "end", Style::label,
           first.rows[i]);
    const double height = cell * static_cast<double>(drawing_.maps.back().map.row_count);
    text(kMargin + 6, y_ + height / 2, "middle", Style::soft, first.row_title, /*upwards=*/true);
    y_ += height + kGap;
  }

  /// What the colours mean, at the right.
  void place_bar(double top) {
    if (drawing_.maps.empty()) {
      text(kMargin, y_ + 10, "start", Style::soft, "no data");
      drawing_.width = std::max(title_right_ + kMargin, 160.0);
      drawing_.height = y_ + 24;
      return;
    }
    drawing_.bar_x = right_ + 16;
    drawing_.bar_y = top;
    const double x = drawing_.bar_x + kBarWidth + 5;
    const std::string high = plot::value_text(drawing_.high), low = plot::value_text(drawing_.low);
    text(x, top + 10, "start", Style::soft, high);
    text(x, top + kBarHeight, "start", Style::soft, low);
    drawing_.width = std::ceil(std::max(x + longest({high, low}), title_right_) + kMargin);
    drawing_.height = std::ceil(std::max(y_ - kGap, top + kBarHeight) + kMargin);
  }

  Drawing drawing_;
  double side_ = 0, left_ = 0, right_ = 0, title_right_ = 0, y_ = 0;
  double low_ = 0, high_ = -std::numeric_limits<double>::infinity();
};

// ---- SVG ---------------------------------------------------------------------------------------

std::string embedded(const Image& image) {
  return "data:image/png;base64," + base64(encode_png(image));
}

std::string cells_with_titles(const Drawing& drawing, const PlacedMap& placed) {
  const HeatMap& map = placed.map;
  const auto name = [](const std::vector<std::string>& labels, int64_t i) {
    return labels.empty() ? cat(i) : labels[static_cast<size_t>(i)];
  };
  std::string out;
  for (int64_t row = 0; row < map.row_count; ++row)
    for (int64_t column = 0; column < map.column_count; ++column) {
      const double value = map.values[static_cast<size_t>(row * map.column_count + column)];
      if (!std::isfinite(value)) continue;
      out += cat("<rect x=\"", number(placed.x + placed.cell * static_cast<double>(column)),
                 "\" y=\"", number(placed.y + placed.cell * static_cast<double>(row)),
                 "\" width=\"", number(placed.cell), "\" height=\"", number(placed.cell),
                 "\" fill=\"", plot::hex(plot::shade(drawing.part(value))), "\"><title>",
                 escaped_xml(cat(name(map.rows, row), ", ", name(map.columns, column), ": ",
                                 plot::value_text(value))),
                 "</title></rect>\n");
    }
  return out;
}

/// A pixel for each cell.
Image pixels(const Drawing& drawing, const HeatMap& map) {
  Image image = Image::black(3, map.row_count, map.column_count);
  for (size_t i = 0; i < map.values.size(); ++i) {
    const plot::Colour colour = std::isfinite(map.values[i])
                                    ? plot::shade(drawing.part(map.values[i]))
                                    : plot::Colour{255, 255, 255};
    std::copy(colour.begin(), colour.end(), image.pixels.begin() + 3 * static_cast<int64_t>(i));
  }
  return image;
}

std::string svg_of(const Drawing& drawing) {
  std::string out = plot::opened(static_cast<int>(drawing.width), static_cast<int>(drawing.height),
                                 drawing.title);
  int64_t cells = 0;
  bool whole = true;
  for (const PlacedMap& placed : drawing.maps) {
    cells += std::ssize(placed.map.values);
    whole = whole && placed.whole;
  }
  for (const PlacedMap& placed : drawing.maps) {
    const double width = placed.cell * static_cast<double>(placed.map.column_count),
                 height = placed.cell * static_cast<double>(placed.map.row_count);
    const std::string place =
        cat(" x=\"", number(placed.x), "\" y=\"", number(placed.y), "\" width=\"", number(width),
            "\" height=\"", number(height), "\"");
    if (whole && cells <= kCellsWithTitles) {
      out += cells_with_titles(drawing, placed);
    } else {
      out += cat("<image", place, " preserveAspectRatio=\"none\"",
                 placed.cell >= 1 ? " style=\"image-rendering:pixelated\"" : "", " href=\"",
                 embedded(pixels(drawing, placed.map)), "\"><title>", escaped_xml(placed.map.title),
                 "</title></image>\n");
    }
    out += cat("<rect class=\"frame\"", place, "/>\n");
  }
  for (const PlacedText& text : drawing.texts) {
    std::string more;
    if (text.style == Style::title) more += " class=\"title\"";
    if (text.style == Style::soft) more += " class=\"soft\"";
    if (text.upwards)
      more += cat(" transform=\"rotate(-90 ", number(text.x), " ", number(text.y), ")\"");
    out += plot::label(text.x, text.y, text.anchor, text.text, more);
  }
  if (!drawing.maps.empty()) {
    constexpr int kSteps = 16;
    for (int i = 0; i < kSteps; ++i)
      out += cat("<rect x=\"", number(drawing.bar_x), "\" y=\"",
                 number(drawing.bar_y + kBarHeight * i / kSteps), "\" width=\"", kBarWidth,
                 "\" height=\"", number(kBarHeight / kSteps + 0.5), "\" fill=\"",
                 plot::hex(plot::shade(1 - (i + 0.5) / kSteps)), "\"/>\n");
  }
  return out + "</svg>\n";
}

// ---- dots --------------------------------------------------------------------------------------

class Dots {
 public:
  explicit Dots(const Drawing& drawing)
      : image_(Image::black(3, at(drawing.height), at(drawing.width))) {
    std::fill(image_.pixels.begin(), image_.pixels.end(), 255);
    for (const PlacedMap& placed : drawing.maps) draw(drawing, placed);
    if (!drawing.maps.empty()) {
      for (int64_t i = 0; i < at(kBarHeight); ++i)
        fill(at(drawing.bar_x), at(drawing.bar_y) + i, at(drawing.bar_x + kBarWidth),
             at(drawing.bar_y) + i + 1,
             plot::shade(1 - static_cast<double>(i) / static_cast<double>(at(kBarHeight) - 1)));
    }
    for (const PlacedText& text : drawing.texts) draw(text);
  }

  Image take() { return std::move(image_); }

 private:
  static int64_t at(double pixels) { return std::llround(pixels * kDots); }

  /// From (left, top) to before (right, bottom).
  void fill(int64_t left, int64_t top, int64_t right, int64_t bottom, const plot::Colour& colour) {
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min(bottom, image_.height); ++y)
      for (int64_t x = std::max<int64_t>(left, 0); x < std::min(right, image_.width); ++x)
        std::copy(colour.begin(), colour.end(), image_.at(y, x));
  }

  void draw(const Drawing& drawing, const PlacedMap& placed) {
    const HeatMap& map = placed.map;
    const auto column_at = [&](int64_t i) {
      return at(placed.x + placed.cell * static_cast<double>(i));
    };
    const auto row_at = [&](int64_t i) {
      return at(placed.y + placed.cell * static_cast<double>(i));
    };
    fill(column_at(0) - 1, row_at(0) - 1, column_at(map.column_count) + 1,
         row_at(map.row_count) + 1, kSoft);
    const Image cells = pixels(drawing, map);
    for (int64_t row = 0; row < map.row_count; ++row)
      for (int64_t column = 0; column < map.column_count; ++column) {
        const uint8_t* pixel = cells.at(row, column);
        fill(column_at(column), row_at(row), column_at(column + 1), row_at(row + 1),
             {pixel[0], pixel[1], pixel[2]});
      }
  }

  void draw(const PlacedText& text) {
    const int64_t width = width_in_dots(text.text);
    const int64_t shift = text.anchor == "end" ? -width : text.anchor == "middle" ? -width / 2 : 0;
    const plot::Colour& colour = text.style == Style::soft ? kSoft : kInk;
    const int64_t bold = text.style == Style::title ? 1 : 0;  // wider by as much
    for_each_dot(text.text, [&](int64_t x, int64_t y) {
      const int64_t along = (x + shift) * kDots, across = y * kDots;
      if (text.upwards) {
        const int64_t left = at(text.x) + across, bottom = at(text.y) - along;
        fill(left, bottom - kDots - bold, left + kDots, bottom, colour);
      } else {
        const int64_t left = at(text.x) + along, top = at(text.y) + across;
        fill(left, top, left + kDots + bold, top + kDots, colour);
      }
    });
  }

  // Those of the SVG on light paper.
  static constexpr plot::Colour kInk{0x1f, 0x23, 0x28}, kSoft{0x59, 0x63, 0x6e};
  Image image_;
};

}  // namespace

std::string svg(const HeatMapGrid& grid) { return svg_of(Layout(grid).drawing()); }

Image picture(const HeatMapGrid& grid) { return Dots(Layout(grid).drawing()).take(); }

std::string svg(const Image& image, const std::string& title) {
  return cat(plot::opened(static_cast<int>(image.width), static_cast<int>(image.height), title),
             "<image width=\"", image.width, "\" height=\"", image.height, "\" href=\"",
             embedded(image), "\"><title>", escaped_xml(title), "</title></image>\n</svg>\n");
}

}  // namespace zoo
