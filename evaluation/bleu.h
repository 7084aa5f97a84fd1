#pragma once
// BLEU (Papineni et al. 2002, "BLEU: a method for automatic evaluation of machine translation",
// section 2), of a corpus or of a sentence:
//
//   BLEU = BP · exp(1/N · Σ ln pₙ),  BP = 1 if the hypotheses are at least as long as the
//   references,
//                                        else exp(1 − reference length / hypothesis length)
//
// pₙ: of the hypotheses' n-grams, the share that a reference of the line has as well, each counted
// at most as often as in the reference that has it most often. Of several references the one
// nearest in length gives the line's reference length; of two as near, the shorter one.

#include <array>
#include <cstdint>

#include "evaluation/bleu_tokenizer.h"
#include "evaluation/metric.h"
#include "evaluation/ngrams.h"

namespace zoo {

/// What a precision without matches counts as (Chen & Cherry 2014, "A systematic comparison of
/// smoothing techniques for sentence-level BLEU").
enum class BleuSmoothing {
  exponential,  ///< "exp": 1/2, 1/4, … match for the first, second, … such order (method 3)
  floor,        ///< "floor": a match of `smooth_value` (method 1)
  add_k,        ///< "add-k": `smooth_value` more matches and n-grams for n > 1 (method 2)
  none,         ///< "none": the score is 0
};

struct BleuOptions {
  BleuTokenization tokenization = BleuTokenization::v13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smooth_value;  ///< default: 0.1 for floor, 1 for add-k
  bool effective_order = false;  ///< leave out orders longer than all hypotheses; for sentences
};

struct BleuScore {
  static constexpr size_t kMaxOrder = 4;
  double score = 0;                            ///< 0 … 100
  std::array<double, kMaxOrder> precisions{};  ///< in percent, smoothed
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;  ///< tokens
};

/// Statistics of a line: length of the hypothesis, of the reference, matches for n = 1 … 4,
/// n-grams.
class Bleu : public Metric {
 public:
  explicit Bleu(const BleuOptions& options = {});

  size_t num_statistics() const override { return 2 + 2 * BleuScore::kMaxOrder; }
  void measure(std::string_view hypothesis, std::span<const std::string_view> references,
               std::span<double> statistics) override;
  MetricScore score(std::span<const double> sums) const override;
  std::vector<std::pair<std::string, std::string>> settings() const override;

  BleuScore bleu(std::span<const double> sums) const;

 private:
  std::string_view prepared(std::string_view line, std::string& lower_cased) const;

  BleuOptions options_;
  double smooth_value_;
  BleuTokenizer tokenize_hypothesis_, tokenize_reference_;
  std::string lower_hypothesis_, lower_reference_;
  WordNumbers words_;
  std::vector<uint32_t> hypothesis_, reference_;
  NgramMatcher matcher_{BleuScore::kMaxOrder};
};

}  // namespace zoo
