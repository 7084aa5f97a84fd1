#include "core/unicode.h"

#include <gtest/gtest.h>

#include <vector>

namespace zoo {
namespace {

std::string lower(std::string_view text) {
  std::string out;
  append_lower_case(text, out);
  return out;
}

TEST(Unicode, LowerCase) {  // as Python's str.lower()
  EXPECT_EQ(lower("ABC xyz 1"), "abc xyz 1");
  EXPECT_EQ(lower("ÀÉ ЁЛКА ẞ Ǆǅ"), "àé ёлка ß ǆǆ");
  EXPECT_EQ(lower("İ"), "i\u0307");
  EXPECT_EQ(lower("ΟΔΟΣ ΣΑΣ, Σ ΑΣΑ ΑΣ. ΑΣ'Α"), "οδος σας, σ ασα ας. ασ'α");
  EXPECT_EQ(lower("\u212A"), "k");
  EXPECT_EQ(lower("A\xffZ"), "a\xffz");
}

TEST(Unicode, Composes) {  // as Python's unicodedata.normalize("NFC", …)
  for (const auto& [text, wanted] : std::initializer_list<std::pair<const char*, const char*>>{
           {"plain", "plain"},
           {"n\u0303 e\u0301", "\u00F1 \u00E9"},
           {"\u212B", "\u00C5"},
           {"a\u0307\u0323", "\u1EA1\u0307"},
           {"\u1100\u1161\u11A8", "\uAC01"},
           {"\u0958", "\u0915\u093C"},  // excluded from composition
           {"\u0344", "\u0308\u0301"},
           {"", ""},
           {"e\u0301\xFFn\xE4\u0303", "\u00E9\xFFn\xE4\u0303"}})
    EXPECT_EQ(composed(text), wanted) << text;
}

TEST(Unicode, WordsBetweenAllWhiteSpace) {
  std::vector<std::string> words;
  for_each_word(" a\tb\u00a0c\u2003d\u3000\u200be\x1c\xc2\xe2\r",
                [&](std::string_view word) { words.emplace_back(word); });
  EXPECT_EQ(words, (std::vector<std::string>{"a", "b", "c", "d", "\u200be", "\xc2\xe2"}));
  EXPECT_EQ(trim_unicode(" \u2003x y\u00a0\u3000 \n"), "x y");
  EXPECT_EQ(trim_unicode_end(" x\u2028"), " x");
  EXPECT_EQ(trim_unicode("\u3000 "), "");
  EXPECT_EQ(trim_unicode_end("\x80"), "\x80");
}

TEST(Unicode, Classes) {
  EXPECT_EQ(char_class('a'), CharClass::letter);
  EXPECT_EQ(char_class(U'\u0301'), CharClass::mark);
  EXPECT_EQ(char_class(U'\u2167'), CharClass::number);
  EXPECT_EQ(char_class(U'\u3002'), CharClass::punctuation);
  EXPECT_EQ(char_class(U'\u20ac'), CharClass::symbol);
  EXPECT_EQ(char_class(U'\u3000'), CharClass::separator);
  EXPECT_EQ(char_class('\n'), CharClass::other);
}

TEST(Unicode, CodePoints) {
  std::u32string code_points;
  append_code_points("aé\xff🦊", code_points);
  EXPECT_EQ(code_points, U"aé\uFFFD\U0001F98A");
}

}  // namespace
}  // namespace zoo
