#pragma once
// Metrics by name.

#include <memory>
#include <string>
#include <vector>

#include "evaluation/bleu.h"
#include "evaluation/chrf.h"
#include "evaluation/metric.h"
#include "evaluation/ter.h"

namespace zoo {

struct MetricOptions {
  BleuOptions bleu;
  ChrfOptions chrf;  ///< of "chrf"; "chrf++" has a word_order of 2
  TerOptions ter;
};

/// "bleu", "chrf", "chrf++", "ter", "rouge" (which is rougeL), "rouge1", "rouge2", "rougeL",
/// "exact_match"
const std::vector<std::string>& metric_names();

/// @throws ConfigError for a name that is none of metric_names()
std::unique_ptr<Metric> make_metric(const std::string& name, const MetricOptions& options = {});

}  // namespace zoo
