#include "data/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "tests/support/message_of.h"

namespace zoo {
namespace {

using testing::message_of;

std::pair<std::string, std::string> sides(const std::string& line) {
  const auto parts = split(line, '\t');
  EXPECT_EQ(parts.size(), 2u) << line;
  return {parts.at(0), parts.at(1)};
}

SyntheticData make(SyntheticTask task, int64_t train = 1000, int64_t valid = 200) {
  return make_synthetic({.task = task, .train = train, .valid = valid});
}

TEST(Synthetic, CopyAndReverseAnswerThePrompt) {
  for (const bool reverse : {false, true})
    for (const std::string& line :
         make(reverse ? SyntheticTask::reverse : SyntheticTask::copy).train) {
      auto [prompt, completion] = sides(line);
      ASSERT_EQ(prompt.back(), '>');
      prompt.pop_back();
      ASSERT_TRUE(!prompt.empty() && prompt.size() <= 10);
      if (reverse) std::reverse(prompt.begin(), prompt.end());
      ASSERT_EQ(completion, prompt + ".");
    }
}

TEST(Synthetic, SortIsSortedAndItsPartsAreDisjoint) {
  const SyntheticData data = make(SyntheticTask::sort, 3000, 3000);
  std::set<std::string> train;
  for (const std::string& line : data.train) {
    auto [prompt, completion] = sides(line);
    ASSERT_EQ(prompt.size(), 6u);
    ASSERT_EQ(prompt.find_first_not_of("012"), std::string::npos);
    train.insert(prompt);
    std::sort(prompt.begin(), prompt.end());
    ASSERT_EQ(completion, prompt);
  }
  for (const std::string& line : data.valid) ASSERT_FALSE(train.contains(sides(line).first));
}

TEST(Synthetic, AddHoldsEverySumOnce) {
  const SyntheticData data = make(SyntheticTask::add, INT64_MAX, 500);
  EXPECT_EQ(data.train.size(), 9500u);
  EXPECT_EQ(data.valid.size(), 500u);
  std::set<std::string> prompts;
  for (const auto* part : {&data.train, &data.valid})
    for (const std::string& line : *part) {
      const auto [prompt, completion] = sides(line);
      ASSERT_EQ(prompt.size(), 4u);
      prompts.insert(prompt);
      const int sum = std::stoi(prompt.substr(0, 2)) + std::stoi(prompt.substr(2));
      ASSERT_EQ(std::stoi(std::string(completion.rbegin(), completion.rend())), sum);
      ASSERT_EQ(completion.size(), 3u);
    }
  EXPECT_EQ(prompts.size(), 10000u);
}

TEST(Synthetic, InductionRepeatsWhatFollowedTheMark) {
  for (const std::string& line : make(SyntheticTask::induction).train) {
    const auto [prompt, completion] = sides(line);
    ASSERT_EQ(prompt.size(), 17u);
    ASSERT_EQ(prompt.back(), '?');
    ASSERT_EQ(std::count(prompt.begin(), prompt.end(), '?'), 2);
    ASSERT_EQ(completion, prompt.substr(prompt.find('?') + 1, 1));
  }
}

TEST(Synthetic, TheSeedDecides) {
  EXPECT_EQ(make(SyntheticTask::copy).train, make(SyntheticTask::copy).train);
  EXPECT_NE(make_synthetic({.seed = 1}).train, make_synthetic({.seed = 2}).train);
}

TEST(Synthetic, RefusesWhatCannotBe) {
  const auto refusal = [](SyntheticOptions options) {
    return message_of<ConfigError>([&] { make_synthetic(options); });
  };
  EXPECT_EQ(refusal({.task = SyntheticTask::add, .length = 9}),
            "synthetic data: length: must be in [1, 8] for add, found 9");
  EXPECT_EQ(refusal({.task = SyntheticTask::sort, .symbols = 11}),
            "synthetic data: symbols: must be in [2, 10] for sort, found 11");
  EXPECT_EQ(refusal({.task = SyntheticTask::add, .symbols = 5}),
            "synthetic data: symbols: must be 10 for add, found 5");
  EXPECT_EQ(refusal({.task = SyntheticTask::sort, .length = 2}),
            "synthetic data: length, symbols: 9 texts are too few to split for sort; at least 64");
  EXPECT_EQ(refusal({.task = SyntheticTask::add, .valid = 100, .length = 1}),
            "synthetic data: valid: there are 100 sums in all, found 100");
  EXPECT_EQ(refusal({.train = 0}),
            "synthetic data: train, valid: must be at least 1, found 0 and 500");
}

}  // namespace
}  // namespace zoo
