#include "tokenizer/word_split.h"

#include <array>
#include <cstdint>
#include <string>

#include "core/unicode.h"

namespace zoo {

namespace {

enum class Kind : uint8_t { letter, number, space, other };

/// Unicode's property White_Space, which \s is; Python's str.isspace() holds more for it.
bool is_space(char32_t c) { return is_white_space(c) && !(c >= 0x1C && c <= 0x1F); }

Kind classify(char32_t c) {
  if (is_space(c)) return Kind::space;
  const CharClass found = char_class(c);
  if (found == CharClass::letter) return Kind::letter;
  return found == CharClass::number ? Kind::number : Kind::other;
}

struct KindStep {
  Kind kind;
  size_t length;
};

/// @param text not empty
KindStep next_kind(std::string_view text) {
  static const auto ascii_kinds = [] {
    std::array<Kind, 128> kinds{};
    for (char32_t c = 0; c < kinds.size(); ++c) kinds[c] = classify(c);
    return kinds;
  }();
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < ascii_kinds.size()) return {ascii_kinds[byte], 1};
  const Utf8Step step = next_utf8(text);
  return {classify(step.code_point), step.length};
}

/// Bytes of the characters of class `kind` that `text` holds from `start` on.
size_t run_length(std::string_view text, size_t start, Kind kind) {
  size_t end = start;
  while (end < text.size()) {
    const KindStep step = next_kind(text.substr(end));
    if (step.kind != kind) break;
    end += step.length;
  }
  return end - start;
}

/// @param any_case also of capitals; of the letters, only s has another fold than its own capital
size_t contraction_length(std::string_view text, bool any_case) {
  std::string folded;
  if (any_case && text.starts_with("'\u017F")) return 3;  // LATIN SMALL LETTER LONG S
  if (any_case) {
    for (const char c : text.substr(0, 3))
      folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    text = folded;
  }
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(ending)) return ending.size();
  return 0;
}

/// White space at the start of `text`.
struct Spaces {
  size_t length = 0;        ///< of all of it
  size_t last = 0;          ///< of its last character
  size_t through_line = 0;  ///< up to the last \r or \n in it, 0 without any
};

Spaces leading_spaces(std::string_view text) {
  Spaces found;
  while (found.length < text.size()) {
    const KindStep step = next_kind(text.substr(found.length));
    if (step.kind != Kind::space) break;
    const bool ends_line = text[found.length] == '\r' || text[found.length] == '\n';
    found.last = step.length;
    found.length += step.length;
    if (ends_line) found.through_line = found.length;
  }
  return found;
}

/// \s+(?!\S)|\s+ : white space leaves its last character to the word after it, if there is one.
size_t space_length(const Spaces& spaces, std::string_view text) {
  return spaces.length == text.size() || spaces.length == spaces.last ? spaces.length
                                                                      : spaces.length - spaces.last;
}

size_t gpt2_word_length(std::string_view text) {
  if (text[0] == '\'')
    if (const size_t length = contraction_length(text, /*any_case=*/false)) return length;
  // One blank may stand before letters, numbers or punctuation.
  const size_t blank = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const KindStep first = next_kind(text.substr(blank));
  if (first.kind == Kind::space) return space_length(leading_spaces(text), text);
  const size_t start = blank + first.length;
  return start + run_length(text, start, first.kind);
}

/// Numerals are split off first; the text before one ends there, so that its white space is whole.
size_t gpt2_digits_word_length(std::string_view text) {
  const KindStep first = next_kind(text);
  if (first.kind == Kind::number) return first.length;
  if (first.kind == Kind::space) {
    const size_t spaces = leading_spaces(text).length;
    if (spaces < text.size() && next_kind(text.substr(spaces)).kind == Kind::number) return spaces;
  }
  return gpt2_word_length(text);
}

/// @param numerals most of them in a word
size_t llama3_word_length(std::string_view text, int numerals) {
  if (text[0] == '\'')
    if (const size_t length = contraction_length(text, /*any_case=*/true)) return length;
  const KindStep first = next_kind(text);
  const bool ends_line = text[0] == '\r' || text[0] == '\n';
  // Any one character but a numeral and the end of a line may stand before letters.
  if (first.kind != Kind::number && !ends_line) {
    const size_t before = first.kind == Kind::letter ? 0 : first.length;
    if (const size_t letters = run_length(text, before, Kind::letter)) return before + letters;
  }
  if (first.kind == Kind::number) {
    size_t end = first.length;
    while (--numerals > 0 && end < text.size()) {
      const KindStep step = next_kind(text.substr(end));
      if (step.kind != Kind::number) break;
      end += step.length;
    }
    return end;
  }
  // Punctuation takes the ends of lines behind it along.
  const size_t blank = text[0] == ' ' ? 1 : 0;
  if (const size_t run = run_length(text, blank, Kind::other)) {
    size_t end = blank + run;
    while (end < text.size() && (text[end] == '\r' || text[end] == '\n')) ++end;
    return end;
  }
  const Spaces spaces = leading_spaces(text);
  return spaces.through_line > 0 ? spaces.through_line : space_length(spaces, text);
}

}  // namespace

size_t word_length(WordSplit split, std::string_view text) {
  if (text.empty()) return 0;
  switch (split) {
    case WordSplit::gpt2:
      return gpt2_word_length(text);
    case WordSplit::gpt2_digits:
      return gpt2_digits_word_length(text);
    case WordSplit::llama3:
      return llama3_word_length(text, 3);
    case WordSplit::qwen2:
      return llama3_word_length(text, 1);
  }
  return text.size();
}

size_t safe_word_cut(WordSplit split, std::string_view text) {
  // Only ASCII white space is looked for: it cannot be a part of another character. Where
  // punctuation takes the ends of lines along, nothing may be cut before one.
  const bool keeps_lines = split == WordSplit::llama3 || split == WordSplit::qwen2;
  const auto is_ascii_space = [](unsigned char c) { return c < 0x80 && is_space(c); };
  for (size_t cut = text.size(); cut-- > 1;) {
    if (!is_ascii_space(text[cut]) || is_ascii_space(text[cut - 1])) continue;
    if (keeps_lines && (text[cut] == '\r' || text[cut] == '\n')) continue;
    // Other white space may end just before it: go back to the start of that character.
    size_t start = cut - 1;
    while (start > 0 && cut - start < 4 && (text[start] & 0xC0) == 0x80) --start;
    if (next_kind(text.substr(start, cut - start)).kind != Kind::space) return cut;
  }
  return 0;
}

}  // namespace zoo
