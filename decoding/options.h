#pragma once
// Options of text generation, one struct for library, command line and generation_config.json.
// No torch in this header.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/fields.h"

namespace zoo {

/// What a hypothesis' log-probability is divided by, so that long ones are not at a disadvantage.
enum class LengthNorm { power, wu, none };
template <>
struct EnumNames<LengthNorm> {
  static constexpr std::array values{std::pair{LengthNorm::power, "power"},
                                     std::pair{LengthNorm::wu, "wu"},
                                     std::pair{LengthNorm::none, "none"}};
};

/// When a beam search ends.
enum class EarlyStopping { exact, first, heuristic };
template <>
struct EnumNames<EarlyStopping> {
  static constexpr std::array values{std::pair{EarlyStopping::exact, "exact"},
                                     std::pair{EarlyStopping::first, "first"},
                                     std::pair{EarlyStopping::heuristic, "heuristic"}};
};

struct GenerationOptions {
  int64_t max_new_tokens = 0;  ///< 0: up to the model's context length
  int64_t min_new_tokens = 0;
  bool sample =
      false;  ///< draw; otherwise the most probable token (or beam search if beam_size > 1)
  double temperature = 1.0;
  int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  double typical_p = 1.0;
  double repetition_penalty = 1.0;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  int64_t repeat_last_n = -1;
  int64_t no_repeat_ngram_size = 0;
  int64_t beam_size = 1;
  double length_penalty = 1.0;
  LengthNorm length_norm = LengthNorm::power;
  EarlyStopping early_stopping = EarlyStopping::exact;
  double patience = 1.0;
  std::map<int64_t, double> logit_bias = {};                ///< added to the logit of an id
  std::vector<std::vector<int64_t>> banned_sequences = {};  ///< ids that may not follow one another
  std::vector<std::string> stop = {};  ///< texts that end the output, not part of it
  bool ignore_eos = false;

  void fields(auto&& visit) {
    visit("max_new_tokens", max_new_tokens, non_negative(),
          "tokens to generate; 0: up to the model's context length");
    visit("min_new_tokens", min_new_tokens, non_negative(),
          "tokens before the end token is allowed");
    visit("sample", sample, "draw from the distribution; otherwise take the most probable token");
    visit("temperature", temperature, non_negative(),
          "logits are divided by it; 0: the most probable token");
    visit("top_k", top_k, non_negative(),
          "keep the k most probable tokens (Fan et al. 2018); 0: all");
    visit("top_p", top_p, between(0, 1),
          "keep the smallest set with this probability (Holtzman et al. 2020); 1: all");
    visit("min_p", min_p, between(0, 1),
          "keep tokens at least this share as probable as the best (Nguyen et al. 2024); 0: all");
    visit("typical_p", typical_p, between(0, 1),
          "keep the locally typical set with this probability (Meister et al. 2023); 1: all");
    visit("repetition_penalty", repetition_penalty, positive(),
          "positive logits of seen tokens are divided by it, negative multiplied (Keskar et al. "
          "2019)");
    visit("presence_penalty", presence_penalty, any_number(),
          "subtracted once from the logit of each seen token");
    visit("frequency_penalty", frequency_penalty, any_number(),
          "subtracted from a seen token's logit for each time it was seen");
    visit("repeat_last_n", repeat_last_n, at_least(-1),
          "tokens of history that the three penalties look at; -1: all, 0: none");
    visit("no_repeat_ngram_size", no_repeat_ngram_size, non_negative(),
          "no n-gram of this size twice; 0: off");
    visit("beam_size", beam_size, at_least(1), "hypotheses of beam search; 1: no beam search");
    visit("length_penalty", length_penalty, any_number(),
          "exponent p of the length that a hypothesis' log-probability is divided by; 0: none");
    visit("length_norm", length_norm,
          "of a hypothesis of n tokens, its end token included: power = sum / n^p, wu = "
          "sum / ((5 + n) / 6)^p (Wu et al. 2016, section 7), none = sum");
    visit("early_stopping", early_stopping,
          "exact = the search ends when no running hypothesis can still win; heuristic = when none "
          "would win if it ended now; first = when patience * beam_size have ended");
    visit("patience", patience, positive(),
          "for early_stopping first (Kasai et al. 2022): how many times beam_size must have ended");
    visit("stop", stop, "texts that end the output and are not part of it");
    visit("ignore_eos", ignore_eos, "go on after the end token");
  }
  std::string check() const;
};

}  // namespace zoo
