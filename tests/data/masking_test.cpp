// Masks: Devlin et al. 2019, section 3.1.

#include "data/masking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"
#include "tests/support/small_wordpiece.h"

namespace zoo {
namespace {

constexpr int64_t kNone = -100, kCls = 2, kSep = 3, kMask = 4, kFirst = 5;

std::unique_ptr<Tokenizer> tokenizer() {
  std::vector<std::string> pieces;
  for (char c = 'a'; c <= 't'; ++c) pieces.push_back(std::string(1, c));         // 5 to 24
  for (char c = 'a'; c <= 'e'; ++c) pieces.push_back("##" + std::string(1, c));  // 25 to 29
  return testing::small_wordpiece(pieces);
}

/// [CLS], `count` of the tokens 5 to 24, [SEP].
std::vector<int64_t> text(int64_t count) {
  std::vector<int64_t> ids = {kCls};
  for (int64_t i = 0; i < count; ++i) ids.push_back(kFirst + i % 20);
  ids.push_back(kSep);
  return ids;
}

/// |share - p| within five standard deviations of `count` draws.
void expect_share(int64_t hits, int64_t count, double p) {
  const double n = static_cast<double>(count);
  EXPECT_NEAR(static_cast<double>(hits) / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

TEST(Masking, AMillionTokensHaveTheSharesOfThePaper) {
  const auto words = tokenizer();
  const Masking masking(*words, {});
  int64_t tokens = 0, chosen = 0, masked = 0, kept = 0, replaced = 0;
  std::map<int64_t, int64_t> replacements, places;
  for (uint64_t example = 0; example < 10'000; ++example) {
    std::vector<int64_t> ids = text(100);
    const std::vector<int64_t> before = ids;
    RandomStream random(7, example);
    const std::vector<int64_t> targets = masking.mask(ids, kNone, random);
    ASSERT_EQ(targets.size(), ids.size());
    EXPECT_EQ(targets.front(), kNone);
    EXPECT_EQ(targets.back(), kNone);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (targets[i] == kNone) {
        ASSERT_EQ(ids[i], before[i]);
        continue;
      }
      ASSERT_EQ(targets[i], before[i]);
      ++chosen;
      ++places[static_cast<int64_t>(i)];
      // A random token is the old one in one of 25 cases.
      if (ids[i] == kMask)
        ++masked;
      else if (ids[i] == before[i])
        ++kept;
      else
        ++replaced, ++replacements[ids[i]];
    }
    tokens += 100;
  }
  EXPECT_EQ(chosen, tokens * 15 / 100);  // 15 of each 100
  expect_share(masked, chosen, 0.8);
  expect_share(replaced, chosen, 0.1 * 24 / 25);
  expect_share(kept, chosen, 0.1 + 0.1 / 25);
  EXPECT_EQ(replacements.size(), 25);  // any token that is not special
  for (const auto& [id, count] : replacements) EXPECT_GE(id, kFirst);
  EXPECT_EQ(places.size(), 100);
  for (const auto& [place, count] : places) expect_share(count, 10'000, 0.15);
}

TEST(Masking, AtLeastOneTokenIsChosenAndNoSpecialOne) {
  const auto words = tokenizer();
  const Masking masking(*words, {.probability = 0.01});
  std::vector<int64_t> ids = {kCls, 6, kSep, 7, kSep};
  RandomStream random(1, 1);
  const std::vector<int64_t> targets = masking.mask(ids, kNone, random);
  EXPECT_EQ(std::count(targets.begin(), targets.end(), kNone), 4);
  std::vector<int64_t> special = {kCls, kSep};
  EXPECT_EQ(masking.mask(special, kNone, random), (std::vector<int64_t>{kNone, kNone}));
  EXPECT_EQ(special, (std::vector<int64_t>{kCls, kSep}));
}

TEST(Masking, WholeWordsAreChosenOrLeftAltogether) {
  const auto words = tokenizer();
  const Masking masking(*words, {.probability = 0.3, .whole_words = true});
  // Words of 1, 3 and 2 tokens, again and again; the first piece after [SEP] begins a word.
  std::vector<int64_t> before = {kCls};
  for (int i = 0; i < 5; ++i)
    for (const int64_t id : {5, 6, 25, 26, 7, 27}) before.push_back(id);
  before.push_back(kSep);
  before.push_back(28);
  before.push_back(kSep);
  int64_t most = 0;
  for (uint64_t example = 0; example < 200; ++example) {
    std::vector<int64_t> ids = before;
    RandomStream random(3, example);
    const std::vector<int64_t> targets = masking.mask(ids, kNone, random);
    int64_t chosen = 0;
    for (size_t i = 1; i < ids.size(); ++i) {
      chosen += targets[i] != kNone;
      const bool continues = words->continues_word(before[i]) && before[i - 1] != kSep;
      if (continues) {
        EXPECT_EQ(targets[i] == kNone, targets[i - 1] == kNone) << i;
      }
    }
    EXPECT_LE(chosen, 9);  // round(0.3 * 31)
    most = std::max(most, chosen);
  }
  EXPECT_EQ(most, 9);
  EXPECT_TRUE(words->continues_word(25));
  EXPECT_FALSE(words->continues_word(5));
  EXPECT_FALSE(words->continues_word(kMask));
}

TEST(Masking, SharesCanBeChosen) {
  const auto words = tokenizer();
  const Masking masking(*words, {.probability = 1, .mask_share = 0, .random_share = 0});
  std::vector<int64_t> ids = text(10);
  RandomStream random(1, 1);
  const std::vector<int64_t> targets = masking.mask(ids, kNone, random);
  EXPECT_EQ(ids, text(10));
  EXPECT_EQ(std::count(targets.begin(), targets.end(), kNone), 2);
}

TEST(Masking, NeedsAMaskToken) {
  const testing::TempFolder folder;
  write_file(folder / "vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n");
  const auto words = load_tokenizer(folder.path());
  EXPECT_THROW(Masking(*words, {}), ConfigError);
}

}  // namespace
}  // namespace zoo
