#pragma once
// Options of text generation, one struct for library, command line and generation_config.json.
// No torch in this header.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/fields.h"

namespace zoo {

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
          "exponent of the length that a beam's log-probability is divided by; 0: none");
    visit("stop", stop, "texts that end the output and are not part of it");
    visit("ignore_eos", ignore_eos, "go on after the end token");
  }
  std::string check() const;
};

}  // namespace zoo
