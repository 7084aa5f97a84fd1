// Norms, positions, feed-forwards, masks, cache and init, against closed forms and torch's own
// modules.

#include <gtest/gtest.h>

#include "nn/cache.h"
#include "nn/embedding.h"
#include "nn/feed_forward/gated.h"
#include "nn/feed_forward/mlp.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/mask.h"
#include "nn/norm/rms_norm.h"
#include "nn/position/alibi.h"
#include "nn/position/rope.h"
#include "nn/position/sinusoidal.h"
#include "nn/residual.h"
#include "nn/stream_linear.h"

namespace zoo {
namespace {

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

// IOP-5
// Against float64, with every kind of edge that a kernel's tiles have; and what a row gets does not
// depend on the rows beside it, so that a batch decodes as its sentences would alone.
TEST(Projection, EqualsFloat64AndEachRowStandsAlone) {
  torch::manual_seed(1);
  const torch::InferenceMode inference;
  for (const int64_t in : {1, 7, 16, 33, 512})
    for (const int64_t out : {1, 3, 4, 70})
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13, 300}) {
        const Tensor x = torch::randn({rows, in}), w = torch::randn({out, in}),
                     b = torch::randn({out});
        const Tensor y = project(x, w, b);
        const Tensor wanted =
            torch::linear(x.to(torch::kFloat64), w.to(torch::kFloat64), b.to(torch::kFloat64));
        EXPECT_LT((y - wanted).abs().max().item<double>(), 1e-5 * std::sqrt(in))
            << rows << " x " << in << " x " << out;
        if (!can_stream_linear(x, w)) continue;
        for (const int64_t row : {int64_t{0}, rows / 2, rows - 1})
          EXPECT_TRUE(torch::equal(y[row], project(x[row], w, b)))
              << "row " << row << " of " << rows << " x " << in << " x " << out;
      }
}

TEST(LayerNorm, EpsilonIsTheConfigs) {
  const Tensor x = torch::tensor({.001F, -.001F, .002F, -.002F});
  for (const auto& [eps, first] : {std::pair{1e-12, .632455}, {1e-6, .534522}, {1e-5, .282843}}) {
    Norm norm = make_norm(LayerNormConfig{.eps = eps}, 4);
    init_parameters(*norm, Gpt2InitConfig{}, 1);
    EXPECT_NEAR(norm->forward(x)[0].item<double>(), first, 1e-6) << eps;
  }
}

TEST(LayerNorm, BiasIsOptional) {
  EXPECT_EQ(make_norm(LayerNormConfig{.bias = false}, 4)->parameters().size(), 1U);
  EXPECT_EQ(make_norm(LayerNormConfig{}, 4)->parameters().size(), 2U);
}

TEST(RmsNorm, EqualsLayerNormWhenTheMeanIsZero) {
  torch::manual_seed(1);
  Tensor x = torch::randn({5, 8}, torch::kFloat64);
  x = x - x.mean(-1, true);
  const Tensor weight = torch::randn({8}, torch::kFloat64);
  EXPECT_LE(largest_difference(rms_norm(x, weight, 1e-6), at::layer_norm(x, {8}, weight, {}, 1e-6)),
            1e-12);
}

TEST(RmsNorm, GradientsMatchFiniteDifferences) {
  torch::manual_seed(2);
  Tensor x = torch::randn({2, 3}, torch::kFloat64).requires_grad_();
  Tensor weight = torch::randn({3}, torch::kFloat64).requires_grad_();
  const Tensor probe = torch::randn({2, 3}, torch::kFloat64);
  const auto loss = [&] { return (rms_norm(x, weight, 1e-6) * probe).sum(); };
  loss().backward();
  const torch::NoGradGuard no_grad;
  for (Tensor& input : std::vector<Tensor>{x, weight})
    for (int64_t i = 0; i < input.numel(); ++i) {
      Tensor place = input.flatten()[i];
      const double h = 1e-6, before = place.item<double>();
      place.fill_(before + h);
      const double up = loss().item<double>();
      place.fill_(before - h);
      const double down = loss().item<double>();
      place.fill_(before);
      EXPECT_NEAR(input.grad().flatten()[i].item<double>(), (up - down) / (2 * h), 1e-7);
    }
}

TEST(RmsNorm, HalfPrecisionDoesNotOverflow) {
  const Tensor x = torch::full({4}, 1000.0, torch::kHalf);  // its square is no half
  const Tensor y = rms_norm(x, torch::ones({4}, torch::kHalf), 1e-6);
  EXPECT_LE(largest_difference(y, torch::ones({4}, torch::kHalf)), 1e-3);
}

TEST(Sinusoidal, FollowsThePaperAndShiftsAreLinear) {
  const Tensor table = sinusoidal_table(50, 8, 10000).to(torch::kFloat64);
  EXPECT_NEAR(table[3][2].item<double>(), std::sin(3 / std::pow(10000, 2.0 / 8)), 1e-7);
  EXPECT_NEAR(table[3][3].item<double>(), std::cos(3 / std::pow(10000, 2.0 / 8)), 1e-7);
  // PE(p + k) = M_k PE(p), with a rotation for each pair (section 3.5).
  const int64_t k = 7;
  for (int64_t i = 0; i < 4; ++i) {
    const double angle = static_cast<double>(k) / std::pow(10000, 2.0 * static_cast<double>(i) / 8);
    const Tensor sines = table.select(1, 2 * i), cosines = table.select(1, 2 * i + 1);
    const Tensor moved = sines * std::cos(angle) + cosines * std::sin(angle);
    EXPECT_LE(largest_difference(moved.narrow(0, 0, 43), sines.narrow(0, k, 43)), 1e-6);
  }
}

TEST(Sinusoidal, HalvesHoldTheSameNumbersInAnotherOrder) {
  for (const int64_t width : {8, 7}) {
    const Tensor pairs = sinusoidal_table(9, width, 10000);
    const Tensor halves = sinusoidal_table(9, width, 10000, SinusoidalLayout::halves);
    const int64_t sines = (width + 1) / 2;
    EXPECT_TRUE(torch::equal(halves.narrow(1, 0, sines), pairs.slice(1, 0, width, 2)));
    EXPECT_TRUE(torch::equal(halves.narrow(1, sines, width - sines), pairs.slice(1, 1, width, 2)));
  }
}

TEST(Rope, ScoresDependOnTheDistanceOnly) {
  torch::manual_seed(4);
  for (const RopePairing pairing : {RopePairing::half, RopePairing::interleaved}) {
    const Tensor q = torch::randn({1, 1, 1, 16}, torch::kFloat64);
    const Tensor k = torch::randn({1, 1, 1, 16}, torch::kFloat64);
    const auto score = [&](double query_position, double key_position) {
      const auto turn = [&](const Tensor& x, double p) {
        const Tensor angle = p * torch::pow(10000, -torch::arange(8, torch::kFloat64) / 8);
        return rotate_pairs(x, angle.cos(), angle.sin(), pairing);
      };
      return (turn(q, query_position) * turn(k, key_position)).sum().item<double>();
    };
    for (const double shift : {1.0, 100.0, 10000.0})
      EXPECT_NEAR(score(5 + shift, 2 + shift), score(5, 2), 1e-9);
    EXPECT_GT(std::abs(score(5, 2) - score(6, 2)), 1e-6);
  }
}

TEST(Rope, PairingsDifferByAPermutationOfTheHead) {
  torch::manual_seed(4);
  const Tensor x = torch::randn({1, 2, 3, 8});
  const Tensor angle = torch::randn({3, 4});
  // Interleaved (2i, 2i + 1) is half (i, i + 4) with the elements dealt out in turn.
  const Tensor deal = torch::tensor({0, 2, 4, 6, 1, 3, 5, 7});
  const Tensor half =
      rotate_pairs(x.index_select(-1, deal), angle.cos(), angle.sin(), RopePairing::half);
  const Tensor interleaved = rotate_pairs(x, angle.cos(), angle.sin(), RopePairing::interleaved);
  EXPECT_LE(largest_difference(half, interleaved.index_select(-1, deal)), 1e-6);
}

TEST(Rope, RefusesOddHeads) {
  EXPECT_THROW(make_position(RopePositionConfig{}, {16, 6, 2, 3}), ConfigError);
}

TEST(Alibi, SlopesAreThePapers) {
  const Tensor eight = alibi_slopes(8);
  for (int64_t h = 0; h < 8; ++h)
    EXPECT_EQ(eight[h].item<double>(), std::exp2(-static_cast<double>(h + 1)));
  // 12 heads: those of 8, then 1st, 3rd, 5th, 7th of 16.
  EXPECT_NEAR(alibi_slopes(12)[8].item<double>(), std::exp2(-0.5), 1e-7);
  EXPECT_NEAR(alibi_slopes(12)[11].item<double>(), std::exp2(-3.5), 1e-7);
}

TEST(Alibi, BiasIsMinusSlopeTimesDistance) {
  const Position position = make_position(AlibiPositionConfig{}, {16, 8, 2, 4});
  const PositionTables tables =
      position->prepare({.past = 3, .length = 2, .left_pad = {}}, torch::zeros({1}));
  ASSERT_EQ(tables.bias.sizes(), (std::vector<int64_t>{1, 2, 2, 5}));
  EXPECT_NEAR(tables.bias[0][0][1][1].item<double>(), -3.0 / 16, 1e-7);
}

TEST(FeedForward, GatedIsShazeersFormula) {
  torch::manual_seed(6);
  const auto part = std::make_shared<GatedFeedForwardImpl>(GatedFeedForwardConfig{.d_ff = 5}, 4);
  init_parameters(*part, XavierInitConfig{}, 1);
  const Tensor x = torch::randn({3, 4});
  const auto rows = part->gate_up->weight.chunk(2, 0);
  const Tensor gate = at::matmul(x, rows[0].t()), up = at::matmul(x, rows[1].t());
  const Tensor expected = at::matmul(gate * at::sigmoid(gate) * up, part->down->weight.t());
  EXPECT_LE(largest_difference(part->forward(x), expected), 1e-6);
}

TEST(FeedForward, GatedHasTheSizeOfAnMlp) {
  EXPECT_EQ((GatedFeedForwardConfig{}.inner_width(768)), 2048);
  EXPECT_EQ((GatedFeedForwardConfig{}.inner_width(128)), 344);
  EXPECT_EQ((MlpConfig{}.inner_width(768)), 3072);
}

TEST(FeedForward, ActivationsAreTheirFormulas) {
  const double x = 0.7;
  const Tensor in = torch::tensor({x}, torch::kFloat64);
  const auto value = [&](Activation a) { return activate(in, a)[0].item<double>(); };
  EXPECT_NEAR(value(Activation::gelu), x * 0.5 * (1 + std::erf(x / std::sqrt(2))), 1e-12);
  EXPECT_NEAR(value(Activation::gelu_tanh),
              0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))), 1e-12);
  EXPECT_NEAR(value(Activation::silu), x / (1 + std::exp(-x)), 1e-12);
  EXPECT_NEAR(activate(-in, Activation::relu)[0].item<double>(), 0, 0);
}

TEST(CausalMask, NeedsNoTensorWhereTorchsRuleIsEnough) {
  EXPECT_TRUE(causal_mask(0, 5, {}, {}, torch::kCPU).causal);
  const AttendOptions decoding = causal_mask(5, 1, {}, {}, torch::kCPU);
  EXPECT_FALSE(decoding.causal);
  EXPECT_FALSE(decoding.mask.defined());
}

TEST(CausalMask, ChunksSeeThePastAndPaddingOnlyItself) {
  const AttendOptions chunk = causal_mask(2, 2, {}, {}, torch::kCPU);
  EXPECT_TRUE(chunk.mask.equal(torch::tensor({{1, 1, 1, 0}, {1, 1, 1, 1}}, torch::kBool)));
  const AttendOptions padded = causal_mask(0, 3, torch::tensor({0, 2}), {}, torch::kCPU);
  EXPECT_TRUE(padded.mask[0][0].equal(torch::ones({3, 3}, torch::kBool).tril()));
  EXPECT_TRUE(padded.mask[1][0].equal(torch::eye(3, torch::kBool)));
}

TEST(KvCache, AppendsReordersAndKnowsItsCapacity) {
  KvCache cache({.num_layers = 1, .batch = 2, .num_kv_heads = 1, .capacity = 3, .head_dim = 1},
                torch::kFloat32);
  const auto step = [&](float first, float second) {
    const Tensor k = torch::tensor({first, second}).view({2, 1, 1, 1});
    const auto [keys, values] = cache.append(0, k, -k);
    cache.advance(1);
    EXPECT_TRUE(values.equal(-keys));
    return keys;
  };
  step(1, 10);
  EXPECT_TRUE(step(2, 20).flatten(1).equal(torch::tensor({{1.F, 2.F}, {10.F, 20.F}})));
  cache.reorder(torch::tensor({1, 1}));
  EXPECT_TRUE(step(3, 30).flatten(1).equal(torch::tensor({{10.F, 20.F, 3.F}, {10.F, 20.F, 30.F}})));
  EXPECT_THROW(step(4, 40), ShapeError);
}

TEST(Residual, DropsBeforeAddingAndNormsWhereTold) {
  Norm norm = make_norm(RmsNormConfig{}, 4);
  init_parameters(*norm, Gpt2InitConfig{}, 1);
  const Tensor x = torch::tensor({1.F, 2.F, 3.F, 4.F});
  const auto twice = [](const Tensor& in) { return 2 * in; };
  const Residual pre{NormPlacement::pre, 0, false}, post{NormPlacement::post, 0, false};
  EXPECT_TRUE(pre(x, *norm, twice).equal(x + 2 * norm->forward(x)));
  EXPECT_TRUE(post(x, *norm, twice).equal(norm->forward(3 * x)));
  // Where the sub-layer's output is dropped, x alone is left: it never passes through dropout.
  const Residual dropping{NormPlacement::pre, 0.9, true};
  torch::manual_seed(1);
  const Tensor y = dropping(x, *norm, twice);
  const Tensor kept = y != x;
  EXPECT_LT(kept.sum().item<int64_t>(), 4);
  EXPECT_TRUE(y.masked_select(kept.logical_not()).equal(x.masked_select(kept.logical_not())));
}

TEST(Init, ScalesResidualProjectionsAndLeavesNormsAtOne) {
  torch::manual_seed(7);
  const auto part = std::make_shared<MlpImpl>(MlpConfig{}, 256);
  init_parameters(*part, Gpt2InitConfig{}, 16);
  EXPECT_NEAR(part->up->weight.std().item<double>(), 0.02, 2e-4);
  EXPECT_NEAR(part->down->weight.std().item<double>(), 0.02 / 4, 5e-5);
  EXPECT_EQ(part->up->bias.abs().max().item<double>(), 0);
  init_parameters(*part, XavierInitConfig{}, 16);
  EXPECT_NEAR(part->up->weight.std().item<double>(), std::sqrt(2.0 / (256 + 1024)), 3e-4);
}

}  // namespace
}  // namespace zoo
