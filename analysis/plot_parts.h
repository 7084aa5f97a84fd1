#pragma once
// What plot.cpp and plot_grid.cpp draw with.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::plot {

using Colour = std::array<uint8_t, 3>;  ///< red, green, blue

/// Of a value that lies `part` of the way from the lowest, 0, to the highest, 1: dark to light
/// through even steps in lightness.
Colour shade(double part);
std::string hex(const Colour& colour);  ///< "#rrggbb"

/// A value as a person writes it: 0.001 to 99,999 in figures, others as 2e-5.
std::string value_text(double value);

double text_width(const std::string& text);  ///< in pixels, about, of 12-pixel letters

/// The beginning of an `<svg>` element with the style of all charts. @param title what is said to
/// those who cannot see it
std::string opened(int width, int height, const std::string& title);
/// @param anchor "start", "middle" or "end"  @param more further attributes
std::string label(double x, double y, std::string_view anchor, const std::string& text,
                  std::string_view more = "");

}  // namespace zoo::plot
