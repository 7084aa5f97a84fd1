#pragma once
// The share of lines that equal one of their references, byte by byte, in percent: the score of
// tasks with one right answer.

#include "evaluation/metric.h"

namespace zoo {

/// Statistics of a line: 1 if it is equal, and 1 for the line itself.
class ExactMatch : public Metric {
 public:
  size_t num_statistics() const override { return 2; }
  void measure(std::string_view hypothesis, std::span<const std::string_view> references,
               std::span<double> statistics) override;
  MetricScore score(std::span<const double> sums) const override;
  std::vector<std::pair<std::string, std::string>> settings() const override;
};

}  // namespace zoo
