#include "evaluation/make_metric.h"

#include "core/error.h"
#include "core/text.h"
#include "evaluation/exact_match.h"
#include "evaluation/rouge.h"

namespace zoo {

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names = {
      "bleu", "chrf", "chrf++", "ter", "rouge", "rouge1", "rouge2", "rougeL", "exact_match"};
  return names;
}

std::unique_ptr<Metric> make_metric(const std::string& name, const MetricOptions& options) {
  if (name == "bleu") return std::make_unique<Bleu>(options.bleu);
  if (name == "chrf") return std::make_unique<Chrf>(options.chrf);
  if (name == "chrf++") {
    ChrfOptions with_words = options.chrf;
    with_words.word_order = 2;
    return std::make_unique<Chrf>(with_words);
  }
  if (name == "ter") return std::make_unique<Ter>(options.ter);
  if (name == "rouge" || name == "rougeL") return std::make_unique<Rouge>(RougeKind::rouge_l);
  if (name == "rouge1") return std::make_unique<Rouge>(RougeKind::rouge1);
  if (name == "rouge2") return std::make_unique<Rouge>(RougeKind::rouge2);
  if (name == "exact_match") return std::make_unique<ExactMatch>();
  const std::string guess = nearest(name, metric_names());
  throw ConfigError(cat("unknown metric \"", name, "\"",
                        guess.empty() ? "; " : cat("; did you mean \"", guess, "\"? "),
                        "allowed: ", join(metric_names(), ", ")));
}

}  // namespace zoo
