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

TEST(Synthetic, TranslationsAnswerTheSource) {
  for (const SyntheticTask task :
       {SyntheticTask::copy, SyntheticTask::reverse, SyntheticTask::sort}) {
    const SyntheticData data = make_synthetic({.task = task,
                                               .train = 2000,
                                               .valid = 500,
                                               .length = 8,
                                               .symbols = 12,
                                               .translation = true,
                                               .valid_length = 11,
                                               .test = 300});
    const auto check = [&](const std::vector<std::string>& lines, size_t count, size_t longest) {
      ASSERT_EQ(lines.size(), count);
      size_t found = 0;
      std::set<int> seen;
      for (const std::string& line : lines) {
        const auto [source, target] = sides(line);
        std::vector<int> numbers;
        for (const std::string& number : split(source, ' ')) numbers.push_back(std::stoi(number));
        found = std::max(found, numbers.size());
        seen.insert(numbers.begin(), numbers.end());
        if (task == SyntheticTask::reverse) std::reverse(numbers.begin(), numbers.end());
        if (task == SyntheticTask::sort) std::sort(numbers.begin(), numbers.end());
        std::vector<std::string> words;
        for (const int number : numbers) words.push_back(std::to_string(number));
        ASSERT_EQ(target, join(words, " "));
      }
      EXPECT_EQ(found, longest);
      EXPECT_EQ(seen.size(), 12u);
      EXPECT_EQ(*seen.rbegin(), 11);
    };
    check(data.train, 2000, 8);
    check(data.valid, 500, 11);
    check(data.test, 300, 11);
    EXPECT_NE(data.valid[0], data.test[0]);
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
  EXPECT_EQ(refusal({.task = SyntheticTask::add, .translation = true}),
            "synthetic data: translation: there is copy, reverse and sort, found add");
  EXPECT_EQ(refusal({.symbols = 1, .translation = true}),
            "synthetic data: symbols: must be at least 2, found 1");
  EXPECT_EQ(refusal({.translation = true, .valid_length = -1}),
            "synthetic data: length, valid_length: must be in [1, 100000], found 0 and -1");
  EXPECT_EQ(refusal({.valid = 0, .translation = true}),
            "synthetic data: train, valid, test: must be at least 1, 1 and 0, found 10000, 0 and "
            "1000");
  EXPECT_EQ(refusal({.train = 0}),
            "synthetic data: train, valid: must be at least 1, found 0 and 500");
}

}  // namespace
}  // namespace zoo
