#pragma once
// TER (Snover et al. 2006, "A study of translation edit rate with targeted human annotation",
// section 3): edits that make the hypothesis the reference, over words of the reference. An edit is
// a word inserted, deleted or replaced, or a run of words shifted as one. The search for shifts is
// greedy, in the order and with the limits of tercom as sacreBLEU 2.6.0 has it: runs of at most 10
// words, moved over at most 50, 1000 candidates a line, an edit distance near the diagonal only.
// Of several references the one with the fewest edits counts, their mean length divides.

#include <cstdint>
#include <string>
#include <vector>

#include "evaluation/metric.h"
#include "evaluation/ngrams.h"

namespace zoo {

struct TerOptions {
  bool normalized = false;     ///< take punctuation from words, undo XML's escapes
  bool no_punct = false;       ///< leave out . , ? : ; ! " ( )
  bool asian_support = false;  ///< with the two above: Chinese and Japanese characters as words,
                               ///< and their punctuation
  bool case_sensitive = false;
};

/// Edits between two lines of numbered words.
class ShiftSearch {
 public:
  /// @return edits, each shift counted as one
  int64_t edits(const std::vector<uint32_t>& hypothesis, const std::vector<uint32_t>& reference);

 private:
  using Words = std::vector<uint32_t>;

  /// A run of words of the hypothesis, where the reference has it as well.
  struct Run {
    size_t start, reference_start, length;
  };
  struct Shift {
    int gain = 0;
    size_t length = 0, start = 0, target = 0;
  };

  bool find_best_shift(const Words& reference, Shift& best);
  void try_targets(const Run& run, const Words& reference, Shift& best, bool& found);
  void fill_table(const Words& reference, size_t first_row);
  void align();
  int cost_of_shifted(const Shift& shift, const Words& reference);
  void fill_row(size_t i, uint32_t word, const Words& reference, const int* above, int* row,
                char* operations) const;
  static void shift_words(const Words& words, const Shift& shift, Words& shifted);

  Words words_, shifted_;  // the hypothesis after the shifts so far; a candidate
  size_t rows_ = 0, width_ = 0;
  std::vector<int> costs_;  // (rows_ + 1, width_): of words_ so far against the reference so far
  std::vector<char> operations_;  // the last edit of each cell
  std::vector<int> row_a_, row_b_;
  std::vector<char> path_;
  std::vector<int64_t> aligned_;  // for each word of the reference the last one of words_ up to it
  std::vector<int> wrong_words_, wrong_references_;  // how many before each place
  int64_t candidates_ = 0;
};

/// Statistics of a line: edits, mean length of the references.
class Ter : public Metric {
 public:
  explicit Ter(const TerOptions& options = {}) : options_(options) {}

  size_t num_statistics() const override { return 2; }
  void measure(std::string_view hypothesis, std::span<const std::string_view> references,
               std::span<double> statistics) override;
  MetricScore score(std::span<const double> sums) const override;
  std::vector<std::pair<std::string, std::string>> settings() const override;
  bool small_is_better() const override { return true; }

 private:
  std::string_view tokenized(std::string_view line, std::string& text);
  std::string_view tokenized_twice(std::string_view line);
  void normalize(std::string& text);

  TerOptions options_;
  std::string hypothesis_text_, reference_text_, once_, spaced_, next_;
  std::vector<uint32_t> hypothesis_, reference_;
  WordNumbers numbers_;
  ShiftSearch search_;
};

}  // namespace zoo
