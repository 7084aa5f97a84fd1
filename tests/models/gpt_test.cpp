#include "models/gpt.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/zoo.h"

namespace zoo {
namespace {

std::shared_ptr<CausalLm> build(const GptConfig& config, uint64_t seed = 1) {
  torch::manual_seed(seed);
  auto model = make_causal_lm(config);
  model->eval();
  return model;
}

GptConfig preset_with_vocabulary(const std::string& name, int64_t vocab_size) {
  GptConfig config = GptConfig::preset(name);
  config.vocab_size = vocab_size;
  return config;
}

GptConfig tiny() {
  GptConfig config = preset_with_vocabulary("modern", 31);
  config.num_layers = 2;
  config.d_model = 32;
  return config;
}

double first_loss(CausalLm& model, int64_t batch, int64_t length) {
  const torch::NoGradGuard no_grad;
  const Tensor tokens = torch::randint(model.vocab_size(), {batch, length + 1}, torch::kLong);
  const Tensor logits = model.forward(tokens.narrow(1, 0, length));
  return at::cross_entropy_loss(logits.flatten(0, 1), tokens.narrow(1, 1, length).flatten())
      .item<double>();
}

// Counts that their authors publish, or V d + n d + L (12 d^2 + 13 d) + 2 d where they do not.
TEST(Gpt, ParameterCountsAreExact) {
  const auto count = [](const GptConfig& config) {
    return count_parameters(*make_causal_lm(config, Parameters::allocated));
  };
  EXPECT_EQ(count(preset_with_vocabulary("nanogpt-cpu", 65)), 804'096);
  EXPECT_EQ(count(GptConfig::preset("gpt2")), 124'439'808);
  EXPECT_EQ(count(GptConfig::preset("gpt2-medium")), 354'823'168);
  EXPECT_EQ(count(GptConfig::preset("gpt2-large")), 774'030'080);
  EXPECT_EQ(count(GptConfig::preset("gpt2-xl")), 1'557'611'200);
  EXPECT_EQ(count(GptConfig::preset("gpt-mini")), 44'634'624);
  EXPECT_EQ(count(preset_with_vocabulary("nanogpt-gpu", 65)),
            65 * 384 + 256 * 384 + 6 * (12 * 384 * 384 + 2 * 384) + 384);
  EXPECT_LE(count(preset_with_vocabulary("modern", 65)), 810'000);
}

// With N(0, s) tied embeddings and a unit-variance final norm the logits are N(0, s^2 D), so that
// the first loss is ln V + s^2 D / 2: 4.20 for nanogpt-cpu, 10.98 for gpt2.
double expected_first_loss(const GptConfig& config) {
  return std::log(config.vocab_size) + 0.02 * 0.02 * static_cast<double>(config.d_model) / 2;
}

TEST(Gpt, FirstLossIsLnV) {
  for (const char* name : {"nanogpt-cpu", "modern"}) {
    const GptConfig config = preset_with_vocabulary(name, 65);
    EXPECT_NEAR(first_loss(*build(config), 12, 64), expected_first_loss(config), 0.05) << name;
    EXPECT_NEAR(expected_first_loss(config), std::log(65), 0.1);
  }
  GptConfig wide = GptConfig::preset("gpt2");
  wide.num_layers = 1;
  EXPECT_NEAR(first_loss(*build(wide), 2, 128), expected_first_loss(wide), 0.05);
}

// What common teaching material does: with N(0, 1) embeddings that are also the output projection
// the token just read gets a logit of about 512 / 1.2, and the loss starts near 375 instead
// of 10.9.
TEST(Gpt, UnitNormalTiedEmbeddingsStartFarFromLnV) {
  const GptConfig config = GptConfig::preset("gpt-mini");
  auto model = build(config);
  EXPECT_NEAR(first_loss(*model, 2, 128), expected_first_loss(config), 0.05);
  {
    const torch::NoGradGuard no_grad;
    model->named_parameters()["token_embedding.weight"].normal_(0, 1);
  }
  EXPECT_GT(first_loss(*model, 2, 128), 300);
}

// KVP-3
struct CacheCase {
  PositionConfig position;
  int64_t kv_heads;
};
class WithAndWithoutCache : public testing::TestWithParam<CacheCase> {};

TEST_P(WithAndWithoutCache, LogitsAreTheSame) {
  GptConfig config = tiny();
  config.position = GetParam().position;
  config.block.attention.num_kv_heads = GetParam().kv_heads;
  config.init = XavierInitConfig{};  // larger weights, so that slips show
  auto model = build(config);
  const c10::InferenceMode inference;
  const Tensor tokens = torch::randint(31, {2, 30}, torch::kLong);
  const Tensor whole = model->forward(tokens);  // (2, 30, V)
  auto state = model->start(2, 30);
  DecodeArgs args;
  args.state = state.get();
  // A first chunk, a second chunk with a past, then token by token.
  const Tensor first = model->forward(tokens.narrow(1, 0, 4), args);
  const Tensor second = model->forward(tokens.narrow(1, 4, 3), args);
  std::vector<Tensor> pieces = {first, second};
  for (int64_t t = 7; t < 30; ++t) pieces.push_back(model->forward(tokens.narrow(1, t, 1), args));
  EXPECT_EQ(state->length(), 30);
  EXPECT_LE((torch::cat(pieces, 1) - whole).abs().max().item<double>(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Positions, WithAndWithoutCache,
    testing::Values(CacheCase{LearnedPositionConfig{}, 4}, CacheCase{LearnedPositionConfig{}, 1},
                    CacheCase{SinusoidalPositionConfig{}, 2}, CacheCase{RopePositionConfig{}, 4},
                    CacheCase{RopePositionConfig{.pairing = RopePairing::interleaved}, 2},
                    CacheCase{AlibiPositionConfig{}, 4}, CacheCase{AlibiPositionConfig{}, 2},
                    CacheCase{NoPositionConfig{}, 2}));

// KVP-1, KVP-5
class Padded : public testing::TestWithParam<PositionConfig> {};

TEST_P(Padded, RowsOfABatchEqualSingleRows) {
  GptConfig config = tiny();
  config.position = GetParam();
  config.init = XavierInitConfig{};
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    config.block.placement = placement;
    auto model = build(config);
    {
      // Whatever the padding's embedding is, real positions must not see it.
      const torch::NoGradGuard no_grad;
      model->named_parameters()["token_embedding.weight"][30].fill_(1e30);
    }
    const c10::InferenceMode inference;
    const std::vector<int64_t> lengths = {2, 5, 9};
    Tensor batch = torch::full({3, 9}, 30, torch::kLong);
    std::vector<Tensor> rows;
    for (int64_t row = 0; row < 3; ++row) {
      rows.push_back(torch::randint(30, {1, lengths[row]}, torch::kLong));
      batch[row].narrow(0, 9 - lengths[row], lengths[row]).copy_(rows.back()[0]);
    }
    auto state = model->start(3, 12);
    DecodeArgs args;
    args.state = state.get();
    args.left_pad = torch::tensor({7, 4, 0});
    const Tensor logits = model->forward(batch, args);
    args.left_pad = Tensor();
    const Tensor next = torch::tensor({{1}, {2}, {3}});
    const Tensor more = model->forward(next, args);
    // Embedding 30 of the tied output is large too: compare the other logits.
    const auto difference = [](const Tensor& a, const Tensor& b) {
      return (a - b).narrow(-1, 0, 30).abs().max().item<double>();
    };
    for (int64_t row = 0; row < 3; ++row) {
      const Tensor alone = model->forward(torch::cat({rows[row], next.narrow(0, row, 1)}, 1))[0];
      EXPECT_LE(difference(logits[row].narrow(0, 9 - lengths[row], lengths[row]),
                           alone.narrow(0, 0, lengths[row])),
                1e-5);
      EXPECT_LE(difference(more[row][0], alone[lengths[row]]), 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, Padded,
                         testing::Values(PositionConfig{LearnedPositionConfig{}},
                                         PositionConfig{SinusoidalPositionConfig{}},
                                         PositionConfig{RopePositionConfig{}},
                                         PositionConfig{AlibiPositionConfig{}}));

TEST(Gpt, StatesAreReorderedWithTheirPadding) {
  auto model = build(tiny());
  const c10::InferenceMode inference;
  auto state = model->start(2, 8);
  DecodeArgs args;
  args.state = state.get();
  args.left_pad = torch::tensor({1, 0});
  const Tensor tokens = torch::randint(31, {2, 4}, torch::kLong);
  model->forward(tokens, args);
  args.left_pad = Tensor();
  state->reorder(torch::tensor({1, 0, 1}));
  EXPECT_EQ(state->batch(), 3);
  const Tensor logits = model->forward(torch::tensor({{5}, {5}, {5}}), args);
  const Tensor five = torch::tensor({5});
  EXPECT_LE((logits[0][0] - model->forward(torch::cat({tokens[1], five}).unsqueeze(0))[0][4])
                .abs()
                .max()
                .item<double>(),
            1e-5);
  EXPECT_LE((logits[1][0] -
             model->forward(torch::cat({tokens[0].narrow(0, 1, 3), five}).unsqueeze(0))[0][3])
                .abs()
                .max()
                .item<double>(),
            1e-5);
  EXPECT_TRUE(logits[0].allclose(logits[2]));
}

TEST(Gpt, LaterTokensDoNotChangeEarlierLogits) {
  auto model = build(preset_with_vocabulary("nanogpt-cpu", 65));
  const c10::InferenceMode inference;
  Tensor tokens = torch::randint(65, {1, 16}, torch::kLong);
  const Tensor before = model->forward(tokens);
  tokens[0][15] = (tokens[0][15] + 1) % 65;
  const Tensor after = model->forward(tokens);
  EXPECT_LE((before - after).narrow(1, 0, 15).abs().max().item<double>(), 1e-6);
  EXPECT_GT((before - after).abs().max().item<double>(), 1e-6);
}

TEST(Gpt, LastOnlyIsTheLastRow) {
  auto model = build(tiny());
  const c10::InferenceMode inference;
  const Tensor tokens = torch::randint(31, {3, 6}, torch::kLong);
  DecodeArgs args;
  args.last_only = true;
  const Tensor last = model->forward(tokens, args);
  EXPECT_EQ(last.sizes(), (std::vector<int64_t>{3, 1, 31}));
  EXPECT_LE((last - model->forward(tokens).narrow(1, 5, 1)).abs().max().item<double>(), 1e-6);
}

TEST(Gpt, TapCollectsWeightsAndHiddenStates) {
  auto model = build(tiny());
  const c10::InferenceMode inference;
  Tap tap{.want_attention = true, .want_hidden = true, .attention = {}, .hidden = {}};
  DecodeArgs args;
  args.tap = &tap;
  const Tensor tokens = torch::randint(31, {1, 6}, torch::kLong);
  const Tensor logits = model->forward(tokens, args);
  EXPECT_LE((logits - model->forward(tokens)).abs().max().item<double>(), 1e-5);
  ASSERT_EQ(tap.attention.size(), 2U);
  ASSERT_EQ(tap.hidden.size(), 3U);
  EXPECT_EQ(tap.attention[0].sizes(), (std::vector<int64_t>{1, 4, 6, 6}));
  EXPECT_LE((tap.attention[1].sum(-1) - 1).abs().max().item<double>(), 1e-6);
}

TEST(Gpt, EveryParameterGetsAGradientInEveryVariant) {
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post})
    for (const bool tied : {true, false})
      for (const PositionConfig& position :
           {PositionConfig{LearnedPositionConfig{}}, PositionConfig{RopePositionConfig{}}}) {
        GptConfig config = tiny();
        config.position = position;
        config.block.placement = placement;
        config.block.norm = LayerNormConfig{};
        config.block.feed_forward = MlpConfig{.activation = Activation::relu};
        config.block.attention.bias = true;
        config.tie_embeddings = tied;
        config.max_length = 8;
        auto model = build(config);
        model->forward(torch::arange(31).repeat({2}).narrow(0, 0, 56).view({7, 8}))
            .logsumexp(-1)
            .sum()
            .backward();
        for (const auto& item : model->named_parameters())
          EXPECT_TRUE(item.value().grad().defined()) << item.key();
        EXPECT_EQ(model->named_parameters().contains("output.weight"), !tied);
        EXPECT_EQ(model->named_parameters().contains("final_norm.weight"),
                  placement == NormPlacement::pre);
      }
}

TEST(Gpt, RefusesWhatDoesNotFit) {
  GptConfig config = tiny();
  config.block.attention.num_heads = 5;
  EXPECT_THROW(make_causal_lm(config), ConfigError);
  config = tiny();
  config.vocab_size = 0;
  EXPECT_THROW(make_causal_lm(config), ConfigError);
  auto model = build(tiny());
  EXPECT_THROW(model->forward(torch::zeros({1, 65}, torch::kLong)), ShapeError);
  EXPECT_THROW(model->forward(torch::zeros({65}, torch::kLong)), ShapeError);
  ModelConfig fitted = tiny();
  EXPECT_THROW(fit_to_vocabulary(fitted, 32, 32), ConfigError);
}

}  // namespace
}  // namespace zoo
