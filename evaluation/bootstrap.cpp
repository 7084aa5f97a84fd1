#include "evaluation/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "evaluation/numpy_generator.h"

namespace zoo {

namespace {

/// Scores of each sample, for each system; all draw the same lines.
std::vector<std::vector<double>> resampled(const Metric& metric,
                                           const std::vector<const LineStatistics*>& systems,
                                           const BootstrapOptions& options) {
  const size_t width = metric.num_statistics();
  const size_t lines = systems[0]->size() / width;
  for (const LineStatistics* system : systems)
    if (lines == 0 || system->size() != lines * width)
      throw DataError(cat("bootstrap: found ", lines, " and ", system->size() / width,
                          " lines; all systems need the same number, at least 1"));
  std::vector<std::vector<double>> scores(systems.size());
  std::vector<double> sums(width * systems.size());
  NumpyGenerator generator(options.seed);
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t i = 0; i < lines; ++i) {
      const size_t line = generator.next_below(lines);
      for (size_t s = 0; s < systems.size(); ++s)
        for (size_t k = 0; k < width; ++k) sums[s * width + k] += (*systems[s])[line * width + k];
    }
    for (size_t s = 0; s < systems.size(); ++s)
      scores[s].push_back(metric.score(std::span(sums).subspan(s * width, width)).score);
  }
  return scores;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

ScoreInterval interval_of(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  const size_t left_out = scores.size() / 40;  // 2.5 % at each end
  return {mean_of(scores), (scores[scores.size() - 1 - left_out] - scores[left_out]) / 2};
}

double score_of(const Metric& metric, const LineStatistics& lines) {
  std::vector<double> sums(metric.num_statistics());
  for (size_t i = 0; i < lines.size(); ++i) sums[i % sums.size()] += lines[i];
  return metric.score(sums).score;
}

}  // namespace

ScoreInterval bootstrap_interval(const Metric& metric, const LineStatistics& lines,
                                 const BootstrapOptions& options) {
  return interval_of(resampled(metric, {&lines}, options)[0]);
}

PairedBootstrap paired_bootstrap(const Metric& metric, const LineStatistics& baseline,
                                 const LineStatistics& system, const BootstrapOptions& options) {
  const auto scores = resampled(metric, {&baseline, &system}, options);
  std::vector<double> differences(scores[0].size());
  for (size_t i = 0; i < differences.size(); ++i)
    differences[i] = std::abs(scores[1][i] - scores[0][i]);
  const double mean = mean_of(differences);
  const double observed = std::abs(score_of(metric, baseline) - score_of(metric, system));
  const auto beyond = std::count_if(differences.begin(), differences.end(),
                                    [&](double value) { return value - mean > observed; });
  return {interval_of(scores[0]), interval_of(scores[1]),
          static_cast<double>(beyond + 1) / static_cast<double>(differences.size() + 1)};
}

}  // namespace zoo
