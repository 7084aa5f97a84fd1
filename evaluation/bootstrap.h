#pragma once
// Bootstrap resampling (Koehn 2004, "Statistical significance tests for machine translation
// evaluation"): the score of corpora that are drawn, with replacement, from the lines of this one.
// The draws are those of sacreBLEU 2.6.0, NumPy's default generator, so that the same seed gives
// the same intervals and p-values.

#include <cstdint>
#include <vector>

#include "evaluation/metric.h"

namespace zoo {

struct BootstrapOptions {
  int64_t samples = 1000;
  uint64_t seed = 12345;  ///< sacreBLEU's, unless its environment says otherwise
};

/// The statistics of each line: num_statistics() numbers a line.
using LineStatistics = std::vector<double>;

/// Mean and 95 % interval of the resampled scores.
/// @throws DataError if there is no line
ScoreInterval bootstrap_interval(const Metric& metric, const LineStatistics& lines,
                                 const BootstrapOptions& options);

struct PairedBootstrap {
  ScoreInterval baseline, system;
  /// Share of samples, counted with one more, in which the difference of the scores is further from
  /// its mean than the difference of the whole corpora from 0: how likely chance alone does as
  /// much.
  double p_value = 1;
};

/// The same lines are drawn for both systems. @throws DataError for no or unequally many lines
PairedBootstrap paired_bootstrap(const Metric& metric, const LineStatistics& baseline,
                                 const LineStatistics& system, const BootstrapOptions& options);

}  // namespace zoo
