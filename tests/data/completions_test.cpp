#include "data/completions.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;

class CompletionsTest : public ::testing::Test {
 protected:
  TempFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  Completions read(std::string_view content, int64_t max_length = 100) {
    write_file(folder_ / "a.tsv", content);
    if (!tokenizer_) {
      write_file(folder_ / "alphabet.txt", "abcdefgh \t\n");
      tokenizer_ = train_tokenizer(CharTokenizerConfig{}, {folder_ / "alphabet.txt"});
    }
    return Completions({folder_ / "a.tsv"}, *tokenizer_, max_length);
  }
};

TEST_F(CompletionsTest, KeepsPairsAndCountsTheRest) {
  const Completions pairs = read("ab\tc\r\n\n \td\nabcdefgh\tab\nb\tef", 8);
  ASSERT_EQ(pairs.size(), 2);
  EXPECT_EQ(pairs.blank(), 2);
  EXPECT_EQ(pairs.too_long(), 1);
  const auto decoded = [&](int64_t i) {
    return tokenizer_->decode(std::vector<int64_t>(pairs[i].tokens.begin(), pairs[i].tokens.end()));
  };
  EXPECT_EQ(decoded(0), "abc");
  EXPECT_EQ(pairs[0].prompt_length, 2);
  EXPECT_EQ(decoded(1), "bef");
  EXPECT_EQ(pairs[1].prompt_length, 1);
}

TEST_F(CompletionsTest, EndsWithTheEndToken) {
  write_file(folder_ / "text.txt", "abc abc abc");
  tokenizer_ = train_tokenizer(BpeTokenizerConfig{.vocab_size = 258}, {folder_ / "text.txt"});
  const Completions pairs = read("a\tb\n");
  EXPECT_EQ(pairs[0].tokens.back(), tokenizer_->special_ids().eos.value());
}

TEST_F(CompletionsTest, NamesTheLineThatIsWrong) {
  const std::string file = utf8(folder_ / "a.tsv");
  EXPECT_EQ(
      message_of<DataError>([&] { read("a\tb\nab\n"); }),
      file + ":2: expected prompt<TAB>completion, found 0 tabs; every line needs exactly one");
  EXPECT_EQ(
      message_of<DataError>([&] { read("a\tb\tc\n"); }),
      file + ":1: expected prompt<TAB>completion, found 2 tabs; every line needs exactly one");
  EXPECT_TRUE(message_of<DataError>([&] { read("a\txyz\n"); }).starts_with(file + ":1: "));
  EXPECT_EQ(message_of<DataError>([&] { read("abc\tdef\n", 3); }),
            file +
                ": no usable pair of prompt and completion; blank: 0, longer than the model's "
                "max_length 3: 1");
}

TEST(ShuffledPair, EveryEpochIsAPermutation) {
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 97; ++i) seen.insert(shuffled_pair(epoch * 97 + i, 97, 5));
    EXPECT_EQ(seen.size(), 97u);
    EXPECT_EQ(*seen.rbegin(), 96);
  }
}

}  // namespace
}  // namespace zoo
