#include "evaluation/metric.h"

#include <cstdio>
#include <cstdlib>

#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

double rounded(double value, int digits) {
  return std::strtod(fixed(value, digits).c_str(), nullptr);
}

}  // namespace

std::string metric_signature(const Metric& metric, const SignatureParts& parts) {
  std::string signature = cat("nrefs:", parts.references);
  if (parts.bootstrap_samples) signature += cat("|bs:", *parts.bootstrap_samples);
  if (parts.seed) signature += cat("|seed:", *parts.seed);
  for (const auto& [name, value] : metric.settings()) signature += cat("|", name, ":", value);
  return signature;
}

std::string score_line(const MetricScore& score, const std::string& signature, int digits,
                       const std::optional<ScoreInterval>& interval) {
  std::string line = cat(score.name, "|", signature, " = ", fixed(score.score, digits));
  if (interval)
    line += cat(" (μ = ", fixed(interval->mean, digits), " ± ", fixed(interval->half_width, digits),
                ")");
  return score.details.empty() ? line : cat(line, " ", score.details);
}

Json score_json(const MetricScore& score, const std::string& signature, std::optional<int> digits,
                const std::optional<ScoreInterval>& interval) {
  const auto number = [&](double value) { return digits ? rounded(value, *digits) : value; };
  Json json{{"name", score.name}, {"score", number(score.score)}, {"signature", signature}};
  if (interval) {
    json["confidence_mean"] = number(interval->mean);
    json["confidence_var"] = number(interval->half_width);
    json["confidence"] = cat("μ = ", fixed(interval->mean, digits.value_or(2)), " ± ",
                             fixed(interval->half_width, digits.value_or(2)));
  }
  if (!score.details.empty()) json["verbose_score"] = score.details;
  for (const std::string& part : split(signature, '|')) {
    const size_t colon = part.find(':');
    json[part.substr(0, colon)] = part.substr(colon + 1);
  }
  return json;
}

void MetricTotal::add(std::string_view hypothesis, std::span<const std::string_view> references) {
  metric_->measure(hypothesis, references, line_);
  add(line_);
}

void MetricTotal::add(std::span<const double> statistics) {
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += statistics[i];
}

}  // namespace zoo
