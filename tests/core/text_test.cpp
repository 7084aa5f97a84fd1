#include "core/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace zoo {
namespace {

TEST(Text, JoinAndSplit) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a", "", "c"}, ", "), "a, , c");
  EXPECT_EQ(split("a,,c", ','), (std::vector<std::string>{"a", "", "c"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

TEST(Text, Trim) {
  EXPECT_EQ(trim(" \t\r\nx y\v\f"), "x y");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U) << "swapped neighbours are one slip";
}

TEST(Text, NearestFindsSlipsOnly) {
  const std::vector<std::string> known = {"d_model", "num_heads", "max_length"};
  EXPECT_EQ(nearest("dmodel", known), "d_model");
  EXPECT_EQ(nearest("D-Model", known), "d_model");
  EXPECT_EQ(nearest("num_haeds", known), "num_heads");
  EXPECT_EQ(nearest("learning_rate", known), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Text, Numbers) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(-999), "-999");
  EXPECT_EQ(with_thousands(-1000), "-1,000");
  EXPECT_EQ(with_thousands(124439808), "124,439,808");
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1500), "1.5 kB");
  EXPECT_EQ(human_bytes(999'600), "1.0 MB");
  EXPECT_EQ(human_bytes(497.8e6), "498 MB");
  EXPECT_EQ(human_bytes(1.5e9), "1.5 GB");
  EXPECT_EQ(exact_bytes(999), "999 B");
  EXPECT_EQ(exact_bytes(1'342'177'280), "1.34 GB");
  EXPECT_EQ(exact_bytes(10.737e9), "10.7 GB");
  EXPECT_EQ(exact_bytes(99.96e9), "100 GB");
  EXPECT_EQ(exact_bytes(999.6e9), "1.00 TB");
  EXPECT_EQ(exact_bytes(2.1e18), "2100 PB");
  EXPECT_EQ(human_seconds(12.34), "12.3s");
  EXPECT_EQ(human_seconds(59.96), "1m 00s");
  EXPECT_EQ(human_seconds(200), "3m 20s");
  EXPECT_EQ(human_seconds(7380), "2h 03m");
  EXPECT_EQ(human_seconds(-1), "?");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "?");
}

// TXT-1: only LF ends a line; one CR before it is dropped; the last LF may be missing.
TEST(Text, Lines) {
  const auto lines = [](std::string_view text) {
    std::vector<std::string> found;
    for_each_line(text, [&](std::string_view line) { found.emplace_back(line); });
    return found;
  };
  const std::vector<std::string> two = {"one two", "six"};
  EXPECT_EQ(lines("one two\nsix\n"), two);
  EXPECT_EQ(lines("one two\r\nsix\r\n"), two);
  EXPECT_EQ(lines("one two\nsix"), two);
  EXPECT_EQ(lines("one\rtwo\n"), std::vector<std::string>{"one\rtwo"});
  EXPECT_EQ(lines("a\r\r\n"), std::vector<std::string>{"a\r"});
  EXPECT_EQ(lines("\n\n"), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(lines(""), std::vector<std::string>{});
}

// The test vectors of RFC 4648, section 10.
TEST(Text, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFB\xFF"), "+/8=");
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(fixed(1.0 / 3, 4), "0.3333");
  EXPECT_EQ(fixed(-2, 0), "-2");
  EXPECT_EQ(human_count(284'812'000), "284.8 M");
  EXPECT_EQ(human_count(999.96), "1.0 k");
  EXPECT_EQ(human_count(12), "12");
  EXPECT_EQ(human_count(1.5583438e21), "1.6 Z");
  EXPECT_TRUE(is_blank(" \t\r"));
  EXPECT_TRUE(is_blank(""));
  EXPECT_FALSE(is_blank(" x "));
}

}  // namespace
}  // namespace zoo
