#pragma once
// chrF (Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation") and, with
// words, chrF++ (Popović 2017): the F-score of precision and recall averaged over orders,
//
//   chrFβ = 100 · (1 + β²) P R / (β² P + R)
//
// where P and R are the shares of the hypothesis' and the reference's n-grams that match. Of
// several references the one with the best score of the line counts.

#include <array>
#include <cstdint>
#include <vector>

#include "evaluation/metric.h"
#include "evaluation/ngrams.h"

namespace zoo {

struct ChrfOptions {
  int64_t char_order = 6;  ///< longest n-grams of characters; at least 1
  int64_t word_order = 0;  ///< longest n-grams of words; 2: chrF++
  int64_t beta = 2;        ///< recall weighs β times as much as precision
  bool lowercase = false;
  bool whitespace = false;  ///< white space counts as characters
  bool eps_smoothing =
      false;  ///< F-scores averaged over all orders, as chrF++.py, NLTK and Moses do
};

/// Statistics of a line: for each order n-grams of the hypothesis, of the reference, matches.
class Chrf : public Metric {
 public:
  /// @throws ConfigError for orders below 1 (characters) or 0 (words), or a beta below 1
  explicit Chrf(const ChrfOptions& options = {});

  size_t num_statistics() const override { return 3 * num_orders(); }
  void measure(std::string_view hypothesis, std::span<const std::string_view> references,
               std::span<double> statistics) override;
  MetricScore score(std::span<const double> sums) const override;
  std::vector<std::pair<std::string, std::string>> settings() const override;

 private:
  /// A line as characters and as words.
  struct Line {
    std::string lower_cased;
    std::vector<uint32_t> characters, words;
  };

  size_t num_orders() const {
    return static_cast<size_t>(options_.char_order + options_.word_order);
  }
  void read(std::string_view text, Line& line, bool is_hypothesis);
  double f_score(std::span<const double> sums) const;

  ChrfOptions options_;
  Line hypothesis_, reference_;
  WordNumbers numbers_;
  NgramMatcher characters_, words_;
  std::vector<double> candidate_, matches_;
};

}  // namespace zoo
