#include "decoding/processors.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace zoo {

namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

/// Calls use(token, count) for each distinct token.
template <class Use>
void for_each_distinct(std::span<const int64_t> tokens, Use use) {
  std::vector<int64_t> sorted(tokens.begin(), tokens.end());
  std::sort(sorted.begin(), sorted.end());
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    use(*first, last - first);
    first = last;
  }
}

std::span<const int64_t> last_n(std::span<const int64_t> tokens, int64_t n) {
  return n < 0 || n >= std::ssize(tokens) ? tokens : tokens.last(static_cast<size_t>(n));
}

void require_id(int64_t id, int64_t vocab_size, const char* option) {
  if (id < 0 || id >= vocab_size)
    throw ConfigError(
        cat(option, ": id ", id, " is outside the vocabulary; allowed: 0 to ", vocab_size - 1));
}

}  // namespace

void penalize_repetition(std::span<float> logits, std::span<const int64_t> history,
                         double penalty) {
  for_each_distinct(history, [&](int64_t token, int64_t) {
    float& logit = logits[static_cast<size_t>(token)];
    logit = static_cast<float>(logit > 0 ? logit / penalty : logit * penalty);
  });
}

void penalize_counts(std::span<float> logits, std::span<const int64_t> history, double presence,
                     double frequency) {
  for_each_distinct(history, [&](int64_t token, int64_t count) {
    logits[static_cast<size_t>(token)] -=
        static_cast<float>(presence + frequency * static_cast<double>(count));
  });
}

void forbid_repeated_ngrams(std::span<float> logits, std::span<const int64_t> history,
                            int64_t size) {
  const int64_t context = size - 1;
  if (std::ssize(history) < context) return;
  const auto tail = history.last(static_cast<size_t>(context));
  for (int64_t start = 0; start + context < std::ssize(history); ++start)
    if (std::equal(tail.begin(), tail.end(), history.begin() + start))
      logits[static_cast<size_t>(history[static_cast<size_t>(start + context)])] = kForbidden;
}

void forbid_sequences(std::span<float> logits, std::span<const int64_t> history,
                      const std::vector<std::vector<int64_t>>& sequences) {
  for (const std::vector<int64_t>& sequence : sequences) {
    const size_t context = sequence.size() - 1;
    if (history.size() < context) continue;
    const auto tail = history.last(context);
    if (std::equal(tail.begin(), tail.end(), sequence.begin()))
      logits[static_cast<size_t>(sequence.back())] = kForbidden;
  }
}

LogitsProcessors::LogitsProcessors(const GenerationOptions& options, std::optional<int64_t> eos,
                                   int64_t vocab_size) {
  std::vector<std::pair<int64_t, float>> biases;
  std::vector<int64_t> banned;
  for (const auto& [id, bias] : options.logit_bias) {
    require_id(id, vocab_size, "logit_bias");
    if (std::isinf(bias))
      banned.push_back(id);
    else if (bias != 0)
      biases.emplace_back(id, static_cast<float>(bias));
  }
  for (const std::vector<int64_t>& sequence : options.banned_sequences)
    for (const int64_t id : sequence) require_id(id, vocab_size, "banned_sequences");

  const int64_t seen = options.repeat_last_n;
  if (!biases.empty())
    adjust_.push_back([biases](std::span<float> logits, const RowHistory&) {
      for (const auto& [id, bias] : biases) logits[static_cast<size_t>(id)] += bias;
    });
  if (options.repetition_penalty != 1)
    adjust_.push_back([seen, penalty = options.repetition_penalty](std::span<float> logits,
                                                                   const RowHistory& history) {
      penalize_repetition(logits, last_n(history.tokens, seen), penalty);
    });
  if (options.presence_penalty != 0 || options.frequency_penalty != 0)
    adjust_.push_back(
        [seen, presence = options.presence_penalty, frequency = options.frequency_penalty](
            std::span<float> logits, const RowHistory& history) {
          penalize_counts(logits, last_n(history.tokens, seen), presence, frequency);
        });

  if (!banned.empty())
    forbid_.push_back([banned](std::span<float> logits, const RowHistory&) {
      for (const int64_t id : banned) logits[static_cast<size_t>(id)] = kForbidden;
    });
  if (options.no_repeat_ngram_size > 0)
    forbid_.push_back(
        [size = options.no_repeat_ngram_size](std::span<float> logits, const RowHistory& history) {
          forbid_repeated_ngrams(logits, history.tokens, size);
        });
  if (!options.banned_sequences.empty())
    forbid_.push_back(
        [sequences = options.banned_sequences](std::span<float> logits, const RowHistory& history) {
          forbid_sequences(logits, history.tokens, sequences);
        });
  if (options.min_new_tokens > 0 && eos)
    forbid_.push_back([minimum = options.min_new_tokens, end = *eos](std::span<float> logits,
                                                                     const RowHistory& history) {
      if (history.num_new < minimum) logits[static_cast<size_t>(end)] = kForbidden;
    });
}

void LogitsProcessors::adjust(std::span<float> logits, const RowHistory& history) const {
  for (const Step& step : adjust_) step(logits, history);
}

void LogitsProcessors::forbid(std::span<float> logits, const RowHistory& history) const {
  for (const Step& step : forbid_) step(logits, history);
}

}  // namespace zoo
