#pragma once
// Byte-level BPE cuts text into words before pairs are merged (Radford et al. 2019, section 2.2).
// Each family has its regular expression, which is followed here by hand: the first alternative
// that matches, as long as it goes.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zoo {

enum class WordSplit : uint8_t {
  /// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  gpt2,
  /// the same, and each numeral stands alone (SmolLM, StarCoder)
  gpt2_digits,
  /// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
  /// \s*[\r\n]+|\s+(?!\S)|\s+  (GPT-4, Llama 3)
  llama3,
  /// the same, but \p{N} alone (Qwen 2 to 3)
  qwen2,
};

/// Bytes of the first word of `text`; 0 only if it is empty. The words of a text joined are the
/// text. Bytes that are not UTF-8 count as punctuation, as U+FFFD would.
size_t word_length(WordSplit split, std::string_view text);

/// Calls use(word) for each word of `text`.
template <class Use>
void for_each_word(WordSplit split, std::string_view text, Use&& use) {
  while (!text.empty()) {
    const size_t length = word_length(split, text);
    use(text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// The last place where white space begins after other text, 0 if there is none: no word spans it,
/// and the words before it do not depend on what follows.
size_t safe_word_cut(WordSplit split, std::string_view text);

}  // namespace zoo
