#include "nn/attend.h"

#include <gtest/gtest.h>

namespace zoo {
namespace {

struct Case {
  const char* name;
  int64_t query_heads, kv_heads, queries, keys;
  bool causal, bool_mask, float_mask;
};

class FusedAndExplicit : public testing::TestWithParam<Case> {};

TEST_P(FusedAndExplicit, AgreeForwardAndBackward) {
  const Case& c = GetParam();
  torch::manual_seed(3);
  const auto draw = [](int64_t heads, int64_t tokens) {
    return torch::randn({2, heads, tokens, 16}).requires_grad_();
  };
  AttendOptions options;
  options.causal = c.causal;
  if (c.bool_mask) options.mask = torch::rand({2, 1, c.queries, c.keys}) > 0.3;
  if (c.float_mask) options.mask = torch::randn({1, c.query_heads, c.queries, c.keys});
  Tensor q = draw(c.query_heads, c.queries), k = draw(c.kv_heads, c.keys),
         v = draw(c.kv_heads, c.keys);
  const Tensor weight = torch::randn({2, c.query_heads, c.queries, 16});
  std::vector<std::vector<Tensor>> results;
  for (const bool want_weights : {false, true}) {
    options.want_weights = want_weights;
    const Attended attended = attend(q, k, v, options);
    EXPECT_EQ(attended.weights.defined(), want_weights);
    const auto gradients = torch::autograd::grad({(attended.output * weight).sum()}, {q, k, v});
    results.push_back({attended.output, gradients[0], gradients[1], gradients[2]});
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    EXPECT_LE((results[0][i] - results[1][i]).abs().max().item<double>(), 1e-5) << "result " << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedAndExplicit,
                         testing::Values(Case{"plain", 4, 4, 7, 7, false, false, false},
                                         Case{"causal", 4, 4, 9, 9, true, false, false},
                                         Case{"grouped", 4, 2, 9, 9, true, false, false},
                                         Case{"multi_query", 6, 1, 5, 5, true, false, false},
                                         Case{"one_query", 4, 2, 1, 12, false, false, false},
                                         Case{"bool_mask", 4, 4, 5, 11, false, true, false},
                                         Case{"grouped_bool_mask", 4, 2, 5, 11, false, true, false},
                                         Case{"float_mask", 4, 2, 6, 6, false, false, true}),
                         [](const auto& info) { return info.param.name; });

// The formula of the paper, written once more with loops in float64.
TEST(Attend, FollowsTheFormula) {
  torch::manual_seed(5);
  const auto wide = torch::dtype(torch::kFloat64);
  const Tensor q = torch::randn({1, 2, 3, 4}, wide), k = torch::randn({1, 1, 3, 4}, wide),
               v = torch::randn({1, 1, 3, 4}, wide);
  const Attended attended = attend(q, k, v, {.causal = true, .want_weights = true});
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t t = 0; t < 3; ++t) {
      std::vector<double> e;
      double sum = 0;
      for (int64_t j = 0; j <= t; ++j) {
        e.push_back(std::exp((q[0][h][t] * k[0][0][j]).sum().item<double>() / 2));
        sum += e.back();
      }
      for (int64_t i = 0; i < 4; ++i) {
        double expected = 0;
        for (int64_t j = 0; j <= t; ++j) expected += e[j] / sum * v[0][0][j][i].item<double>();
        EXPECT_NEAR(attended.output[0][h][t][i].item<double>(), expected, 1e-12);
      }
      EXPECT_NEAR(attended.weights[0][h][t].sum().item<double>(), 1, 1e-12);
    }
}

// The kernel that torch chooses: 1 is flash, 0 is math (ATen's SDPBackend).
TEST(Attend, TakesTheFusedKernelOnCpu) {
  const Tensor q = torch::randn({2, 4, 8, 16});
  const Tensor k = torch::randn({2, 4, 8, 16}), v = torch::randn({2, 4, 8, 16});
  EXPECT_EQ(at::_fused_sdp_choice(q, k, v, {}, 0.0, true), 1);
  const Tensor mask = torch::ones({2, 1, 8, 8}, torch::kBool).tril();
  EXPECT_EQ(at::_fused_sdp_choice(q, k, v, mask, 0.0, false), 1);
  // The layout that AttentionImpl hands over: heads cut out of one projection.
  const Tensor heads = torch::randn({2, 8, 12, 16}).transpose(1, 2);
  EXPECT_EQ(at::_fused_sdp_choice(heads.narrow(1, 0, 4), heads.narrow(1, 4, 4),
                                  heads.narrow(1, 8, 4), {}, 0.0, true),
            1);
}

// KVP-5
TEST(Attend, QueryWithoutKeysGivesZeroAndFiniteGradients) {
  Tensor mask = torch::ones({1, 1, 3, 3}, torch::kBool);
  mask[0][0][1].fill_(false);
  for (const bool want_weights : {false, true}) {
    Tensor q = torch::randn({1, 2, 3, 4}).requires_grad_(),
           k = torch::randn({1, 2, 3, 4}).requires_grad_(),
           v = torch::randn({1, 2, 3, 4}).requires_grad_();
    const Tensor output = attend(q, k, v, {.mask = mask, .want_weights = want_weights}).output;
    EXPECT_EQ(output.select(2, 1).abs().max().item<double>(), 0);
    output.square().sum().backward();
    for (const Tensor& input : {q, k, v}) EXPECT_TRUE(input.grad().isfinite().all().item<bool>());
  }
}

// KVP-7
TEST(Attend, QueryHeadsShareKeyValueHeadsInOrder) {
  const Tensor q = torch::randn({1, 4, 1, 1}), k = torch::randn({1, 2, 1, 1});
  const Tensor v = torch::tensor({10.F, 20.F}).view({1, 2, 1, 1});
  for (const bool want_weights : {false, true}) {
    const Tensor output = attend(q, k, v, {.want_weights = want_weights}).output.flatten();
    EXPECT_TRUE(output.equal(torch::tensor({10.F, 10.F, 20.F, 20.F})));
  }
}

TEST(Attend, RefusesShapesThatDoNotFit) {
  const Tensor q = torch::randn({1, 4, 3, 8}), k = torch::randn({1, 3, 3, 8});
  EXPECT_THROW(attend(q, k, k), ShapeError);
  const Tensor longer = torch::randn({1, 4, 5, 8});
  EXPECT_THROW(attend(q, longer, longer, {.causal = true}), ShapeError);
  EXPECT_THROW(attend(q[0], q, q), ShapeError);
}

}  // namespace
}  // namespace zoo
