#pragma once
// Metrics that compare texts: BLEU, chrF, TER, ROUGE. Each line is measured on its own into a few
// numbers, the scores of a corpus follow from their sums. So lines stream through, parts of a
// corpus can be added, and bootstrap resampling or scores by length need no second pass over the
// text.
//
// Definitions, names, signatures, lines of text and JSON are those of sacreBLEU (Post 2018, "A call
// for clarity in reporting BLEU scores"), release 2.6.0; docs/metrics.md says what is equal to
// what.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"

namespace zoo {

/// The release whose definitions BLEU, chrF and TER follow, and name in their signatures.
inline constexpr const char* kSacrebleuVersion = "2.6.0";

struct MetricScore {
  std::string name;     ///< "BLEU", "chrF2++", "TER", "rougeL"
  double score = 0;     ///< in percent
  std::string details;  ///< what stands behind the score in sacreBLEU's line; may be empty
};

class Metric {
 public:
  virtual ~Metric() = default;

  /// How many numbers a line gives.
  virtual size_t num_statistics() const = 0;
  /// Measures one line. Not for several threads at a time: a metric keeps its working memory.
  /// @param references at least one  @param statistics num_statistics() numbers, overwritten
  virtual void measure(std::string_view hypothesis, std::span<const std::string_view> references,
                       std::span<double> statistics) = 0;
  /// The score of the lines whose statistics were added up.
  virtual MetricScore score(std::span<const double> sums) const = 0;
  /// The signature's parts behind those of all metrics: ("case", "mixed"), …, ("version", "2.6.0").
  virtual std::vector<std::pair<std::string, std::string>> settings() const = 0;
  virtual bool small_is_better() const { return false; }
};

/// What a score was made with; all who print the same string have computed the same thing.
struct SignatureParts {
  size_t references = 1;
  std::optional<int64_t> bootstrap_samples = {};
  std::optional<int64_t> seed = {};  ///< of the bootstrap
};
/// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
std::string metric_signature(const Metric& metric, const SignatureParts& parts);

/// Mean of bootstrap scores, and half the width of the interval that holds 95 % of them.
struct ScoreInterval {
  double mean = 0, half_width = 0;
};

/// sacreBLEU's line: "BLEU|nrefs:1|… = 48.5 82.4/50.0/… (BP = …)".
/// @param digits after the decimal point (sacreBLEU: 1)
std::string score_line(const MetricScore& score, const std::string& signature, int digits,
                       const std::optional<ScoreInterval>& interval = std::nullopt);
/// sacreBLEU's object: name, score, signature, [confidence_mean, confidence_var, confidence,]
/// verbose_score where there are details, then the parts of the signature as strings.
/// @param digits to which numbers are rounded (sacreBLEU: 1); none: not rounded
Json score_json(const MetricScore& score, const std::string& signature, std::optional<int> digits,
                const std::optional<ScoreInterval>& interval = std::nullopt);

/// Sums over the lines of a corpus, or a part of one.
class MetricTotal {
 public:
  explicit MetricTotal(Metric& metric)
      : metric_(&metric), sums_(metric.num_statistics()), line_(metric.num_statistics()) {}

  void add(std::string_view hypothesis, std::span<const std::string_view> references);
  void add(std::string_view hypothesis, std::string_view reference) {
    add(hypothesis, std::span(&reference, 1));
  }
  void add(std::span<const double> statistics);  ///< of a line that was measured already
  void merge(const MetricTotal& other) { add(other.sums_); }
  MetricScore score() const { return metric_->score(sums_); }
  std::span<const double> sums() const { return sums_; }

 private:
  Metric* metric_;
  std::vector<double> sums_, line_;
};

}  // namespace zoo
