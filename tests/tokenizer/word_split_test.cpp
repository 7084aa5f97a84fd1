#include "tokenizer/word_split.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zoo {
namespace {

using Words = std::vector<std::string>;

Words split_words(std::string_view text, WordSplit split = WordSplit::gpt2) {
  Words words;
  for_each_word(split, text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(WordSplit, white_space_leaves_its_last_character_to_the_next_word) {
  EXPECT_EQ(split_words("x  y"), (Words{"x", " ", " y"}));
  EXPECT_EQ(split_words("end  "), (Words{"end", "  "}));
  EXPECT_EQ(split_words("a\t\tb"), (Words{"a", "\t", "\t", "b"}));
  EXPECT_EQ(split_words(" \n  x"), (Words{" \n ", " x"}));
  EXPECT_EQ(split_words("if a:\n\n    b =  1\n"),
            (Words{"if", " a", ":", "\n\n   ", " b", " =", " ", " 1", "\n"}));
  EXPECT_EQ(split_words(""), (Words{}));
  EXPECT_EQ(split_words(" "), (Words{" "}));
  EXPECT_EQ(split_words("\n\nx"), (Words{"\n", "\n", "x"}));
}

TEST(WordSplit, contractions_are_lower_case_and_need_no_word) {
  EXPECT_EQ(split_words("I'll don't"), (Words{"I", "'ll", " don", "'t"}));
  EXPECT_EQ(split_words("DON'T"), (Words{"DON", "'", "T"}));
  EXPECT_EQ(split_words("'sx 's"), (Words{"'s", "x", " '", "s"}));
  EXPECT_EQ(split_words("''re"), (Words{"''", "re"}));
}

TEST(WordSplit, letters_numbers_and_the_rest_stand_apart) {
  EXPECT_EQ(split_words("a1_b 2.5"), (Words{"a", "1", "_", "b", " 2", ".", "5"}));
  EXPECT_EQ(split_words("Größe½²x"), (Words{"Größe", "½²", "x"}));
  EXPECT_EQ(split_words("你好，世界"), (Words{"你好", "，", "世界"}));
  // A combining mark is no letter.
  EXPECT_EQ(split_words("e\u0301a"), (Words{"e", "\u0301", "a"}));
  // Only the blank goes with the next word; other white space does not.
  EXPECT_EQ(split_words("a\u00A0b\u3000c"), (Words{"a", "\u00A0", "b", "\u3000", "c"}));
  // Not white space: the zero-width space and the information separators.
  EXPECT_EQ(split_words("a\u200Bb\x1C"), (Words{"a", "\u200B", "b", "\x1C"}));
}

TEST(WordSplit, bytes_that_are_not_utf8_count_as_punctuation) {
  EXPECT_EQ(split_words("a\xFF\xE4\xBD z \xC3"), (Words{"a", "\xFF\xE4\xBD", " z", " \xC3"}));
  EXPECT_EQ(split_words(std::string("\0\0a", 3)), (Words{std::string("\0\0", 2), "a"}));
}

TEST(WordSplit, of_llama3_and_qwen2) {
  EXPECT_EQ(split_words("I'LL (do) x\n\n y!\n\nz  12345", WordSplit::llama3),
            (Words{"I", "'LL", " (", "do", ")", " x", "\n\n", " y", "!\n\n", "z", " ", " ", "123",
                   "45"}));
  EXPECT_EQ(split_words("v12  3", WordSplit::qwen2), (Words{"v", "1", "2", " ", " ", "3"}));
  EXPECT_EQ(split_words("v12  3", WordSplit::gpt2_digits), (Words{"v", "1", "2", "  ", "3"}));
  // Punctuation takes the end of its line along: no cut before that.
  EXPECT_EQ(safe_word_cut(WordSplit::llama3, "a b!\n"), 1U);
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "a b!\n"), 4U);
}

TEST(WordSplit, words_joined_are_the_text) {
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < round % 40; ++i) {
      state = state * 1664525 + 1013904223;
      text += static_cast<char>(state >> 24);
    }
    for (const WordSplit split :
         {WordSplit::gpt2, WordSplit::gpt2_digits, WordSplit::llama3, WordSplit::qwen2}) {
      std::string joined;
      for (const std::string& word : split_words(text, split)) {
        ASSERT_FALSE(word.empty());
        joined += word;
      }
      EXPECT_EQ(joined, text);
    }
  }
}

TEST(WordSplit, a_text_may_be_cut_where_white_space_begins) {
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "one two  three"), 7u);
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "one\n\ttwo"), 3u);
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "one two  "), 7u);
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "one"), 0u);
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "  one"), 0u);
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, ""), 0u);
  // After other white space a blank begins nothing.
  EXPECT_EQ(safe_word_cut(WordSplit::gpt2, "a b\u3000 c"), 1u);
}

}  // namespace
}  // namespace zoo
