#include "evaluation/exact_match.h"

#include <algorithm>

#include "core/error.h"

namespace zoo {

void ExactMatch::measure(std::string_view hypothesis, std::span<const std::string_view> references,
                         std::span<double> statistics) {
  const auto found = std::find(references.begin(), references.end(), hypothesis);
  statistics[0] = found == references.end() ? 0 : 1;
  statistics[1] = 1;
}

MetricScore ExactMatch::score(std::span<const double> sums) const {
  const auto count = [](double sum) { return std::to_string(static_cast<int64_t>(sum)); };
  return {"exact_match", sums[1] == 0 ? 0 : 100 * sums[0] / sums[1],
          cat("(", count(sums[0]), " of ", count(sums[1]), " lines)")};
}

std::vector<std::pair<std::string, std::string>> ExactMatch::settings() const {
  return {{"case", "mixed"}};
}

}  // namespace zoo
