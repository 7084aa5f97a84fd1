#pragma once
// ROUGE (Lin 2004, "ROUGE: a package for automatic evaluation of summaries", sections 2 and 3), as
// Google's rouge-score 0.1.2 computes it without its stemmer: lower-cased words of a-z and 0-9.
//
//   P = shared / hypothesis,  R = shared / reference,  F = 2 P R / (P + R)
//
// in n-grams (ROUGE-N) or in words of the longest common subsequence (ROUGE-L). Of several
// references the one with the best F counts; a corpus has the mean over its lines, in percent.
// On single lines rougeLsum is the same as rougeL.

#include <cstdint>

#include "evaluation/metric.h"
#include "evaluation/ngrams.h"

namespace zoo {

enum class RougeKind { rouge1, rouge2, rouge_l };

/// Statistics of a line: precision, recall, F, and 1 for the line itself.
class Rouge : public Metric {
 public:
  explicit Rouge(RougeKind kind = RougeKind::rouge_l);

  size_t num_statistics() const override { return 4; }
  void measure(std::string_view hypothesis, std::span<const std::string_view> references,
               std::span<double> statistics) override;
  MetricScore score(std::span<const double> sums) const override;
  std::vector<std::pair<std::string, std::string>> settings() const override;

 private:
  /// Numbers of the words; those of a reference may be unknown.
  void read(std::string_view text, std::string& kept, std::vector<uint32_t>& words,
            bool is_hypothesis);
  size_t longest_common_subsequence();  ///< of hypothesis_ and reference_

  RougeKind kind_;
  std::string hypothesis_text_, reference_text_;
  std::vector<uint32_t> hypothesis_, reference_;
  WordNumbers numbers_;
  NgramMatcher matcher_;
  std::vector<double> matches_;
  std::vector<uint64_t> places_, row_;
};

}  // namespace zoo
