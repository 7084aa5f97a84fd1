#pragma once
// Text generation with a decoder-only model: greedy, by sampling, or by beam search.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fields.h"
#include "decoding/options.h"
#include "models/contracts.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

enum class FinishReason { eos, stop, length };
template <>
struct EnumNames<FinishReason> {
  static constexpr std::array values{std::pair{FinishReason::eos, "eos"},
                                     std::pair{FinishReason::stop, "stop"},
                                     std::pair{FinishReason::length, "length"}};
};

enum class Scores { none, sum, token };
template <>
struct EnumNames<Scores> {
  static constexpr std::array values{std::pair{Scores::none, "none"}, std::pair{Scores::sum, "sum"},
                                     std::pair{Scores::token, "token"}};
};

/// What generate() needs beside the options that travel with a model.
struct GenerateArgs {
  const Tokenizer* tokenizer = nullptr;  ///< makes text and knows the end token; null: ids only
  std::optional<int64_t> eos = {};       ///< the end token; unset: the tokenizer's, if it has one
  int64_t num_samples = 1;  ///< outputs of each prompt: draws, or the best hypotheses of a beam
  uint64_t seed = 1337;
  /// The number of the first prompt, where `prompts` is a part of a longer list: prompt i draws
  /// from a random stream of its own, numbered first_row + i, so that the parts do not matter.
  uint64_t first_row = 0;
  std::vector<uint64_t> row_numbers = {};  ///< of each prompt, in place of first_row + i
  uint64_t row_number(size_t prompt) const {
    return row_numbers.empty() ? first_row + prompt : row_numbers[prompt];
  }
  bool use_cache = true;
  Scores scores = Scores::none;
  /// Called with an output's number (prompt * num_samples + sample) and a piece of its text, whole
  /// characters only, as soon as the piece is certain (with beam search: at the end).
  std::function<void(size_t output, std::string_view piece)> on_text = {};
};

struct Generation {
  std::vector<int64_t> tokens =
      {};                 ///< the new tokens, the end token and those of a stop text included
  std::string text = {};  ///< without special tokens and the stop text; "" without a tokenizer
  FinishReason finish_reason = FinishReason::length;
  /// Sum of the tokens' natural log-probabilities under the model, before temperature, penalties
  /// and truncation. Beam search: under the model with logit_bias and penalties.
  double log_probability = 0;
  std::vector<double> token_log_probabilities =
      {};  ///< the terms of the sum; empty unless asked for
  double score =
      0;  ///< what beam search ranks by: the sum over length^length_penalty; else the sum
  double seconds = 0;  ///< from the call to this output's end
};

/// Continues each prompt. Every row ends by itself: at the end token, at a stop text, or after
/// max_new_tokens; rows that have ended cost nothing more. What a row gets depends on its prompt,
/// its number, the seed and the options alone, not on its batch. Prompts of different lengths are
/// padded at the left; contexts longer than the model's slide (decoding/context.h).
/// @param prompts B rows of ids, none empty (see encode_prompt())
/// @return num_samples outputs of each prompt, those of the first prompt first; fewer only if a
/// beam finds fewer
/// @throws ConfigError: options that contradict one another, ids outside the vocabulary, an empty
/// prompt, stop texts without a tokenizer, a prompt that leaves no room with max_new_tokens 0
std::vector<std::vector<Generation>> generate(CausalLm& model,
                                              const std::vector<std::vector<int64_t>>& prompts,
                                              const GenerationOptions& options,
                                              const GenerateArgs& args = {});

/// The ids of a prompt. An empty text begins with the tokenizer's bos token, else its eos token,
/// else a newline.  @throws DataError if it has none of the three
std::vector<int64_t> encode_prompt(const Tokenizer& tokenizer, std::string_view text,
                                   const EncodeOptions& options = {});

}  // namespace zoo
