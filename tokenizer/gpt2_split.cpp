#include "tokenizer/gpt2_split.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/utf8.h"

namespace zoo {

namespace {

enum class CharClass : uint8_t { letter, number, space, other };

/// Unicode's property White_Space, which is not a general category: it takes in some controls.
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

CharClass classify(char32_t c) {
  if (is_white_space(c)) return CharClass::space;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharClass::number;
    default:
      return CharClass::other;
  }
}

struct ClassStep {
  CharClass kind;
  size_t length;
};

/// @param text not empty
ClassStep next_class(std::string_view text) {
  static const auto kAscii = [] {
    std::array<CharClass, 128> classes{};
    for (char32_t c = 0; c < classes.size(); ++c) classes[c] = classify(c);
    return classes;
  }();
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < kAscii.size()) return {kAscii[byte], 1};
  const Utf8Step step = next_utf8(text);
  return {classify(step.code_point), step.length};
}

/// Bytes of the characters of class `kind` that `text` holds from `start` on.
size_t run_length(std::string_view text, size_t start, CharClass kind) {
  size_t end = start;
  while (end < text.size()) {
    const ClassStep step = next_class(text.substr(end));
    if (step.kind != kind) break;
    end += step.length;
  }
  return end - start;
}

size_t contraction_length(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(0, ending.size()) == ending) return ending.size();
  return 0;
}

}  // namespace

size_t gpt2_word_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '\'')
    if (const size_t length = contraction_length(text)) return length;

  // One blank may stand before letters, numbers or punctuation.
  const size_t blank = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const ClassStep first = next_class(text.substr(blank));
  if (first.kind != CharClass::space) {
    const size_t start = blank + first.length;
    return start + run_length(text, start, first.kind);
  }

  // White space leaves its last character to the word after it, if there is one.
  size_t end = 0, last = 0;
  while (end < text.size()) {
    const ClassStep step = next_class(text.substr(end));
    if (step.kind != CharClass::space) break;
    last = step.length;
    end += step.length;
  }
  return end == text.size() || end == last ? end : end - last;
}

size_t gpt2_safe_cut(std::string_view text) {
  // Only ASCII white space is looked for: it cannot be a part of another character.
  const auto is_space = [](unsigned char c) { return c < 0x80 && is_white_space(c); };
  for (size_t cut = text.size(); cut-- > 1;) {
    if (!is_space(text[cut]) || is_space(text[cut - 1])) continue;
    // Other white space may end just before it: go back to the start of that character.
    size_t start = cut - 1;
    while (start > 0 && cut - start < 4 && (text[start] & 0xC0) == 0x80) --start;
    if (next_class(text.substr(start, cut - start)).kind != CharClass::space) return cut;
  }
  return 0;
}

}  // namespace zoo
