#pragma once
// GPT-2 cuts text into words before byte pairs are merged (Radford et al. 2019, section 2.2), by
// the pattern  's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ which is
// followed here by hand: the first alternative that matches, as long as it goes.

#include <cstddef>
#include <string_view>

namespace zoo {

/// Bytes of the first word of `text`; 0 only if it is empty. The words of a text joined are the
/// text. Bytes that are not UTF-8 count as punctuation, as U+FFFD would.
size_t gpt2_word_length(std::string_view text);

/// Calls use(word) for each word of `text`.
template <class Use>
void for_each_gpt2_word(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t length = gpt2_word_length(text);
    use(text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// The last place where white space begins after other text, 0 if there is none: no word spans it,
/// and the words before it do not depend on what follows.
size_t gpt2_safe_cut(std::string_view text);

}  // namespace zoo
