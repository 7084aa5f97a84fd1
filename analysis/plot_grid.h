#pragma once
// Heat maps side by side under one scale of colours, as SVG and as a picture of dots; both have the
// same layout. No torch here.

#include <string>
#include <vector>

#include "analysis/plot.h"
#include "data/image.h"

namespace zoo {

struct HeatMapGrid {
  std::string title;
  /// Rows of maps, each from left to right. The labels of a row, and the titles of its axes, are
  /// those of its first map. A map's `lowest`, `highest` and `log` are not read: the colours go
  /// evenly from 0, or a smaller value, to the largest value of all maps.
  std::vector<std::vector<HeatMap>> rows;
};

/// @return an `<svg>` element, complete as a file too. While all maps together have at most 4,096
/// cells, each has a `<title>` with labels and value; beyond, a map is an embedded PNG. Where cells
/// are too many to be seen, one stands for the largest of its neighbours
/// @throws std::invalid_argument if a map has not a value for each cell, or labels for some alone
std::string svg(const HeatMapGrid& grid);

/// The same in red, green and blue, with two dots for each pixel of the SVG, in letters of
/// analysis/bitmap_font.h.
Image picture(const HeatMapGrid& grid);

/// A picture as an `<svg>` element of its size. @param title what is said to those who cannot see
/// it
std::string svg(const Image& image, const std::string& title);

}  // namespace zoo
