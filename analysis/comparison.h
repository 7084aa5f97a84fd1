#pragma once
// Trainings of one task against each other: loss by tokens, seconds and FLOPs, gradients by layer
// and by distance in time, scores by length, speed and memory. All of it is read from run folders
// (training/run_folder.h), whoever made them. No torch in this header.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/dynamics.h"
#include "analysis/report/run_record.h"

namespace zoo {

/// Scores of the lines whose reference has so many words.
struct LengthScore {
  int64_t shortest = 0, longest = 0;  ///< words; longest -1: no limit
  int64_t lines = 0;
  double bleu = 0, exact_match = 0;  ///< in percent
};

struct ComparedRun {
  RunRecord record;
  Dynamics dynamics;  ///< empty if the run holds none
  std::vector<LengthScore> by_length;

  std::string model() const;  ///< "transformer"
  /// The last value of a number in metrics.jsonl; NaN without one.
  double last(const std::string& curve) const;
  /// The best value of an evaluation's number.
  double best(const std::string& curve) const;
  double steps() const, seconds() const, tokens() const, flops() const;  ///< in all; NaN: unknown
  double tokens_per_second() const;  ///< the median of what the training reported
  double median_grad_norm() const;
  /// The most memory that the training held, in bytes, less what its process held before; NaN where
  /// that was not noted.
  double memory() const;
  double clipped() const;  ///< share of clipped steps, where the steps were looked into; else NaN
};

struct Comparison {
  std::vector<ComparedRun> runs;
  std::string budget;              ///< "steps=500"; empty: the runs were there already
  std::vector<std::string> notes;  ///< what to know when reading the numbers
};

/// Reads run folders. @throws DataError for a folder that holds no run; FormatError for a
/// dynamics.csv of another form
Comparison read_comparison(const std::vector<fs::path>& folders);

/// Refuses trainings that learn different things, and notes what else is not alike (batches,
/// seeds).
/// @throws ConfigError: other tasks, data or tokenizers, naming the first difference
void require_comparable(Comparison& comparison);
/// The same for two configs, before anything is trained. @param first, second names, for messages
void require_same_learning(const Json& config, const Json& other, const std::string& first,
                           const std::string& second);

/// A row for each quantity, a column for each run; the first row has their names.
std::vector<std::vector<std::string>> comparison_table(const Comparison& comparison);
/// The lengths' scores in the same form; empty if no run has any.
std::vector<std::vector<std::string>> length_table(const Comparison& comparison);

/// "run,step,tokens,seconds,flops,quantity,value", a line for each number of each metrics.jsonl.
std::string comparison_csv(const Comparison& comparison);
Json to_json(const Comparison& comparison);
/// File names and contents: loss-tokens.svg, loss-seconds.svg, loss-flops.svg, grad-norm.svg,
/// speed.svg, and where there is something to show length.svg, reach.svg and clipping.svg. Charts
/// by layer and group lie in the folder of each run.
std::vector<std::pair<std::string, std::string>> comparison_charts(const Comparison& comparison);

/// Writes compare.csv, compare.json and the charts into `folder`; of the gradients, too,
/// dynamics.csv and gradient_time.csv of all runs, with a first column "model". @throws DataError
void write_comparison(const Comparison& comparison, const fs::path& folder);

}  // namespace zoo
