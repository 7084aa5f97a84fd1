// Recurrent layers against torch's, scores of recurrent attention against their formulas.

#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/safetensors.h"
#include "nn/init.h"
#include "nn/source_attention.h"

namespace zoo {
namespace {

double largest_difference(const Tensor& a, const Tensor& b) {
  return (a - b).abs().max().item<double>();
}

struct Kind {
  RecurrentCell cell;
  const char* name;
};
class TorchRecurrent : public testing::TestWithParam<Kind> {};

// tests/golden/models/seq2seq.py: two layers, both directions, packed rows of 5, 2 and 3 tokens.
TEST_P(TorchRecurrent, OutputsStatesAndGradientsAreEqual) {
  const SafetensorsFile golden(fs::path(ZOO_SOURCE_DIR) / "tests/golden/models" /
                               cat(GetParam().name, ".safetensors"));
  RecurrentImpl layers(
      {.cell = GetParam().cell, .input = 6, .hidden = 4, .layers = 2, .bidirectional = true});
  layers.to(torch::kFloat64);
  const auto parameters = layers.named_parameters();
  EXPECT_EQ(parameters.size(), 16U);
  for (const auto& item : parameters) item.value().set_data(golden.tensor("w." + item.key()));
  const Tensor x = golden.tensor("x.x").clone().requires_grad_();
  const auto result = layers.forward(x, golden.tensor("x.lengths"));
  EXPECT_LE(largest_difference(result.output, golden.tensor("y.output")), 1e-12);
  EXPECT_LE(largest_difference(result.state.h, golden.tensor("y.h")), 1e-12);
  Tensor loss = (result.output * golden.tensor("x.probe_output")).sum() +
                (result.state.h * golden.tensor("x.probe_h")).sum();
  if (result.state.c.defined()) {
    EXPECT_LE(largest_difference(result.state.c, golden.tensor("y.c")), 1e-12);
    loss = loss + (result.state.c * golden.tensor("x.probe_c")).sum();
  }
  loss.backward();
  EXPECT_LE(largest_difference(x.grad(), golden.tensor("g.x.x")), 1e-12);
  for (const auto& item : parameters)
    EXPECT_LE(largest_difference(item.value().grad(), golden.tensor("g." + item.key())), 1e-12)
        << item.key();
}

// The step-by-step way, whose gradients are written by hand, against torch's kernels.
TEST_P(TorchRecurrent, StepsEqualTheWholeWithGradients) {
  torch::manual_seed(3);
  RecurrentImpl layers({.cell = GetParam().cell, .input = 5, .hidden = 4, .layers = 2});
  layers.to(torch::kFloat64);
  for (const Tensor& parameter : layers.parameters()) parameter.data().normal_(0, 0.5);
  const Tensor x = torch::randn({3, 6, 5}, torch::kFloat64).requires_grad_();
  const RecurrentState start{torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_(),
                             GetParam().cell == RecurrentCell::lstm
                                 ? torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_()
                                 : Tensor()};
  std::vector<Tensor> inputs = layers.parameters();
  inputs.insert(inputs.end(), {x, start.h});
  if (start.c.defined()) inputs.push_back(start.c);
  const Tensor probe = torch::randn({3, 6, 4}, torch::kFloat64);

  const Tensor whole = layers.forward(x, {}, start).output;
  const auto expected = torch::autograd::grad({(whole * probe).sum()}, inputs);
  // Of the five inputs three are known beforehand.
  const RecurrentSteps steps(layers, 3);
  StepState state(start);
  const Tensor gates = steps.known_gates(x.narrow(2, 0, 3));
  std::vector<Tensor> outputs;
  for (int64_t t = 0; t < 6; ++t)
    outputs.push_back(steps.step(gates.select(1, t), x.select(1, t).narrow(1, 3, 2), state));
  const Tensor stepwise = torch::stack(outputs, 1);
  EXPECT_LE(largest_difference(stepwise, whole), 1e-12);
  const auto found = torch::autograd::grad({(stepwise * probe).sum()}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_LE(largest_difference(found[i], expected[i]), 1e-11) << i;
}

INSTANTIATE_TEST_SUITE_P(Cells, TorchRecurrent,
                         testing::Values(Kind{RecurrentCell::tanh, "rnn"},
                                         Kind{RecurrentCell::lstm, "lstm"},
                                         Kind{RecurrentCell::gru, "gru"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Recurrent, InitialisesByOptions) {
  torch::manual_seed(5);
  Recurrent layers(RecurrentOptions{.cell = RecurrentCell::lstm,
                                    .input = 64,
                                    .hidden = 32,
                                    .orthogonal = true,
                                    .forget_bias = 1});
  init_parameters(*layers, XavierInitConfig{}, 1);
  const auto& weights = layers->weights();
  for (const Tensor& gate : weights[1].split(32))
    EXPECT_LE(largest_difference(at::matmul(gate, gate.t()), torch::eye(32)), 1e-5);
  // Glorot's deviation goes by the gate, not by all four.
  EXPECT_NEAR(weights[0].std().item<double>(), std::sqrt(2.0 / (64 + 32)), 5e-3);
  EXPECT_EQ(weights[2].sum().item<double>(), 32);
  EXPECT_EQ(weights[2].narrow(0, 32, 32).min().item<double>(), 1);
  EXPECT_EQ(weights[3].abs().max().item<double>(), 0);
  layers = Recurrent(RecurrentOptions{.input = 64, .hidden = 32});
  init_parameters(*layers, UniformInitConfig{.scale = 0.1}, 1);
  for (const Tensor& weight : layers->weights()) EXPECT_LE(weight.abs().max().item<double>(), 0.1);
}

// ---- attention -------------------------------------------------------------------------------

struct Score {
  const char* name;
  SourceAttentionConfig config;
  int64_t d_memory;
};
class SourceScores : public testing::TestWithParam<Score> {};

TEST_P(SourceScores, FollowTheirFormulas) {
  torch::manual_seed(6);
  const int64_t d_memory = GetParam().d_memory;
  SourceScore score = make_source_score(GetParam().config, {4, d_memory});
  score->to(torch::kFloat64);
  for (const Tensor& parameter : score->parameters()) parameter.data().normal_();
  const auto parameters = score->named_parameters();
  const Tensor memory = torch::randn({2, 5, d_memory}, torch::kFloat64).requires_grad_();
  const Tensor query = torch::randn({2, 3, 4}, torch::kFloat64).requires_grad_();
  const Tensor lengths = torch::tensor({int64_t{5}, int64_t{2}});
  const Attended found = SourceView(*score, memory, lengths).attend(query);

  // Each score by itself.
  const auto one = [&](const Tensor& s, const Tensor& h) -> Tensor {
    const std::string name = GetParam().name;
    if (name == "dot") return s.dot(h);
    if (name == "scaled_dot") return s.dot(h) / 2;
    if (name == "general") return s.dot(at::mv(parameters["key.weight"], h));
    return parameters["score.weight"][0].dot(
        (at::mv(parameters["query.weight"], s) + at::mv(parameters["key.weight"], h)).tanh());
  };
  std::vector<Tensor> outputs;
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 3; ++t) {
      const auto length = lengths[b].item<int64_t>();
      std::vector<Tensor> scores;
      for (int64_t s = 0; s < length; ++s) scores.push_back(one(query[b][t], memory[b][s]));
      const Tensor weights = torch::stack(scores).softmax(0);
      EXPECT_LE(largest_difference(found.weights[b][t].narrow(0, 0, length), weights), 1e-12);
      EXPECT_EQ(found.weights[b][t].narrow(0, length, 5 - length).sum().item<double>(), 0);
      outputs.push_back(at::mv(memory[b].narrow(0, 0, length).t(), weights));
    }
  const Tensor naive = torch::stack(outputs).view({2, 3, d_memory});
  EXPECT_LE(largest_difference(found.output, naive), 1e-12);

  std::vector<Tensor> inputs = score->parameters();
  inputs.insert(inputs.end(), {memory, query});
  const Tensor probe = torch::randn_like(naive);
  const auto expected = torch::autograd::grad({(naive * probe).sum()}, inputs);
  const auto gradients = torch::autograd::grad({(found.output * probe).sum()}, inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_LE(largest_difference(gradients[i], expected[i]), 1e-12) << i;
}

INSTANTIATE_TEST_SUITE_P(Scores, SourceScores,
                         testing::Values(Score{"bahdanau",
                                               BahdanauAttentionConfig{.d_attention = 7}, 6},
                                         Score{"dot", DotAttentionConfig{}, 4},
                                         Score{"general", GeneralAttentionConfig{}, 6},
                                         Score{"scaled_dot", ScaledDotAttentionConfig{}, 4}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SourceAttention, RefusesADotProductOfTwoWidths) {
  EXPECT_THROW(make_source_score(DotAttentionConfig{}, {4, 6}), ConfigError);
}

}  // namespace
}  // namespace zoo
