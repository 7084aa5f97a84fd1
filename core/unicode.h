#pragma once
// Properties of characters: white space, categories, case (The Unicode Standard, chapters 3.13, 4
// and 5.18). Texts are UTF-8; bytes that are none stay as they are.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/utf8.h"

namespace zoo {

/// The first and the last character of a range.
using CharRange = std::pair<char32_t, char32_t>;
/// Whether one of the ranges, which are in order and apart, has the character.
bool is_in(std::span<const CharRange> ranges, char32_t code_point);

/// What Python's str.isspace() holds for white space: Unicode's property and U+001C … U+001F.
bool is_white_space(char32_t code_point);

/// Bytes of the white-space character that `text` starts with; 0 if it starts with another.
/// @param text not empty
size_t white_space_length(std::string_view text);

std::string_view trim_unicode(std::string_view text);      ///< without white space at both ends
std::string_view trim_unicode_end(std::string_view text);  ///< without white space at the end

/// Calls use(word) for each run of characters between white space.
template <class Use>
void for_each_word(std::string_view text, Use&& use) {
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    // Most bytes are decided by their value alone: white space starts with one of these.
    const bool candidate = byte <= ' ' || byte == 0xC2 || (byte >= 0xE1 && byte <= 0xE3);
    const size_t space = candidate ? white_space_length(text.substr(at)) : 0;
    if (space > 0) {
      if (at > start) use(text.substr(start, at - start));
      start = at + space;
    }
    at += space > 0 ? space : 1;
  }
  if (text.size() > start) use(text.substr(start));
}

/// Calls use(code point, its bytes) for each character, with U+FFFD for each invalid sequence.
template <class Use>
void for_each_code_point(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const Utf8Step step = first < 0x80 ? Utf8Step{first, 1, true, false} : next_utf8(text);
    use(step.code_point, text.substr(0, step.length));
    text.remove_prefix(step.length);
  }
}

/// The major class of a character's general category.
enum class CharClass : uint8_t { letter, mark, number, punctuation, symbol, separator, other };
CharClass char_class(char32_t code_point);

/// Appends the code points of `text`, U+FFFD for each invalid sequence.
void append_code_points(std::string_view text, std::u32string& out);

/// Appends `text` in lower case: full mapping, with the final sigma.
void append_lower_case(std::string_view text, std::string& out);
/// Appends the lower case of a character by itself: two characters for U+0130, else one.
void append_lower_case(char32_t code_point, std::u32string& out);

/// Unicode's form NFC (canonical composition); bytes that are not UTF-8 stay as they are.
std::string composed(std::string_view text);

/// Appends the canonical decomposition of `text` (NFD).
void append_decomposed(std::u32string_view text, std::u32string& out);

}  // namespace zoo
