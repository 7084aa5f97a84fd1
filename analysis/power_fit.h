#pragma once
// How a cost grows: straight lines and power laws through measurements, with the uncertainty of
// their slope. No torch in this header.

#include <cstdint>
#include <optional>
#include <span>

namespace zoo {

/// intercept + slope x.
struct Fit {
  double slope = 0, intercept = 0;
  /// Where the slope lies with 95 % confidence, if the points' distances from the line are
  /// independent and normal; with two points everywhere.
  double low = 0, high = 0;
};

/// Least squares with Student's t of n - 2 degrees of freedom (Draper & Smith 1998, "Applied
/// Regression Analysis", section 1.4).
/// @param x, y n >= 2 finite numbers each, of which two x differ
/// @throws ShapeError for unequal lengths, NumericError for points that determine no line
Fit fit_line(std::span<const double> x, std::span<const double> y);

/// The same of ln y over ln x, so that y = exp(intercept) x^slope: the slope is the exponent.
/// @throws as fit_line(); NumericError for a number that is not above 0
Fit fit_power(std::span<const double> x, std::span<const double> y);

/// Where the first of two costs stops being the larger or the smaller one: the x of the first such
/// change, by straight lines between neighbouring points in log-log; nothing if there is none.
/// @param x rising, above 0  @param first, second above 0, at these x
/// @throws as fit_power()
std::optional<double> crossing(std::span<const double> x, std::span<const double> first,
                               std::span<const double> second);

/// The t with P(|T| < t) = confidence for Student's T (Abramowitz & Stegun 1964, 26.7.3, 26.7.4).
/// @param degrees_of_freedom at least 1  @param confidence in (0, 1)
double student_t(int64_t degrees_of_freedom, double confidence);

}  // namespace zoo
