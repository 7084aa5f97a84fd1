#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace zoo {

/// Of the finite ones; of an even number of them the mean of the middle two. NaN without any.
inline double median(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace zoo
