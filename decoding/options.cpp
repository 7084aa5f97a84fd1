#include "decoding/options.h"

#include <cmath>
#include <type_traits>

#include "core/error.h"

namespace zoo {

std::string GenerationOptions::check() const {
  // The bounds once more, for options that a program filled in by hand.
  std::string problem;
  const auto check_bound = [&](std::string_view key, const auto& value, const auto& bound,
                               auto&&...) {
    using Value = std::decay_t<decltype(value)>;
    using Limit = std::decay_t<decltype(bound)>;
    if constexpr (std::is_arithmetic_v<Value> && std::is_same_v<Limit, Bound>) {
      if (problem.empty() && !bound.holds(static_cast<double>(value)))
        problem = cat(key, ": ", value, " is out of range; allowed: ", bound.text());
    }
  };
  GenerationOptions(*this).fields(check_bound);
  if (!problem.empty()) return problem;

  if (beam_size > 1 && sample && temperature > 0)
    return cat("sample and beam_size ", beam_size,
               ": beam search does not draw; set sample to false or beam_size to 1");
  if (max_new_tokens > 0 && min_new_tokens > max_new_tokens)
    return cat("min_new_tokens ", min_new_tokens, " is above max_new_tokens ", max_new_tokens,
               "; lower the one or raise the other");
  for (const std::string& text : stop)
    if (text.empty()) return "stop: an empty text would end every output at once; remove it";
  for (const auto& [id, bias] : logit_bias)
    if (id < 0 || std::isnan(bias) || bias == HUGE_VAL)
      return cat("logit_bias: ", id, " = ", bias,
                 "; allowed: an id of the vocabulary and a number (-inf bans the token)");
  for (const std::vector<int64_t>& sequence : banned_sequences)
    if (sequence.empty()) return "banned_sequences: an empty sequence bans nothing; remove it";
  return "";
}

}  // namespace zoo
