#include "analysis/power_fit.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/error.h"

namespace zoo {

namespace {

constexpr double kConfidence = 0.95;

void require_equal_lengths(size_t x, size_t y, const char* where) {
  if (x != y) throw ShapeError(cat(where, ": found ", x, " x and ", y, " y; give as many of each"));
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0))
      throw NumericError(
          cat("power law: ", value, " has no logarithm; give numbers above 0, or leave it out"));
    logs.push_back(std::log(value));
  }
  return logs;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// P(|T| < sqrt(n) tan(angle)) with n degrees of freedom, by its finite series in the angle.
double student_probability(int64_t n, double angle) {
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool odd = n % 2 == 1;
  double term = odd ? cosine : 1, sum = 0;
  for (int64_t power = odd ? 1 : 0; power <= n - 2; power += 2) {
    sum += term;
    term *= cosine * cosine * static_cast<double>(power + 1) / static_cast<double>(power + 2);
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

}  // namespace

double student_t(int64_t degrees_of_freedom, double confidence) {
  if (degrees_of_freedom < 1 || !(confidence > 0 && confidence < 1))
    throw NumericError(cat("Student's t: ", degrees_of_freedom,
                           " degrees of freedom at confidence ", confidence,
                           "; allowed: at least 1, and 0 < confidence < 1"));
  double low = 0, high = std::numbers::pi / 2;
  while (true) {  // the probability rises with the angle
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (student_probability(degrees_of_freedom, middle) < confidence ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees_of_freedom)) * std::tan(low);
}

Fit fit_line(std::span<const double> x, std::span<const double> y) {
  require_equal_lengths(x.size(), y.size(), "line");
  const double x_mean = mean(x), y_mean = mean(y);
  double xx = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  if (!(xx > 0) || !std::isfinite(xx) || !std::isfinite(xy))
    throw NumericError(cat("line: ", x.size(),
                           " points determine none; give finite ones, of which two differ in x"));
  Fit fit;
  fit.slope = xy / xx;
  fit.intercept = y_mean - fit.slope * x_mean;
  double error = std::numeric_limits<double>::infinity();
  if (const auto freedom = std::ssize(x) - 2; freedom > 0) {
    double squares = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double distance = y[i] - fit.intercept - fit.slope * x[i];
      squares += distance * distance;
    }
    error =
        student_t(freedom, kConfidence) * std::sqrt(squares / static_cast<double>(freedom) / xx);
  }
  fit.low = fit.slope - error;
  fit.high = fit.slope + error;
  return fit;
}

Fit fit_power(std::span<const double> x, std::span<const double> y) {
  return fit_line(logarithms(x), logarithms(y));
}

std::optional<double> crossing(std::span<const double> x, std::span<const double> first,
                               std::span<const double> second) {
  require_equal_lengths(x.size(), first.size(), "crossing");
  require_equal_lengths(x.size(), second.size(), "crossing");
  const std::vector<double> at = logarithms(x), a = logarithms(first), b = logarithms(second);
  for (size_t i = 1; i < at.size(); ++i) {
    const double before = a[i - 1] - b[i - 1], after = a[i] - b[i];
    if (before * after > 0 || before == 0) continue;
    return std::exp(at[i - 1] + (at[i] - at[i - 1]) * before / (before - after));
  }
  return std::nullopt;
}

}  // namespace zoo
