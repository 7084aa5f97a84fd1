#pragma once
// The config of the task `translation`. No torch in this header.

#include <string>
#include <variant>
#include <vector>

#include "core/fields.h"
#include "evaluation/bleu_tokenizer.h"

namespace zoo {

template <>
struct EnumNames<BleuTokenization> {
  static constexpr std::array values{
      std::pair{BleuTokenization::v13a, "13a"}, std::pair{BleuTokenization::international, "intl"},
      std::pair{BleuTokenization::chinese, "zh"}, std::pair{BleuTokenization::characters, "char"},
      std::pair{BleuTokenization::none, "none"}};
};

/// Where the pairs of one split lie.
struct ParallelTextConfig {
  std::vector<std::string> source, target, tsv;
  void fields(auto&& visit) {
    visit("source", source, "text files, a sentence a line; relative to the working folder");
    visit("target", target, "text files whose line i translates line i of `source`'s");
    visit("tsv", tsv, "instead of them, or with them: files with one \"source<TAB>target\" a line");
  }
  std::string check() const;
};

// ---- teacher forcing: Bengio et al. 2015, "Scheduled Sampling for Sequence Prediction with
// Recurrent Neural Networks", section 2.4. The probability that the decoder reads the true previous
// token and not its own most probable one, by the steps i done.

struct ConstantForcingConfig {
  static constexpr std::string_view kType = "constant";
  static constexpr std::string_view kAbout = "the same probability at every step";
  double ratio = 1;
  void fields(auto&& visit) {
    visit("ratio", ratio, between(0, 1), "1: always the true token; 0: always the model's own");
  }
};

struct LinearForcingConfig {
  static constexpr std::string_view kType = "linear";
  static constexpr std::string_view kAbout = "max(minimum, start - slope * i): linear decay";
  double start = 1, slope = 1e-4, minimum = 0;
  void fields(auto&& visit) {
    visit("start", start, between(0, 1), "probability at the first step");
    visit("slope", slope, non_negative(), "decrease a step");
    visit("minimum", minimum, between(0, 1), "lowest probability");
  }
};

struct ExponentialForcingConfig {
  static constexpr std::string_view kType = "exponential";
  static constexpr std::string_view kAbout = "base^i: exponential decay";
  double base = 0.9999;
  void fields(auto&& visit) {
    visit("base", base, {.low = 0, .high = 1, .low_open = true, .high_open = true},
          "factor of every step");
  }
};

struct InverseSigmoidForcingConfig {
  static constexpr std::string_view kType = "inverse_sigmoid";
  static constexpr std::string_view kAbout = "k / (k + exp(i / k)): inverse sigmoid decay";
  double k = 1000;
  void fields(auto&& visit) {
    visit("k", k, at_least(1), "steps: the probability has fallen to a half after k ln k");
  }
};

using TeacherForcingConfig = std::variant<ConstantForcingConfig, LinearForcingConfig,
                                          ExponentialForcingConfig, InverseSigmoidForcingConfig>;

/// The probability at optimizer step `step`, counted from 1.
double teacher_forcing_at(const TeacherForcingConfig& config, int64_t step);
/// Whether it is 1 at every step.
bool always_forces(const TeacherForcingConfig& config);

struct TranslationTaskConfig {
  static constexpr std::string_view kType = "translation";
  static constexpr std::string_view kAbout =
      "Sentences and their translations, or any two texts line by line";
  ParallelTextConfig train, valid;
  int64_t max_length = 0;
  TeacherForcingConfig teacher_forcing;
  int64_t bleu_pairs = 1000;
  BleuTokenization bleu_tokenize = BleuTokenization::v13a;
  bool bleu_lowercase = false;
  std::string cache;

  void fields(auto&& visit) {
    visit("train", train, "the pairs to learn from");
    visit("valid", valid, "the pairs to evaluate on");
    visit("max_length", max_length, non_negative(),
          "pairs with a longer side, in tokens with the end token, are left out; 0: the model's "
          "lengths");
    visit("teacher_forcing", teacher_forcing,
          "how often the decoder reads the true previous token while it learns");
    visit("bleu_pairs", bleu_pairs, non_negative(),
          "pairs of `valid`, the first ones, that every evaluation translates greedily for the "
          "metric bleu; 0: no such metric");
    visit("bleu_tokenize", bleu_tokenize,
          "BLEU's tokenizer, as sacreBLEU names it; none for text in which blanks separate tokens");
    visit("bleu_lowercase", bleu_lowercase, "fold case before BLEU compares");
    visit("cache", cache, "folder for packed tokens, shared by runs; empty: the run's own folder");
  }
};

}  // namespace zoo
