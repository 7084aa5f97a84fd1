#include "analysis/mean_field.h"

#include <cmath>
#include <numbers>

namespace zoo {
namespace {

// The mean of f(z) over z of N(0, 1). The trapezoidal rule is exact to the last digits for
// functions without a pole near the real line (Trefethen & Weideman 2014, section 5), unlike
// Gauss-Hermite nodes, of which the poles of tanh ask hundreds.
double normal_mean(auto&& f) {
  constexpr double kStep = 0.05;
  double sum = 0;
  for (int i = -200; i <= 200; ++i) {
    const double z = kStep * i;
    sum += std::exp(-z * z / 2) * f(z);
  }
  return sum * kStep / std::sqrt(2 * std::numbers::pi);
}

}  // namespace

MeanField mean_field_tanh(double weight, double input_variance) {
  MeanField found{.q = input_variance};
  for (int step = 0; step < 100'000; ++step) {
    const double spread = std::sqrt(found.q);
    const double next = weight * weight * normal_mean([&](double z) {
                          return std::pow(std::tanh(spread * z), 2);
                        }) +
                        input_variance;
    const double change = std::abs(next - found.q);
    found.q = next;
    if (change < 1e-14) break;
  }
  const double spread = std::sqrt(found.q);
  found.chi = weight * weight * normal_mean([&](double z) {
                const double value = std::tanh(spread * z);
                return std::pow(1 - value * value, 2);
              });
  return found;
}

}  // namespace zoo
