#include "core/utf8.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace zoo {
namespace {

std::string replace_at_once(std::string_view bytes) {
  Utf8Buffer buffer(true);
  const std::string text = buffer.push(bytes);
  return text + buffer.finish();
}

TEST(Utf8, every_character_comes_back) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string bytes;
    append_utf8(bytes, c);
    const Utf8Step step = next_utf8(bytes);
    ASSERT_TRUE(step.valid && !step.truncated) << code_point_name(c);
    ASSERT_EQ(step.code_point, c);
    ASSERT_EQ(step.length, bytes.size());
  }
}

// The examples of The Unicode Standard 15, section 3.9, tables 3-8 to 3-11: one U+FFFD for each
// maximal subpart.
TEST(Utf8, invalid_sequences_are_replaced_as_the_standard_recommends) {
  const std::string r = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", r + r + r + r + r + r + r + r + "A"},
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", r + r + r + r + r + "A" + r + r + "B"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", r + r + r + r + "A"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(replace_at_once(bytes), text);
}

TEST(Utf8, a_stream_does_not_depend_on_where_it_is_cut) {
  const std::string bytes =
      "h\xC3\xA9\xF0\x9F\xA6\x8A\xF0\x9F\xE1\x80\xFF\xED\xA0\x80z\xF0\x9F\xA6";
  for (const bool replace : {true, false})
    for (size_t first = 0; first <= bytes.size(); ++first)
      for (size_t second = first; second <= bytes.size(); ++second) {
        Utf8Buffer buffer(replace);
        std::string text = buffer.push(bytes.substr(0, first));
        text += buffer.push(bytes.substr(first, second - first));
        text += buffer.push(bytes.substr(second));
        text += buffer.finish();
        EXPECT_EQ(text, replace ? replace_at_once(bytes) : bytes);
      }
}

TEST(Utf8, positions_count_bytes_and_lines) {
  EXPECT_EQ(text_position("ab\ncd", 4), "offset 4 (line 2)");
  EXPECT_EQ(code_point_name(0xE9), "U+00E9");
  EXPECT_EQ(code_point_name(0x1F98A), "U+1F98A");
}

}  // namespace
}  // namespace zoo
