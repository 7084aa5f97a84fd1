#include "decoding/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "decoding/processors.h"
#include "decoding/text_output.h"

namespace zoo {

namespace {

using Clock = std::chrono::steady_clock;

struct Hypothesis {
  std::vector<int64_t> tokens;  // without the prompt
  std::vector<double> log_probabilities;
  double sum = 0;

  Hypothesis extended(int64_t token, double log_probability) const {
    Hypothesis longer = *this;
    longer.tokens.push_back(token);
    longer.log_probabilities.push_back(log_probability);
    longer.sum += log_probability;
    return longer;
  }
};

/// What the model offers to R running hypotheses.
struct Offers {
  int64_t width = 0;                     // tokens per hypothesis
  std::vector<int64_t> tokens;           // (R, width), best first
  std::vector<float> log_probabilities;  // (R, width); -inf: forbidden
  std::vector<float> end;                // (R) of the end token
};

/// The search for one prompt.
class Search {
 public:
  Search(std::span<const int64_t> prompt, int64_t limit, const GenerationOptions& options,
         const GenerateArgs& args)
      : prompt_(prompt), limit_(limit), options_(options), args_(args), running_(1) {}

  const std::vector<Hypothesis>& running() const { return running_; }

  /// Moves every hypothesis on by one token.
  /// @param first_row where this search's rows begin in `offers`
  /// @return for each hypothesis that runs on, the row it comes from
  std::vector<int64_t> advance(const Offers& offers, int64_t first_row) {
    struct Step {
      double sum;
      size_t parent;
      int64_t token;
      double log_probability;
    };
    const bool exact = options_.early_stopping == EarlyStopping::exact;
    const bool has_end = args_.eos && !options_.ignore_eos;
    std::vector<Step> steps;
    for (size_t i = 0; i < running_.size(); ++i) {
      const size_t row = static_cast<size_t>(first_row) + i;
      if (exact && has_end && std::isfinite(offers.end[row]))
        finish(running_[i].extended(*args_.eos, offers.end[row]), FinishReason::eos);
      for (int64_t k = 0; k < offers.width; ++k) {
        const size_t at = row * static_cast<size_t>(offers.width) + static_cast<size_t>(k);
        const double log_probability = offers.log_probabilities[at];
        if (!std::isfinite(log_probability) ||
            (exact && has_end && offers.tokens[at] == *args_.eos))
          continue;
        steps.push_back({running_[i].sum + log_probability, i, offers.tokens[at], log_probability});
      }
    }
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
      return std::tie(b.sum, a.parent, a.token) < std::tie(a.sum, b.parent, b.token);
    });

    std::vector<Hypothesis> next;
    std::vector<int64_t> parents;
    for (size_t rank = 0, taken = 0; rank < steps.size() && taken < beam_size(); ++rank) {
      const Step& step = steps[rank];
      const bool ends = has_end && step.token == *args_.eos;
      if (ends && rank >= beam_size()) continue;
      Hypothesis hypothesis = running_[step.parent].extended(step.token, step.log_probability);
      if (ends) {
        finish(std::move(hypothesis), FinishReason::eos);
        continue;
      }
      ++taken;
      if (stops(hypothesis)) {
        finish(std::move(hypothesis), FinishReason::stop);
      } else if (std::ssize(hypothesis.tokens) == limit_) {
        finish(std::move(hypothesis), FinishReason::length);
      } else {
        next.push_back(std::move(hypothesis));
        parents.push_back(first_row + static_cast<int64_t>(step.parent));
      }
    }
    if (options_.early_stopping == EarlyStopping::first &&
        static_cast<double>(num_finished_) >= options_.patience * static_cast<double>(beam_size()))
      next.clear();
    // Sorted by sum, hence by what they can still reach.
    while (!next.empty() && !can_win(next.back())) next.pop_back();
    parents.resize(next.size());
    running_ = std::move(next);
    return parents;
  }

  /// The best outputs, best first.
  std::vector<Generation> results(double seconds) {
    if (finished_.empty())
      throw ConfigError(
          "beam search: every token is forbidden; loosen ban, logit_bias, no_repeat_ngram_size or "
          "min_new_tokens");
    for (Generation& result : finished_) {
      TextOutput text(args_.tokenizer, prompt_, options_.stop);
      for (const int64_t token : result.tokens) result.text += text.push(token);
      result.text += text.finish();
      result.seconds = seconds;
      if (args_.scores != Scores::token) result.token_log_probabilities.clear();
    }
    return std::move(finished_);
  }

 private:
  size_t beam_size() const { return static_cast<size_t>(options_.beam_size); }

  double normalised(double sum, int64_t length) const {
    const auto n = static_cast<double>(length);
    switch (options_.length_norm) {
      case LengthNorm::power:
        return sum / std::pow(n, options_.length_penalty);
      case LengthNorm::wu:
        return sum / std::pow((5 + n) / 6, options_.length_penalty);
      case LengthNorm::none:
        break;
    }
    return sum;
  }

  bool is_full() const { return std::ssize(finished_) == args_.num_samples; }

  bool can_win(const Hypothesis& hypothesis) const {
    if (!is_full() || options_.early_stopping == EarlyStopping::first) return true;
    const int64_t length = std::ssize(hypothesis.tokens);
    const double best =
        options_.early_stopping == EarlyStopping::heuristic
            ? normalised(hypothesis.sum, length)
            : std::max(normalised(hypothesis.sum, length + 1), normalised(hypothesis.sum, limit_));
    return best > finished_.back().score;
  }

  bool stops(const Hypothesis& hypothesis) const {
    if (options_.stop.empty()) return false;
    TextOutput text(args_.tokenizer, prompt_, options_.stop);
    for (const int64_t token : hypothesis.tokens) text.push(token);
    return text.stopped();
  }

  void finish(Hypothesis hypothesis, FinishReason reason) {
    ++num_finished_;
    const double score = normalised(hypothesis.sum, std::ssize(hypothesis.tokens));
    if (is_full() && score <= finished_.back().score) return;
    const auto place = std::find_if(finished_.begin(), finished_.end(),
                                    [&](const Generation& other) { return other.score < score; });
    Generation result;
    result.tokens = std::move(hypothesis.tokens);
    result.finish_reason = reason;
    result.log_probability = hypothesis.sum;
    result.token_log_probabilities = std::move(hypothesis.log_probabilities);
    result.score = score;
    finished_.insert(place, std::move(result));
    if (std::ssize(finished_) > args_.num_samples) finished_.pop_back();
  }

  std::span<const int64_t> prompt_;
  int64_t limit_;
  const GenerationOptions& options_;
  const GenerateArgs& args_;
  std::vector<Hypothesis> running_;   // best first
  std::vector<Generation> finished_;  // best first, at most num_samples
  int64_t num_finished_ = 0;          // those that were not kept included
};

template <class T>
std::vector<T> to_vector(const Tensor& tensor) {
  const Tensor host = tensor.to(torch::kCPU).contiguous();
  return {host.data_ptr<T>(), host.data_ptr<T>() + host.numel()};
}

/// The most probable continuations of each row. @param logits (R, V)
Offers offer(Tensor logits, int64_t beam_size, std::optional<int64_t> eos,
             const LogitsProcessors& processors, const DecodeContext& context, int64_t num_new) {
  logits = logits.to(torch::kFloat32);
  const auto for_each_row = [&](auto change) {
    for (int64_t i = 0; i < logits.size(0); ++i)
      change(std::span(logits.data_ptr<float>() + i * logits.size(1),
                       static_cast<size_t>(logits.size(1))),
             RowHistory{context.row(i), num_new});
  };
  if (!processors.empty()) {
    logits = logits.to(torch::kCPU).clone(torch::MemoryFormat::Contiguous);
    for_each_row([&](auto row, const auto& history) { processors.adjust(row, history); });
  }
  logits = logits.log_softmax(1);
  // What is broken anywhere in a row is broken everywhere now.
  if (logits.select(1, 0).isnan().any().item<bool>())
    throw NumericError(
        "beam search: the logits hold NaN or infinity; the weights are broken or the dtype is too "
        "narrow: check the checkpoint, or use float32");
  if (!processors.empty())
    for_each_row([&](auto row, const auto& history) { processors.forbid(row, history); });

  // One more than the beam, as the end token may be among them.
  Offers offers;
  offers.width = std::min(beam_size + 1, logits.size(1));
  const auto [best, tokens] = logits.topk(offers.width, 1);  // (R, width)
  offers.tokens = to_vector<int64_t>(tokens);
  offers.log_probabilities = to_vector<float>(best);
  if (eos) offers.end = to_vector<float>(logits.select(1, *eos));
  return offers;
}

}  // namespace

std::vector<std::vector<Generation>> beam_search(const DecodeJob& job) {
  const Clock::time_point start = Clock::now();
  const auto& [context, prompts, limits, vocabulary, options, args] = job;
  const LogitsProcessors processors(options, args.eos, vocabulary);
  std::vector<Search> searches;
  std::vector<size_t> active;  // the searches that go on, in the order of their rows in `context`
  for (size_t i = 0; i < prompts.size(); ++i) {
    searches.emplace_back(prompts[i], limits[i], options, args);
    active.push_back(i);
  }

  std::vector<std::vector<Generation>> results(prompts.size());
  for (int64_t step = 0; !active.empty(); ++step) {
    const Offers offers =
        offer(context.next_logits(), options.beam_size, args.eos, processors, context, step);
    std::vector<int64_t> rows, tokens;  // of the hypotheses that run on
    std::vector<size_t> still_active;
    int64_t first_row = 0;
    for (const size_t i : active) {
      const int64_t used_rows = std::ssize(searches[i].running());
      const std::vector<int64_t> parents = searches[i].advance(offers, first_row);
      rows.insert(rows.end(), parents.begin(), parents.end());
      for (const Hypothesis& hypothesis : searches[i].running())
        tokens.push_back(hypothesis.tokens.back());
      first_row += used_rows;
      if (!parents.empty()) {
        still_active.push_back(i);
        continue;
      }
      results[i] = searches[i].results(std::chrono::duration<double>(Clock::now() - start).count());
      const size_t first_output = i * static_cast<size_t>(args.num_samples);
      for (size_t rank = 0; rank < results[i].size() && args.on_text; ++rank)
        args.on_text(first_output + rank, results[i][rank].text);
    }
    active = std::move(still_active);
    context.keep(rows);
    context.append(tokens);
  }
  return results;
}

}  // namespace zoo
