#include "decoding/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "decoding/context.h"
#include "tests/decoding/fake_models.h"
#include "tests/decoding/piece_tokenizer.h"

namespace zoo {
namespace {

using testing::FunctionLm;
using testing::PieceTokenizer;
using Ids = std::vector<int64_t>;
using Prompts = std::vector<Ids>;

std::vector<Ids> tokens_of(const std::vector<std::vector<Generation>>& outputs) {
  std::vector<Ids> tokens;
  for (const auto& samples : outputs)
    for (const Generation& output : samples) tokens.push_back(output.tokens);
  return tokens;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Generate, EachRowStopsAtItsOwnEnd) {  // SAM-7
  FunctionLm model(4, 16, testing::model_a_logits());
  const GenerationOptions options{.max_new_tokens = 6};
  const GenerateArgs args{.eos = 3};
  const std::vector<Ids> expected = {{3}, {2, 3}, {3}};
  const auto together = generate(model, {{0}, {1}, {2}}, options, args);
  EXPECT_EQ(tokens_of(together), expected);
  for (const auto& output : together) EXPECT_EQ(output[0].finish_reason, FinishReason::eos);
  // Rows that have ended cost nothing: three rows, then one.
  EXPECT_EQ(model.calls, 2);
  EXPECT_EQ(model.rows_read, 4);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(tokens_of(generate(model, {{static_cast<int64_t>(i)}}, options, args))[0],
              expected[i]);
}

TEST(Generate, LengthAndEos) {
  FunctionLm model(4, 16, testing::model_a_logits());
  const auto one = generate(model, {{1}}, {.max_new_tokens = 1}, {.eos = 3})[0][0];
  EXPECT_EQ(one.tokens, (Ids{2}));
  EXPECT_EQ(one.finish_reason, FinishReason::length);
  const auto on =
      generate(model, {{1}}, {.max_new_tokens = 5, .ignore_eos = true}, {.eos = 3})[0][0];
  EXPECT_EQ(on.tokens.size(), 5);
  EXPECT_EQ(on.finish_reason, FinishReason::length);
  const auto later =
      generate(model, {{1}}, {.max_new_tokens = 9, .min_new_tokens = 4}, {.eos = 3})[0][0];
  EXPECT_EQ(later.tokens,
            (Ids{2, 1, 2, 1, 2, 3}));  // the 4th token ends nothing yet: 1 is best after 2
}

TEST(Generate, MaxNewTokensZeroFillsTheContext) {
  FunctionLm model(7, 16, testing::hashed_logits(7));
  EXPECT_EQ(generate(model, {{1, 2, 3}}, {})[0][0].tokens.size(), 13);
  EXPECT_NE(error_of([&] {
              generate(model, {Ids(16, 1)}, {});
            }).find("prompt 0 has 16 tokens and fills the model's context of 16"),
            std::string::npos);
}

TEST(Generate, ScoresAreLogProbabilitiesOfTheModel) {
  FunctionLm model(4, 16, testing::model_a_logits());
  const double first = testing::model_a_log_probability(1, 2),
               end = testing::model_a_log_probability(2, 3);
  for (const GenerationOptions& options :
       {GenerationOptions{.max_new_tokens = 6},
        // Neither penalties nor truncation change what the model says.
        GenerationOptions{.max_new_tokens = 6,
        .sample = true,
        .temperature = .1,
        .top_k = 1,
        .presence_penalty = .1}}) {
    const auto sum = generate(model, {{1}}, options, {.eos = 3, .scores = Scores::sum})[0][0];
    EXPECT_NEAR(sum.log_probability, first + end, 1e-6);
    EXPECT_NEAR(sum.score, first + end, 1e-6);
    EXPECT_TRUE(sum.token_log_probabilities.empty());
    const auto each = generate(model, {{1}}, options, {.eos = 3, .scores = Scores::token})[0][0];
    ASSERT_EQ(each.token_log_probabilities.size(), 2);
    EXPECT_NEAR(each.token_log_probabilities[0], first, 1e-6);
    EXPECT_NEAR(each.token_log_probabilities[1], end, 1e-6);
  }
}

/// 20 prompts of 1 to 9 tokens.
Prompts some_prompts() {
  Prompts prompts;
  for (int64_t i = 0; i < 20; ++i) {
    Ids prompt;
    for (int64_t t = 0; t < 1 + i * 7 % 9; ++t) prompt.push_back((i * 5 + t * 3) % 11);
    prompts.push_back(prompt);
  }
  return prompts;
}

std::vector<Ids> in_batches(FunctionLm& model, const GenerationOptions& options, GenerateArgs args,
                            size_t batch_size) {
  const Prompts prompts = some_prompts();
  std::vector<Ids> tokens;
  for (size_t first = 0; first < prompts.size(); first += batch_size) {
    args.first_row = first;
    const Prompts part(
        prompts.begin() + static_cast<int64_t>(first),
        prompts.begin() + static_cast<int64_t>(std::min(prompts.size(), first + batch_size)));
    for (Ids& ids : tokens_of(generate(model, part, options, args)))
      tokens.push_back(std::move(ids));
  }
  return tokens;
}

TEST(Generate, DrawsDependOnNeitherBatchNorCacheNorThreads) {
  FunctionLm model(11, 16, testing::hashed_logits(11));
  // 60 new tokens in a context of 16: the window slides many times, at another time for each row.
  for (const GenerationOptions& options :
       {GenerationOptions{.max_new_tokens = 60}, GenerationOptions{.max_new_tokens = 60,
                                                 .sample = true,
                                                 .temperature = 2,
                                                 .top_p = .95,
                                                 .repetition_penalty = 1.1,
                                                 .repeat_last_n = 5}}) {
    const std::vector<Ids> alone = in_batches(model, options, {.eos = 10}, 1);
    EXPECT_EQ(in_batches(model, options, {.eos = 10}, 3), alone);
    EXPECT_EQ(in_batches(model, options, {.eos = 10}, 20), alone);
    EXPECT_EQ(in_batches(model, options, {.eos = 10, .use_cache = false}, 20), alone);
    const int threads = torch::get_num_threads();
    torch::set_num_threads(threads == 1 ? 2 : 1);
    EXPECT_EQ(in_batches(model, options, {.eos = 10}, 20), alone);
    torch::set_num_threads(threads);
  }
}

TEST(Generate, SeedsAndRowsDrawDifferently) {
  FunctionLm model(11, 64, testing::hashed_logits(11));
  const GenerationOptions options{.max_new_tokens = 20, .sample = true, .temperature = 2};
  const auto same_prompt = tokens_of(generate(model, {{1}, {1}}, options));
  EXPECT_NE(same_prompt[0], same_prompt[1]);
  EXPECT_EQ(tokens_of(generate(model, {{1}}, options))[0], same_prompt[0]);
  EXPECT_EQ(tokens_of(generate(model, {{1}}, options, {.first_row = 1}))[0], same_prompt[1]);
  EXPECT_NE(tokens_of(generate(model, {{1}}, options, {.seed = 1}))[0], same_prompt[0]);
}

TEST(Generate, SamplesOfOnePromptDifferAndShareItsReading) {
  FunctionLm model(11, 64, testing::hashed_logits(11));
  const GenerationOptions options{.max_new_tokens = 20, .sample = true, .temperature = 2};
  const Prompts prompts = {{1, 2, 3}, {4, 5}};
  const auto three = generate(model, prompts, options, {.num_samples = 3});
  ASSERT_EQ(three.size(), 2);
  ASSERT_EQ(three[0].size(), 3);
  EXPECT_EQ(model.tokens_read, 2 * 3 + 6 * 19);
  EXPECT_NE(three[0][0].tokens, three[0][1].tokens);
  EXPECT_NE(three[0][1].tokens, three[0][2].tokens);
  const auto one = generate(model, prompts, options);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(one[i][0].tokens, three[i][0].tokens);
}

TEST(Generate, FrequenciesAreTheProbabilities) {
  FunctionLm model(4, 16, testing::model_a_logits());
  constexpr int64_t kDraws = 20000;
  const auto outputs =
      generate(model, {{0}}, {.max_new_tokens = 1, .sample = true}, {.num_samples = kDraws});
  std::array<double, 4> counts{};
  for (const Generation& output : outputs[0]) ++counts[static_cast<size_t>(output.tokens[0])];
  double statistic = 0;
  for (int64_t id = 1; id < 4; ++id) {
    const double expected = std::exp(testing::model_a_log_probability(0, id)) * kDraws;
    const double difference = counts[static_cast<size_t>(id)] - expected;
    statistic += difference * difference / expected;
  }
  EXPECT_LT(statistic, 9.21);  // chi-square, 2 degrees of freedom, 1 %
  EXPECT_EQ(counts[0], 0);
}

TEST(Generate, TopKBeyondTheVocabularyChangesNothing) {  // SAM-5
  FunctionLm model(4, 64, testing::model_a_logits());
  std::set<std::vector<Ids>> texts;
  for (const int64_t top_k : {0, 4, 5, 100000})
    texts.insert(tokens_of(
        generate(model, {{0}, {1}},
                 {.max_new_tokens = 30, .sample = true, .top_k = top_k, .ignore_eos = true})));
  EXPECT_EQ(texts.size(), 1);
}

/// Writes `output`, whatever it is asked.
FunctionLm::Function recite(Ids output, size_t prompt_length, int64_t vocab_size) {
  return [=](std::span<const int64_t> seen) {
    std::vector<float> logits(static_cast<size_t>(vocab_size), 0);
    logits[static_cast<size_t>(output.at(seen.size() - prompt_length))] = 9;
    return logits;
  };
}

TEST(Generate, StreamsWholeCharactersThatJoinToTheText) {  // TOK-1
  std::vector<std::string> pieces;
  for (int byte = 0; byte < 256; ++byte) pieces.emplace_back(1, static_cast<char>(byte));
  pieces.emplace_back("<end>");
  const PieceTokenizer tokenizer(pieces, 256);
  const std::string text = "hat \U0001F98A\u00E9";
  Ids output = tokenizer.encode(text);
  output.push_back(256);
  FunctionLm model(257, 64, recite(output, 1, 257));
  std::vector<std::string> shown;
  const auto result = generate(
      model, {{65}}, {},
      {.tokenizer = &tokenizer, .on_text = [&](size_t output_number, std::string_view piece) {
         EXPECT_EQ(output_number, 0);
         shown.emplace_back(piece);
       }})[0][0];
  EXPECT_EQ(shown, (std::vector<std::string>{"h", "a", "t", " ", "\U0001F98A", "\u00E9"}));
  EXPECT_EQ(result.text, text);
  EXPECT_EQ(result.tokens, output);
  EXPECT_EQ(result.finish_reason, FinishReason::eos);
}

TEST(Generate, StopTextsAcrossTokens) {
  const PieceTokenizer tokenizer({"one", " st", "op", " two", "s", "<end>"}, 5);
  FunctionLm model(6, 64, recite({0, 1, 4, 1, 2, 3, 5}, 1, 6));
  std::string streamed;
  const auto result =
      generate(model, {{0}}, {.stop = {" stop"}},
               {.tokenizer = &tokenizer,
                .on_text = [&](size_t, std::string_view piece) { streamed += piece; }})[0][0];
  EXPECT_EQ(result.text, "one sts");
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(result.tokens, (Ids{0, 1, 4, 1, 2}));
  EXPECT_EQ(result.finish_reason, FinishReason::stop);
  // What was held back comes out when the row ends otherwise.
  EXPECT_EQ(generate(model, {{0}}, {.max_new_tokens = 4, .stop = {" stop"}},
                     {.tokenizer = &tokenizer})[0][0]
                .text,
            "one sts st");
}

TEST(Generate, IdsWithoutTextAreNeverChosen) {
  const PieceTokenizer tokenizer({"a", "b"});
  FunctionLm model(4, 64, [](std::span<const int64_t>) { return std::vector<float>{0, 1, 9, 9}; });
  EXPECT_EQ(generate(model, {{0}}, {.max_new_tokens = 3}, {.tokenizer = &tokenizer})[0][0].text,
            "bbb");
}

TEST(Generate, ReadsEachTokenOnce) {
  FunctionLm model(11, 64, testing::hashed_logits(11));
  generate(model, {{1, 2, 3}}, {.max_new_tokens = 20});
  EXPECT_EQ(model.tokens_read, 3 + 19);
  EXPECT_EQ(model.calls, 20);
  EXPECT_EQ(model.states, 1);
}

TEST(Generate, AnUntrainedModeIsRestored) {
  FunctionLm model(4, 16, testing::model_a_logits());
  model.train();
  generate(model, {{0}}, {.max_new_tokens = 1});
  EXPECT_TRUE(model.is_training());
}

TEST(Generate, NoPromptsNoOutputs) {
  FunctionLm model(4, 16, testing::model_a_logits());
  EXPECT_TRUE(generate(model, {}, {}).empty());
}

TEST(Generate, Refuses) {
  FunctionLm model(4, 16, testing::model_a_logits());
  const auto message = [&](const Prompts& prompts, const GenerationOptions& options,
                           const GenerateArgs& args = {}) {
    return error_of([&] { generate(model, prompts, options, args); });
  };
  EXPECT_NE(message({{0}}, {.top_k = -1}).find("generation options: top_k: -1"), std::string::npos);
  EXPECT_NE(message({{0}, {}}, {}).find("prompt 1 has no token"), std::string::npos);
  EXPECT_NE(message({{0, 4}}, {}).find("prompt 0 holds the id 4"), std::string::npos);
  EXPECT_NE(message({{0}}, {.stop = {"x"}}).find("stop texts need a tokenizer"), std::string::npos);
  EXPECT_NE(message({{0}}, {}, {.num_samples = 0}).find("num_samples 0"), std::string::npos);
  EXPECT_NE(message({{0}}, {}, {.num_samples = 2}).find("num_samples 2 without sampling"),
            std::string::npos);
  EXPECT_NE(message({{0}}, {.beam_size = 2}, {.num_samples = 3}).find("num_samples 3"),
            std::string::npos);
  FunctionLm broken(4, 16, [](std::span<const int64_t>) {
    return std::vector<float>(4, std::numeric_limits<float>::quiet_NaN());
  });
  for (const GenerationOptions& options :
       {GenerationOptions{}, GenerationOptions{.sample = true}, GenerationOptions{.beam_size = 2}})
    EXPECT_THROW(generate(broken, {{0}}, options), NumericError);
}

TEST(EncodePrompt, EmptyTextBeginsWithWhatThereIs) {
  EXPECT_EQ(encode_prompt(PieceTokenizer({"a", "<end>"}, 1), "aa"), (Ids{0, 0}));
  EXPECT_EQ(encode_prompt(PieceTokenizer({"a", "<end>"}, 1), ""), (Ids{1}));
  EXPECT_EQ(encode_prompt(PieceTokenizer({"a", "\n"}), ""), (Ids{1}));
  EXPECT_NE(error_of([] { encode_prompt(PieceTokenizer({"a"}), ""); }).find("the text is empty"),
            std::string::npos);
}

TEST(WindowStart, DropsTheOlderHalfWhenFull) {
  EXPECT_EQ(window_start(16, 16), 0);
  EXPECT_EQ(window_start(17, 16), 8);
  EXPECT_EQ(window_start(24, 16), 8);
  EXPECT_EQ(window_start(25, 16), 16);
  EXPECT_EQ(window_start(6, 5), 2);
  EXPECT_EQ(window_start(2, 1), 1);
  for (int64_t max_length = 1; max_length < 20; ++max_length)
    for (int64_t length = 1; length < 100; ++length) {
      const int64_t window = length - window_start(length, max_length);
      EXPECT_GE(window, 1);
      EXPECT_LE(window, max_length);
    }
}

}  // namespace
}  // namespace zoo
