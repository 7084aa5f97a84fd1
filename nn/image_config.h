#pragma once
// How a picture becomes a model's input. No torch in this header.

#include <array>
#include <string>
#include <vector>

#include "core/fields.h"

namespace zoo {

/// How a picture gets other sizes. When it gets smaller, each filter is widened so that every pixel
/// counts.
enum class Interpolation { nearest, bilinear, bicubic, lanczos };
template <>
struct EnumNames<Interpolation> {
  static constexpr std::array values{
      std::pair{Interpolation::nearest, "nearest"}, std::pair{Interpolation::bilinear, "bilinear"},
      std::pair{Interpolation::bicubic, "bicubic"}, std::pair{Interpolation::lanczos, "lanczos"}};
};

struct ImageInputConfig {
  std::vector<double> mean = {0.5};
  std::vector<double> std = {0.5};
  double crop_pct = 1;
  Interpolation interpolation = Interpolation::bilinear;

  void fields(auto&& visit) {
    visit("mean", mean,
          "taken from each colour, on a scale of 0 to 1: a number for each, or one for all");
    visit("std", std, positive(), "what the rest is divided by: a number for each, or one for all");
    visit("crop_pct", crop_pct, between(0, 1),
          "a picture is resized until its middle's part of this share, measured along the shorter "
          "side, has the model's size, and that part is cut out; 0: the whole picture is squeezed "
          "into the model's size");
    visit("interpolation", interpolation, "how it is resized");
  }
};

}  // namespace zoo
