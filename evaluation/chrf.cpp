#include "evaluation/chrf.h"

#include <algorithm>

#include "core/error.h"
#include "core/unicode.h"

namespace zoo {

namespace {

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

/// Words with one punctuation mark taken off, at the end if there is one, else at the start.
template <class Use>
void for_each_chrf_word(std::string_view text, const Use& use) {
  for_each_word(text, [&](std::string_view word) {
    const bool single = next_utf8(word).length == word.size();
    if (!single && is_punctuation(word.back())) {
      use(word.substr(0, word.size() - 1));
      use(word.substr(word.size() - 1));
    } else if (!single && is_punctuation(word.front())) {
      use(word.substr(0, 1));
      use(word.substr(1));
    } else {
      use(word);
    }
  });
}

double num_ngrams(size_t length, size_t order) {
  return length >= order ? static_cast<double>(length - order + 1) : 0;
}

const ChrfOptions& checked(const ChrfOptions& options) {
  const auto require = [](const char* name, int64_t value, int64_t least) {
    if (value < least)
      throw ConfigError(cat("chrF: ", name, " ", value, " is refused; allowed: >= ", least));
  };
  require("char_order", options.char_order, 1);
  require("word_order", options.word_order, 0);
  require("beta", options.beta, 1);
  return options;
}

}  // namespace

Chrf::Chrf(const ChrfOptions& options)
    : options_(checked(options)),
      characters_(static_cast<size_t>(options.char_order)),
      words_(static_cast<size_t>(std::max<int64_t>(options.word_order, 1))),
      candidate_(num_statistics()),
      matches_(num_orders()) {}

void Chrf::read(std::string_view text, Line& line, bool is_hypothesis) {
  if (options_.lowercase) {
    line.lower_cased.clear();
    append_lower_case(text, line.lower_cased);
    text = line.lower_cased;
  }
  line.characters.clear();
  for_each_code_point(text, [&](char32_t c, std::string_view) {
    if (options_.whitespace || !is_white_space(c)) line.characters.push_back(c);
  });
  line.words.clear();
  if (options_.word_order == 0) return;
  for_each_chrf_word(text, [&](std::string_view word) {
    line.words.push_back(is_hypothesis ? numbers_.add(word) : numbers_.find(word));
  });
}

void Chrf::measure(std::string_view hypothesis, std::span<const std::string_view> references,
                   std::span<double> statistics) {
  const auto char_order = static_cast<size_t>(options_.char_order);
  numbers_.clear();
  read(hypothesis, hypothesis_, true);
  characters_.set_hypothesis(hypothesis_.characters);
  words_.set_hypothesis(hypothesis_.words);
  double best = -1;
  for (const std::string_view reference : references) {
    read(reference, reference_, false);
    std::fill(matches_.begin(), matches_.end(), 0.0);
    const std::span<double> matches = matches_;
    characters_.forget_references();
    characters_.match(reference_.characters, matches.first(char_order));
    if (options_.word_order > 0) {
      words_.forget_references();
      words_.match(reference_.words, matches.subspan(char_order));
    }
    for (size_t i = 0; i < num_orders(); ++i) {
      const bool of_chars = i < char_order;
      const size_t order = of_chars ? i + 1 : i - char_order + 1;
      const auto count = [&](const Line& line) {
        return num_ngrams(of_chars ? line.characters.size() : line.words.size(), order);
      };
      const double in_reference = count(reference_);
      candidate_[3 * i] = in_reference > 0 ? count(hypothesis_) : 0;
      candidate_[3 * i + 1] = in_reference;
      candidate_[3 * i + 2] = matches[i];
    }
    const double score = f_score(candidate_);
    if (score <= best) continue;
    best = score;
    std::copy(candidate_.begin(), candidate_.end(), statistics.begin());
  }
}

double Chrf::f_score(std::span<const double> sums) const {
  constexpr double kEpsilon = 1e-16;
  const auto factor = static_cast<double>(options_.beta * options_.beta);
  double total = 0, precisions = 0, recalls = 0;
  int orders = 0;  // that both sides are long enough for
  for (size_t i = 0; i < num_orders(); ++i) {
    const double in_hypothesis = sums[3 * i], in_reference = sums[3 * i + 1],
                 matches = sums[3 * i + 2];
    const double precision = in_hypothesis > 0 ? matches / in_hypothesis : kEpsilon;
    const double recall = in_reference > 0 ? matches / in_reference : kEpsilon;
    const double sum = factor * precision + recall;
    total += sum > 0 ? (1 + factor) * precision * recall / sum : kEpsilon;
    if (in_hypothesis > 0 && in_reference > 0) {
      precisions += precision;
      recalls += recall;
      ++orders;
    }
  }
  if (options_.eps_smoothing) return 100 * total / static_cast<double>(num_orders());
  if (precisions + recalls == 0) return 0;
  const double precision = precisions / orders, recall = recalls / orders;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

MetricScore Chrf::score(std::span<const double> sums) const {
  return {cat("chrF", options_.beta, std::string(static_cast<size_t>(options_.word_order), '+')),
          f_score(sums), ""};
}

std::vector<std::pair<std::string, std::string>> Chrf::settings() const {
  return {{"case", options_.lowercase ? "lc" : "mixed"},
          {"eff", options_.eps_smoothing ? "no" : "yes"},
          {"nc", cat(options_.char_order)},
          {"nw", cat(options_.word_order)},
          {"space", options_.whitespace ? "yes" : "no"},
          {"version", kSacrebleuVersion}};
}

}  // namespace zoo
