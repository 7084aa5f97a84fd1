#pragma once
// Files of hypotheses and references, line by line: line i of each belongs to line i of the others.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/bootstrap.h"
#include "evaluation/metric.h"

namespace zoo {

struct HypothesisFiles {
  std::string hypotheses;               ///< a path; "-": standard input
  std::vector<std::string> references;  ///< at least one
};

/// Calls use(hypothesis, references) for each line, without white space at their ends.
/// @throws DataError if a file cannot be read, or if the files have not all the same number of
/// lines
void for_each_hypothesis(
    const HypothesisFiles& files,
    const std::function<void(std::string_view hypothesis,
                             std::span<const std::string_view> references)>& use);

/// Lines whose first reference has so many words.
struct LengthBucket {
  int64_t shortest = 0, longest = 0;  ///< words between white space; longest -1: no limit
  int64_t lines = 0;
  std::vector<double> sums;
};

struct ScoredMetric {
  std::vector<double> sums;
  LineStatistics lines;               ///< if asked for
  std::vector<LengthBucket> buckets;  ///< if asked for: 0–9, 10–19, … 50–59, 60 and more words
};

struct ScoreFilesOptions {
  bool keep_lines = false;
  bool by_length = false;
};

struct ScoredFiles {
  int64_t lines = 0;
  std::vector<ScoredMetric> metrics;  ///< in the order of the metrics given
  /// What makes the scores doubtful: text that looks tokenized, bytes that are no UTF-8.
  std::vector<std::string> notices;
};

/// Reads the files once, for all metrics. @throws DataError as above, or if there is no line
ScoredFiles score_files(const HypothesisFiles& files,
                        const std::vector<std::unique_ptr<Metric>>& metrics,
                        const ScoreFilesOptions& options = {});

}  // namespace zoo
