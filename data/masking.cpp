#include "data/masking.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace zoo {

Masking::Masking(const Tokenizer& tokenizer, const MaskingOptions& options) : options_(options) {
  const auto mask = tokenizer.special_ids().mask;
  if (!mask)
    throw ConfigError(
        "tokenizer: has no token [MASK], which a masked language model reads in place of what it "
        "must find; use a tokenizer of type wordpiece");
  mask_id_ = *mask;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
    tokens_.push_back({tokenizer.is_special(id), tokenizer.continues_word(id)});
    if (!tokens_.back().special) replacements_.push_back(id);
  }
  if (replacements_.empty()) throw ConfigError("tokenizer: has special tokens only");
}

std::vector<int64_t> Masking::mask(std::span<int64_t> ids, int64_t none,
                                   RandomStream& random) const {
  // What is chosen together: a word, or a single token.
  std::vector<std::pair<size_t, size_t>> groups;  // first place, one past the last
  int64_t maskable = 0;
  for (size_t place = 0; place < ids.size(); ++place) {
    const Token token = tokens_[ids[place]];
    if (token.special) continue;
    ++maskable;
    const bool joins =
        options_.whole_words && token.continues && !groups.empty() && groups.back().second == place;
    if (joins)
      groups.back().second = place + 1;
    else
      groups.emplace_back(place, place + 1);
  }
  std::vector<int64_t> targets(ids.size(), none);
  if (groups.empty()) return targets;
  const auto wanted =
      std::max<int64_t>(1, std::llround(options_.probability * static_cast<double>(maskable)));
  int64_t chosen = 0;
  // Fisher and Yates, as far as it is needed.
  for (size_t next = 0; next < groups.size() && chosen < wanted; ++next) {
    std::swap(groups[next], groups[next + random.next_below(groups.size() - next)]);
    const auto [first, last] = groups[next];
    const auto length = static_cast<int64_t>(last - first);
    if (chosen > 0 && chosen + length > wanted) continue;
    chosen += length;
    for (size_t place = first; place < last; ++place) {
      targets[place] = ids[place];
      const double draw = random.next_uniform();
      if (draw < options_.mask_share)
        ids[place] = mask_id_;
      else if (draw < options_.mask_share + options_.random_share)
        ids[place] = replacements_[random.next_below(replacements_.size())];
    }
  }
  return targets;
}

}  // namespace zoo
