#include "tokenizer/bert_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/unicode.h"

namespace zoo {

namespace {

struct Capitals {
  char32_t first, last;
  int32_t distance;
};

#include "tokenizer/bert_characters.inc"

/// The canonical decomposition, but for characters that the reference leaves as they are.
std::u32string decomposed(std::u32string_view text) {
  std::u32string result;
  while (!text.empty()) {
    const auto whole =
        std::find_if(text.begin(), text.end(), [](char32_t c) { return is_in(kWhole, c); });
    const auto length = static_cast<size_t>(whole - text.begin());
    append_decomposed(text.substr(0, length), result);
    if (whole != text.end()) result += *whole;
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return result;
}

void append_lower(char32_t c, std::u32string& out) {
  for (const Capitals& capitals : kNewCapitals)
    if (c >= capitals.first && c <= capitals.last) {
      out += static_cast<char32_t>(static_cast<int32_t>(c) + capitals.distance);
      return;
    }
  append_lower_case(c, out);
}

/// Unicode's white space; U+001C … U+001F are controls here.
bool is_space(char32_t c) { return is_white_space(c) && !(c >= 0x1C && c <= 0x1F); }

/// The text without what is no part of it, with blanks for white space and around ideographs.
std::u32string cleaned(std::string_view text, const BertTextOptions& options) {
  std::u32string clean;
  clean.reserve(text.size());
  for_each_code_point(text, [&](char32_t c, std::string_view) {
    if (is_in(kDropped, c)) return;
    if (options.split_ideographs && is_in(kIdeographs, c))
      clean.append({U' ', c, U' '});
    else
      clean.push_back(is_space(c) ? U' ' : c);
  });
  return clean;
}

}  // namespace

void for_each_bert_word(std::string_view text, const BertTextOptions& options,
                        const std::function<void(std::string_view)>& use) {
  std::u32string clean = cleaned(text, options);
  if (options.strip_accents) {
    clean = decomposed(clean);
    std::erase_if(clean, [](char32_t c) { return is_in(kAccents, c); });
  }
  if (options.lowercase) {
    std::u32string lower;
    for (const char32_t c : clean) append_lower(c, lower);
    clean = std::move(lower);
  }
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) use(word);
    word.clear();
  };
  for (const char32_t c : clean) {
    const bool is_sign = is_in(kPunctuation, c);
    if (is_sign || is_space(c)) end_word();
    if (is_space(c)) continue;
    append_utf8(word, c);
    if (is_sign) end_word();
  }
  end_word();
}

}  // namespace zoo
