#include "decoding/processors.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace zoo {
namespace {

using Logits = std::vector<float>;
constexpr float kForbidden = -std::numeric_limits<float>::infinity();

Logits process(const GenerationOptions& options, Logits logits, const std::vector<int64_t>& history,
               int64_t num_new = 0) {
  const LogitsProcessors steps(options, /*eos=*/3, std::ssize(logits));
  steps.adjust(logits, {history, num_new});
  steps.forbid(logits, {history, num_new});
  return logits;
}

TEST(Processors, RepetitionPenaltyCountsEachTokenOnce) {  // SAM-3
  EXPECT_EQ(process({.repetition_penalty = 2}, {3, -1.5, .4F, -.2F}, {0, 1, 1}),
            (Logits{1.5, -3, .4F, -.2F}));
}

TEST(Processors, PenaltiesLookAtTheLastTokensOnly) {
  EXPECT_EQ(process({.repetition_penalty = 2, .repeat_last_n = 2}, {4, 4, 4, 4}, {0, 1, 2}),
            (Logits{4, 2, 2, 4}));
  EXPECT_EQ(process({.repetition_penalty = 2, .repeat_last_n = 0}, {4, 4, 4, 4}, {0, 1, 2}),
            (Logits{4, 4, 4, 4}));
  EXPECT_EQ(process({.repetition_penalty = 2, .repeat_last_n = 9}, {4, 4, 4, 4}, {0, 1, 2}),
            (Logits{2, 2, 2, 4}));
}

TEST(Processors, PresenceAndFrequency) {
  EXPECT_EQ(process({.presence_penalty = 1, .frequency_penalty = .5}, {0, 0, 0, 0}, {1, 2, 1, 1}),
            (Logits{0, -2.5, -1.5, 0}));
}

TEST(Processors, BiasComesBeforeThePenalties) {
  EXPECT_EQ(process({.repetition_penalty = 2, .logit_bias = {{0, 3.0}, {2, -HUGE_VAL}}},
                    {1, 1, 1, 1}, {0}),
            (Logits{2, 1, kForbidden, 1}));
}

TEST(Processors, NoNgramTwice) {
  EXPECT_EQ(process({.no_repeat_ngram_size = 2}, {0, 0, 0, 0}, {1, 2, 0, 1}),
            (Logits{0, 0, kForbidden, 0}));
  EXPECT_EQ(process({.no_repeat_ngram_size = 1}, {0, 0, 0, 0}, {1, 2}),
            (Logits{0, kForbidden, kForbidden, 0}));
  EXPECT_EQ(process({.no_repeat_ngram_size = 5}, {0, 0, 0, 0}, {1, 2}), (Logits{0, 0, 0, 0}));
}

TEST(Processors, BannedSequences) {
  const GenerationOptions options{.banned_sequences = {{0}, {1, 2}, {2, 1, 3}, {1, 1, 1, 1}}};
  EXPECT_EQ(process(options, {0, 0, 0, 0}, {2, 1}),
            (Logits{kForbidden, 0, kForbidden, kForbidden}));
  EXPECT_EQ(process(options, {0, 0, 0, 0}, {1, 0}), (Logits{kForbidden, 0, 0, 0}));
}

TEST(Processors, NoEndBeforeTheMinimum) {
  EXPECT_EQ(process({.min_new_tokens = 2}, {0, 0, 0, 9}, {1}, 1), (Logits{0, 0, 0, kForbidden}));
  EXPECT_EQ(process({.min_new_tokens = 2}, {0, 0, 0, 9}, {1}, 2), (Logits{0, 0, 0, 9}));
}

TEST(Processors, NoOptionNoStep) {
  EXPECT_TRUE(LogitsProcessors({}, 3, 4).empty());
  EXPECT_TRUE(LogitsProcessors({.temperature = .5, .top_k = 3}, 3, 4).empty());
  EXPECT_TRUE(LogitsProcessors({.min_new_tokens = 2}, std::nullopt, 4).empty());
  EXPECT_FALSE(LogitsProcessors({.min_new_tokens = 2}, 3, 4).empty());
}

TEST(Processors, RefuseForeignIds) {
  for (const GenerationOptions& options : {GenerationOptions{.logit_bias = {{4, 1.0}}},
                                           GenerationOptions{.banned_sequences = {{1, 4}}}}) {
    try {
      LogitsProcessors(options, 3, 4);
      FAIL();
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("id 4 is outside the vocabulary; allowed: 0 to 3"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace zoo
