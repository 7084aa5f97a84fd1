#include "decoding/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/decoding/fake_models.h"
#include "tests/decoding/piece_tokenizer.h"

namespace zoo {
namespace {

using testing::FunctionLm;
using Ids = std::vector<int64_t>;

TEST(BeamSearch, EndsOnlyWhenNothingCanStillWin) {  // BEAM-3
  FunctionLm model(4, 16, testing::model_a_logits());
  for (const int64_t limit : {6, 10, 15}) {
    const auto plain =
        generate(model, {{0}}, {.max_new_tokens = limit, .beam_size = 2, .length_penalty = 0},
                 {.eos = 3})[0][0];
    EXPECT_EQ(plain.tokens, (Ids{3}));
    EXPECT_NEAR(plain.score, -.8675, 1e-4);
    const auto normalised =
        generate(model, {{0}}, {.max_new_tokens = limit, .beam_size = 2, .length_penalty = 1},
                 {.eos = 3})[0][0];
    EXPECT_EQ(normalised.tokens, (Ids{1, 2, 3}));
    EXPECT_NEAR(normalised.log_probability, -.9579, 1e-4);
    EXPECT_NEAR(normalised.score, -.9579 / 3, 1e-4);
    EXPECT_EQ(normalised.finish_reason, FinishReason::eos);
  }
}

/// Every output of up to `limit` tokens with its score, best first.
std::vector<std::pair<double, Ids>> all_outputs(const FunctionLm::Function& logits,
                                                const Ids& prompt, int64_t limit, double penalty) {
  std::vector<std::pair<double, Ids>> outputs;
  const std::function<void(Ids, double)> visit = [&](const Ids& tokens, double sum) {
    if (!tokens.empty() && (tokens.back() == 3 || std::ssize(tokens) == limit)) {
      outputs.emplace_back(sum / std::pow(std::ssize(tokens), penalty), tokens);
      return;
    }
    Ids seen = prompt;
    seen.insert(seen.end(), tokens.begin(), tokens.end());
    const std::vector<float> row = logits(seen);
    double total = 0;
    for (const float logit : row) total += std::exp(static_cast<double>(logit));
    for (int64_t id = 0; id < 4; ++id) {
      Ids longer = tokens;
      longer.push_back(id);
      visit(longer, sum + row[static_cast<size_t>(id)] - std::log(total));
    }
  };
  visit({}, 0);
  std::sort(outputs.begin(), outputs.end(), std::greater<>());
  return outputs;
}

TEST(BeamSearch, AsWideAsTheTreeItIsExhaustive) {
  const auto logits = testing::hashed_logits(4);
  FunctionLm model(4, 16, logits);
  for (const double penalty : {-.5, 0., .6, 1., 2.})
    for (const Ids& prompt : {Ids{0}, Ids{1, 2}, Ids{2, 0, 1}}) {
      const auto expected = all_outputs(logits, prompt, 5, penalty);
      const auto found = generate(
          model, {prompt}, {.max_new_tokens = 5, .beam_size = 243, .length_penalty = penalty},
          {.eos = 3, .num_samples = 20})[0];
      ASSERT_EQ(found.size(), 20);
      for (size_t rank = 0; rank < found.size(); ++rank) {
        EXPECT_NEAR(found[rank].score, expected[rank].first, 1e-5) << penalty;
        EXPECT_EQ(found[rank].tokens, expected[rank].second) << penalty;
      }
    }
}

TEST(BeamSearch, ResultsDependOnNeitherBatchNorCache) {  // BEAM-1
  FunctionLm model(9, 16, testing::hashed_logits(9));
  std::vector<Ids> prompts;
  for (int64_t i = 0; i < 12; ++i) {
    Ids prompt;
    for (int64_t t = 0; t < 1 + i * 5 % 15; ++t) prompt.push_back((i + t * t) % 9);
    prompts.push_back(prompt);
  }
  for (const double penalty : {0., 1.}) {
    // 20 new tokens in a context of 16: the windows slide.
    const GenerationOptions options{
        .max_new_tokens = 20, .beam_size = 4, .length_penalty = penalty};
    const auto run = [&](size_t batch_size, bool use_cache) {
      std::vector<std::pair<Ids, double>> results;
      for (size_t first = 0; first < prompts.size(); first += batch_size) {
        const auto last =
            prompts.begin() + static_cast<int64_t>(std::min(first + batch_size, prompts.size()));
        for (const auto& best :
             generate(model, {prompts.begin() + static_cast<int64_t>(first), last}, options,
                      {.eos = 8, .num_samples = 2, .use_cache = use_cache}))
          for (const Generation& output : best) results.emplace_back(output.tokens, output.score);
      }
      return results;
    };
    const auto alone = run(1, true);
    EXPECT_EQ(alone.size(), 24);
    EXPECT_EQ(run(2, true), alone);
    EXPECT_EQ(run(16, true), alone);
    EXPECT_EQ(run(16, false), alone);
  }
}

TEST(BeamSearch, EndsEarlyWhenNothingCanWin) {
  FunctionLm model(4, 512, testing::model_a_logits());
  generate(model, {{2}}, {.max_new_tokens = 500, .beam_size = 2, .length_penalty = 0}, {.eos = 3});
  EXPECT_EQ(model.calls, 1);  // the end token has .97
}

TEST(BeamSearch, ForbiddenTokensMakeNoOtherMoreProbable) {
  FunctionLm model(4, 16, testing::model_a_logits());
  const auto best = generate(
      model, {{2}}, {.max_new_tokens = 6, .min_new_tokens = 1, .beam_size = 2, .length_penalty = 0},
      {.eos = 3, .scores = Scores::token})[0][0];
  EXPECT_EQ(best.tokens, (Ids{1, 2, 3}));
  ASSERT_EQ(best.token_log_probabilities.size(), 3);
  EXPECT_NEAR(best.token_log_probabilities[0], testing::model_a_log_probability(2, 1), 1e-6);
  // With every token forbidden there is no output.
  EXPECT_THROW(
      generate(model, {{2}},
               {.max_new_tokens = 6,
                .beam_size = 2,
                .logit_bias = {{0, -HUGE_VAL}, {1, -HUGE_VAL}, {2, -HUGE_VAL}, {3, -HUGE_VAL}}},
               {.eos = 3}),
      ConfigError);
}

TEST(BeamSearch, StopTextsEndAHypothesis) {
  const testing::PieceTokenizer tokenizer({"a", "b", "c", "<end>"}, 3);
  FunctionLm model(4, 16, testing::model_a_logits());
  std::string streamed;
  const auto best =
      generate(model, {{0}}, {.max_new_tokens = 6, .beam_size = 2, .stop = {"bc"}},
               {.tokenizer = &tokenizer, .on_text = [&](size_t output, std::string_view text) {
                  EXPECT_EQ(output, 0);
                  streamed += text;
                }})[0][0];
  // "bc" is complete after two tokens, before the end token could come: ln .4 + ln .989, over 2.
  EXPECT_EQ(best.tokens, (Ids{1, 2}));
  EXPECT_EQ(best.finish_reason, FinishReason::stop);
  EXPECT_EQ(best.text, "");
  EXPECT_EQ(streamed, "");
}

}  // namespace
}  // namespace zoo
