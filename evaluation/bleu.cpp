#include "evaluation/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "core/unicode.h"

namespace zoo {

namespace {

constexpr size_t kOrders = BleuScore::kMaxOrder;
constexpr double kLogOfZero = -9999999999;  // sacreBLEU's; its exponential is 0

double default_smooth_value(BleuSmoothing smoothing) {
  return smoothing == BleuSmoothing::floor ? 0.1 : 1;
}

template <class... Values>
std::string formatted(const char* pattern, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

}  // namespace

Bleu::Bleu(const BleuOptions& options)
    : options_(options),
      smooth_value_(options.smooth_value.value_or(default_smooth_value(options.smoothing))),
      tokenize_hypothesis_(options.tokenization),
      tokenize_reference_(options.tokenization) {}

std::string_view Bleu::prepared(std::string_view line, std::string& lower_cased) const {
  if (options_.lowercase) {
    lower_cased.clear();
    append_lower_case(line, lower_cased);
    line = lower_cased;
  }
  return trim_unicode_end(line);
}

void Bleu::measure(std::string_view hypothesis, std::span<const std::string_view> references,
                   std::span<double> statistics) {
  std::fill(statistics.begin(), statistics.end(), 0.0);
  const std::span<double> matches = statistics.subspan(2, kOrders);
  const std::span<double> totals = statistics.subspan(2 + kOrders, kOrders);

  words_.clear();
  hypothesis_.clear();
  for_each_word(tokenize_hypothesis_(prepared(hypothesis, lower_hypothesis_)),
                [&](std::string_view word) { hypothesis_.push_back(words_.add(word)); });
  const auto length = static_cast<int64_t>(hypothesis_.size());
  matcher_.set_hypothesis(hypothesis_);

  int64_t nearest = -1;
  for (const std::string_view reference : references) {
    reference_.clear();
    for_each_word(tokenize_reference_(prepared(reference, lower_reference_)),
                  [&](std::string_view word) { reference_.push_back(words_.find(word)); });
    matcher_.match(reference_, matches);
    const auto other = static_cast<int64_t>(reference_.size());
    const int64_t distance = std::abs(length - other), best = std::abs(length - nearest);
    if (nearest < 0 || distance < best || (distance == best && other < nearest)) nearest = other;
  }
  statistics[0] = static_cast<double>(length);
  statistics[1] = static_cast<double>(nearest);
  for (size_t n = 0; n < kOrders; ++n)
    totals[n] = static_cast<double>(std::max<int64_t>(0, length - static_cast<int64_t>(n)));
}

BleuScore Bleu::bleu(std::span<const double> sums) const {
  BleuScore result;
  const double hypothesis_length = sums[0], reference_length = sums[1];
  result.hypothesis_length = std::llround(hypothesis_length);
  result.reference_length = std::llround(reference_length);
  if (hypothesis_length < reference_length)
    result.brevity_penalty =
        hypothesis_length > 0 ? std::exp(1 - reference_length / hypothesis_length) : 0;

  const auto matches = sums.subspan(2, kOrders), totals = sums.subspan(2 + kOrders, kOrders);
  if (std::all_of(matches.begin(), matches.end(), [](double count) { return count == 0; }))
    return result;
  double exponential = 1;
  size_t order = kOrders;
  for (size_t n = 0; n < kOrders; ++n) {
    const double more = options_.smoothing == BleuSmoothing::add_k && n > 0 ? smooth_value_ : 0;
    const double matched = matches[n] + more, total = totals[n] + more;
    if (total == 0) break;
    if (options_.effective_order) order = n + 1;
    double& precision = result.precisions[n];
    if (matched != 0) {
      precision = 100 * matched / total;
    } else if (options_.smoothing == BleuSmoothing::exponential) {
      exponential *= 2;
      precision = 100 / (exponential * total);
    } else if (options_.smoothing == BleuSmoothing::floor) {
      precision = 100 * smooth_value_ / total;
    }
  }
  double logs = 0;
  for (size_t n = 0; n < order; ++n) {
    const double precision = result.precisions[n];
    logs += precision == 0 ? kLogOfZero : std::log(precision);
  }
  result.score = result.brevity_penalty * std::exp(logs / static_cast<double>(order));
  return result;
}

MetricScore Bleu::score(std::span<const double> sums) const {
  const BleuScore result = bleu(sums);
  std::string details;
  for (const double precision : result.precisions)
    details += formatted(details.empty() ? "%.1f" : "/%.1f", precision);
  const double ratio = result.reference_length == 0
                           ? 0
                           : static_cast<double>(result.hypothesis_length) /
                                 static_cast<double>(result.reference_length);
  details +=
      formatted(" (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)", result.brevity_penalty,
                ratio, static_cast<long long>(result.hypothesis_length),
                static_cast<long long>(result.reference_length));
  return {"BLEU", result.score, details};
}

std::vector<std::pair<std::string, std::string>> Bleu::settings() const {
  std::string smoothing;
  switch (options_.smoothing) {
    case BleuSmoothing::exponential:
      smoothing = "exp";
      break;
    case BleuSmoothing::floor:
      smoothing = formatted("floor[%.2f]", smooth_value_);
      break;
    case BleuSmoothing::add_k:
      smoothing = formatted("add-k[%.2f]", smooth_value_);
      break;
    case BleuSmoothing::none:
      smoothing = "none";
  }
  return {{"case", options_.lowercase ? "lc" : "mixed"},
          {"eff", options_.effective_order ? "yes" : "no"},
          {"tok", name_of(options_.tokenization)},
          {"smooth", smoothing},
          {"version", kSacrebleuVersion}};
}

}  // namespace zoo
