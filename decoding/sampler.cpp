#include "decoding/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "core/error.h"

namespace zoo {

namespace {

/// The largest logit. @throws NumericError, ConfigError
float checked_max(std::span<const float> logits) {
  float best = -std::numeric_limits<float>::infinity();
  bool has_nan = false;
  for (const float logit : logits) {
    has_nan |= std::isnan(logit);
    best = std::max(best, logit);
  }
  if (has_nan || best == std::numeric_limits<float>::infinity())
    throw NumericError(
        "sampling: the logits hold NaN or infinity; the weights are broken or the dtype is too "
        "narrow: check the checkpoint, or use float32");
  if (best == -std::numeric_limits<float>::infinity())
    throw ConfigError(
        "sampling: every token is forbidden; loosen ban, logit_bias, no_repeat_ngram_size or "
        "min_new_tokens");
  return best;
}

double total_probability(std::span<const Candidate> candidates) {
  double total = 0;
  for (const Candidate& candidate : candidates) total += candidate.probability;
  return total;
}

/// The last member of the smallest set that holds the mass `needed`, taking candidates in the total
/// order `before`. Linear on average: halves the range by selection instead of sorting it.
template <class Before>
Candidate last_needed(std::span<Candidate> candidates, double needed, Before before) {
  auto low = candidates.begin(), high = candidates.end();
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, before);
    const double mass = total_probability({low, middle});
    if (mass >= needed) {
      high = middle;
    } else {
      needed -= mass;
      low = middle;
    }
  }
  return *low;
}

}  // namespace

void Sampler::keep_top_k(std::span<const float> logits, double best) {
  kept_.clear();
  const auto keep = [&](size_t id) {
    if (std::isinf(logits[id])) return;  // forbidden
    const double logit = (logits[id] - best) / options_.temperature;
    kept_.push_back({static_cast<int64_t>(id), logit, std::exp(logit)});
  };
  if (options_.top_k == 0 || options_.top_k >= std::ssize(logits)) {
    for (size_t id = 0; id < logits.size(); ++id) keep(id);
    return;
  }
  top_.resize(static_cast<size_t>(options_.top_k));
  std::partial_sort_copy(logits.begin(), logits.end(), top_.begin(), top_.end(), std::greater<>());
  const float lowest = top_.back();
  // Of the tokens that share the lowest logit, only the first ones fit.
  auto ties = top_.end() - std::lower_bound(top_.begin(), top_.end(), lowest, std::greater<>());
  for (size_t id = 0; id < logits.size(); ++id)
    if (logits[id] > lowest || (logits[id] == lowest && ties-- > 0)) keep(id);
}

void Sampler::keep_top_p(double total) {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
  };
  // Tokens below this probability hold less than 1 - top_p together, so the set ends before them.
  const double negligible = (1 - options_.top_p) * total / static_cast<double>(kept_.size());
  scratch_.clear();
  for (const Candidate& candidate : kept_)
    if (candidate.probability >= negligible) scratch_.push_back(candidate);
  if (scratch_.empty()) return;  // a uniform distribution, and rounding
  const Candidate last = last_needed(scratch_, options_.top_p * total, before);
  std::erase_if(kept_, [&](const Candidate& candidate) { return before(last, candidate); });
}

void Sampler::keep_typical(double total) {
  // How far a token's information content, -log p, lies from the entropy (Meister et al. 2023,
  // section 3).
  const double log_total = std::log(total);
  double entropy = 0;
  for (const Candidate& candidate : kept_)
    entropy += candidate.probability / total * (log_total - candidate.logit);
  const auto before = [&](const Candidate& a, const Candidate& b) {
    const double first = std::abs(log_total - a.logit - entropy);
    const double second = std::abs(log_total - b.logit - entropy);
    return first != second ? first < second : a.id < b.id;
  };
  scratch_ = kept_;
  const Candidate last = last_needed(scratch_, options_.typical_p * total, before);
  std::erase_if(kept_, [&](const Candidate& candidate) { return before(last, candidate); });
}

std::span<const Candidate> Sampler::candidates(std::span<const float> logits) {
  keep_top_k(logits, checked_max(logits));
  if (options_.top_p < 1) keep_top_p(total_probability(kept_));
  if (options_.min_p > 0)  // the best token has the weight 1 here
    std::erase_if(kept_, [&](const Candidate& c) { return c.probability < options_.min_p; });
  if (options_.typical_p < 1) keep_typical(total_probability(kept_));
  const double total = total_probability(kept_);
  for (Candidate& candidate : kept_) candidate.probability /= total;
  return kept_;
}

int64_t Sampler::choose(std::span<const float> logits, double uniform) {
  if (greedy()) {
    checked_max(logits);
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  const std::span<const Candidate> kept = candidates(logits);
  double below = 0;
  for (const Candidate& candidate : kept) {
    below += candidate.probability;
    if (uniform < below) return candidate.id;
  }
  // The probabilities summed to a little less than 1: the last token that has any.
  for (auto candidate = kept.rbegin(); candidate != kept.rend(); ++candidate)
    if (candidate->probability > 0) return candidate->id;
  return kept.front().id;
}

}  // namespace zoo
