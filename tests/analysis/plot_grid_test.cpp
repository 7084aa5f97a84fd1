// Grids of heat maps, and the letters of dots.

#include "analysis/plot_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>

#include "analysis/bitmap_font.h"
#include "core/error.h"

namespace zoo {
namespace {

using Dots = std::set<std::pair<int64_t, int64_t>>;

Dots dots_of(std::string_view text) {
  Dots dots;
  for_each_dot(text, [&](int64_t x, int64_t y) { dots.emplace(x, y); });
  return dots;
}

TEST(BitmapFont, LettersDifferAndKeepToTheirCell) {
  std::set<Dots> seen;
  for (char letter = ' '; letter <= '~'; ++letter) {
    const Dots dots = dots_of(std::string(1, letter));
    EXPECT_TRUE(seen.insert(dots).second) << letter << " looks like another one";
    EXPECT_EQ(dots.empty(), letter == ' ') << letter;
    for (const auto& [x, y] : dots) {
      EXPECT_TRUE(x >= 0 && x < 5) << letter;
      EXPECT_TRUE(y >= -7 && y <= 1) << letter;
    }
  }
  EXPECT_EQ(dots_of("H").size(), 17);  // two bars of 7 and the 3 between
  EXPECT_EQ(width_in_dots("H▁"), 2 * kLetterAdvance);
  EXPECT_EQ(*dots_of(" H").begin(), std::pair(kLetterAdvance, int64_t{-7}));
}

TEST(BitmapFont, AccentsStandOnTheirLetters) {
  EXPECT_EQ(dots_of("é"), dots_of("e\u0301"));  // composed or not
  EXPECT_EQ(width_in_dots("e\u0301"), kLetterAdvance);
  Dots small = dots_of("u"), capital = dots_of("U");
  small.insert({{1, -7}, {3, -7}});
  capital.insert({{1, -9}, {3, -9}});
  EXPECT_EQ(dots_of("ü"), small);
  EXPECT_EQ(dots_of("Ü"), capital);
  const Dots dotless = dots_of("í");
  EXPECT_FALSE(dotless.contains({2, -7}) && dotless.contains({2, -5})) << "the accent is its dot";
  EXPECT_EQ(dots_of("Ġ"), dots_of("G\u0307"));
}

TEST(BitmapFont, WhatItLacksIsAFrame) {
  EXPECT_EQ(dots_of("模"), dots_of("\xFF"));
  EXPECT_EQ(dots_of("模").size(), 20);
}

HeatMap two_by_three(const std::string& title) {
  return {.title = title,
          .row_title = "query",
          .column_title = "key",
          .rows = {"<a>", "b"},
          .columns = {"x", "y", "z"},
          .row_count = 2,
          .column_count = 3,
          .values = {0, 0.5, 1, 0.25, 0.75, 0}};
}

int64_t count(const std::string& text, const std::string& part) {
  int64_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(HeatMapGrid, SvgHasATitleForEachCellAndOneScale) {
  HeatMap larger = two_by_three("second");
  larger.values[2] = 2;
  const HeatMapGrid grid{.title = "all", .rows = {{two_by_three("first"), larger}}};
  const std::string text = svg(grid);
  EXPECT_EQ(count(text, "<title>"), 12);
  EXPECT_EQ(count(text, "<title>&lt;a&gt;, z: 1</title>"), 1);
  EXPECT_EQ(count(text, "fill=\"#fde725\"><title>&lt;a&gt;, z: 2<"), 1) << "the largest of all";
  EXPECT_EQ(count(text, "fill=\"#440154\"><title>&lt;a&gt;, x: 0<"), 2) << "the smallest of all";
  EXPECT_EQ(count(text, ">first<"), 1);
  EXPECT_EQ(count(text, ">&lt;a&gt;<"), 1) << "labels stand once in a row of maps";
  EXPECT_EQ(count(text, ">x<"), 2) << "and above each map";
  EXPECT_EQ(svg(grid), text);
}

TEST(HeatMapGrid, ColumnsAreNamedAgainWhereTheyChange) {
  HeatMap other = two_by_three("");
  other.columns = {"u", "v", "w"};
  const HeatMapGrid same{.title = "", .rows = {{two_by_three("")}, {two_by_three("")}}};
  const HeatMapGrid changed{.title = "", .rows = {{two_by_three("")}, {other}}};
  EXPECT_EQ(count(svg(same), ">x<"), 1);
  EXPECT_EQ(count(svg(changed), ">x<") + count(svg(changed), ">u<"), 2);
}

HeatMap large(int64_t size) {
  HeatMap map{.title = "large", .row_count = size, .column_count = size, .values = {}};
  map.values.assign(static_cast<size_t>(size * size), 0);
  map.values[static_cast<size_t>(size + 1)] = 1;
  return map;
}

TEST(HeatMapGrid, ManyCellsAreAPicture) {
  const std::string text = svg(HeatMapGrid{.title = "", .rows = {{large(70)}}});
  EXPECT_EQ(count(text, "href=\"data:image/png;base64,iVBORw0KGgo"), 1);
  EXPECT_EQ(count(text, "<title>"), 1);
  // More cells than can be seen: the file stays small, and the largest value is seen.
  const HeatMapGrid huge{.title = "", .rows = {{large(3000)}}};
  EXPECT_LT(svg(huge).size(), 100'000);
  const Image image = picture(huge);
  bool found = false;
  for (int64_t y = 0; y < image.height; ++y)
    for (int64_t x = 0; x < image.width / 2; ++x) {
      const uint8_t* pixel = image.at(y, x);
      found = found || (pixel[0] == 253 && pixel[1] == 231 && pixel[2] == 37);
    }
  EXPECT_TRUE(found);
}

TEST(HeatMapGrid, PictureHasTheSvgsLayout) {
  const HeatMapGrid grid{.title = "all", .rows = {{two_by_three("")}}};
  const std::string text = svg(grid);
  const Image image = picture(grid);
  std::smatch size;
  ASSERT_TRUE(std::regex_search(text, size, std::regex("viewBox=\"0 0 ([0-9]+) ([0-9]+)\"")));
  EXPECT_EQ(image.width, 2 * std::stoll(size[1]));
  EXPECT_EQ(image.height, 2 * std::stoll(size[2]));
  EXPECT_EQ(image.channels, 3);
  // The middle of every cell has its colour.
  const std::regex cell(
      "<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\"[^>]* "
      "fill=\"#(..)(..)(..)\"><title>");
  int64_t cells = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), cell), end; it != end; ++it, ++cells) {
    const double side = std::stod((*it)[3]);
    const uint8_t* pixel = image.at(std::llround(2 * (std::stod((*it)[2]) + side / 2)),
                                    std::llround(2 * (std::stod((*it)[1]) + side / 2)));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(pixel[i], std::stoi((*it)[4 + i], nullptr, 16));
  }
  EXPECT_EQ(cells, 6);
}

TEST(HeatMapGrid, WithoutMapsSaysSo) {
  EXPECT_EQ(count(svg(HeatMapGrid{.title = "t", .rows = {}}), "no data"), 1);
  EXPECT_GT(picture(HeatMapGrid{}).width, 0);
}

TEST(HeatMapGrid, RefusesWhatDoesNotFit) {
  const auto message = [](const HeatMap& map) -> std::string {
    try {
      svg(HeatMapGrid{.title = "", .rows = {{map}}});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  HeatMap few = two_by_three("");
  few.values.pop_back();
  EXPECT_NE(message(few).find("2 x 3 cells has 5 values"), std::string::npos);
  HeatMap unnamed = two_by_three("");
  unnamed.rows.pop_back();
  EXPECT_NE(message(unnamed).find("1 and 3 labels"), std::string::npos);
}

TEST(PictureAsSvg, IsEmbedded) {
  const std::string text = svg(Image::black(3, 4, 5), "a & b");
  EXPECT_EQ(count(text, "width=\"5\" height=\"4\""), 2);
  EXPECT_EQ(count(text, "a &amp; b"), 2);
  EXPECT_EQ(count(text, "data:image/png;base64,"), 1);
}

}  // namespace
}  // namespace zoo
