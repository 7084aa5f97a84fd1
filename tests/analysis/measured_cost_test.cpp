// What is measured: FLOPs and bytes of operations known by hand, and of each kind of model against
// what models/cost.h works out.

#include "analysis/measured_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/flop_counter.h"
#include "analysis/memory_meter.h"
#include "models/cost.h"
#include "models/zoo.h"
#include "nn/attend.h"

namespace zoo {
namespace {

Tensor numbers(torch::IntArrayRef shape) { return torch::ones(shape).requires_grad_(); }

TEST(FlopCounter, CountsProductsByTheirShapes) {
  EXPECT_EQ(count_flops([] { at::matmul(numbers({3, 5}), numbers({5, 7})); }), 2 * 3 * 5 * 7);
  EXPECT_EQ(count_flops([] {
              at::matmul(numbers({2, 3, 5}), numbers({2, 5, 7}));
            }),
            2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(count_flops([] {
              at::linear(numbers({2, 3, 5}), numbers({7, 5}), numbers({7}));
            }),
            2 * 6 * 5 * 7);
  EXPECT_EQ(count_flops([] { at::matmul(numbers({3, 5}), numbers({5})); }), 2 * 3 * 5);
  EXPECT_EQ(count_flops([] {
              at::addmm(numbers({7}), numbers({3, 5}), numbers({5, 7}));
            }),
            2 * 3 * 5 * 7);
  EXPECT_EQ(count_flops([] { (numbers({64, 64}) + 1).softmax(-1).sum(); }), 0);
  // Nothing is counted outside.
  at::matmul(numbers({3, 5}), numbers({5, 7}));
  EXPECT_EQ(count_flops([] {}), 0);
}

TEST(FlopCounter, CountsFusedAndExplicitAttentionAlike) {
  const Tensor q = numbers({2, 6, 9, 8}), k = numbers({2, 3, 9, 8}), v = numbers({2, 3, 9, 8});
  const double expected = 2.0 * (2 * 6 * 9 * 9 * (8 + 8));
  EXPECT_EQ(count_flops([&] { attend(q, k, v, {.causal = true}); }), expected);
  EXPECT_EQ(count_flops([&] { attend(q, k, v, {.want_weights = true}); }), expected);
}

TEST(FlopCounter, TheBackwardPassCostsTwoForwardPasses) {
  const Tensor x = numbers({40, 16}), w = numbers({24, 16});
  const double forward = count_flops([&] { at::linear(x, w); });
  EXPECT_EQ(count_flops([&] { at::linear(x, w).sum().backward(); }), 3 * forward);
}

TEST(MemoryMeter, CountsBytesLiveAndAtMost) {
  const MemoryMeter meter(torch::kCPU);
  EXPECT_EQ(meter.live(), 0);
  Tensor a = torch::empty({1000}), b = torch::empty({500}, torch::kFloat64);
  EXPECT_EQ(meter.live(), 8000);
  a.reset();
  EXPECT_EQ(meter.live(), 4000);
  b.reset();
  EXPECT_EQ(meter.live(), 0);
  EXPECT_EQ(meter.peak(), 8000);
}

TEST(MemoryMeter, SeesTheBackwardPass) {
  const Tensor w = torch::ones({100, 100}).requires_grad_();
  const Tensor x = torch::ones({10, 100});
  const MemoryMeter meter(torch::kCPU);
  Tensor y = at::linear(x, w).square().sum();
  y.backward();
  y.reset();
  EXPECT_EQ(meter.live(), 4 * 100 * 100);  // the gradient
}

const MeasuredCost& find(const std::vector<MeasuredCost>& costs, const std::string& what) {
  const auto found = std::find_if(costs.begin(), costs.end(),
                                  [&](const MeasuredCost& cost) { return cost.what == what; });
  if (found == costs.end()) throw Error(what + " was not measured");
  return *found;
}

/// What a training step takes is what the config says.
/// @param tables bytes of positions that lie beside the parameters
void expect_agreement(const ModelConfig& config, double tables = 0) {
  const std::vector<MeasuredCost> costs = measure_cost(config, 3, 40);
  for (const char* what : {"parameters", "gradients", "forward pass"})
    EXPECT_DOUBLE_EQ(find(costs, what).measured, find(costs, what).predicted) << what;
  EXPECT_EQ(find(costs, "weights").measured, find(costs, "weights").predicted + tables);
  // Beside the moments: the number of updates.
  EXPECT_EQ(find(costs, "optimizer's state").measured,
            find(costs, "optimizer's state").predicted + 4);
  // With LibTorch 2.13 all bytes but those of a few scalars; releases differ in what they keep.
  EXPECT_NEAR(find(costs, "kept for the backward pass").ratio(), 1, 0.02);
  EXPECT_LT(find(costs, "most in a step, weights left out").ratio(), 1);
}

GptConfig preset(const std::string& name) {
  GptConfig config = GptConfig::preset(name);
  config.vocab_size = 200;
  return config;
}

TEST(MeasuredCost, OfAGptIsAsPredicted) {
  const GptConfig config = preset("nanogpt-cpu");
  expect_agreement(config);
  const MeasuredCost cache = find(measure_cost(config, 3, 40), "KV cache");
  EXPECT_EQ(cache.measured, cache.predicted);
  EXPECT_EQ(cache.measured, 2 * 4 * 3 * 40 * 128 * 4);
}

TEST(MeasuredCost, OfDropoutIsAsPredicted) {
  GptConfig config = preset("nanogpt-cpu");
  config.dropout = {.embedding = 0.1, .attention = 0.1, .residual = 0.1};
  expect_agreement(config);
}

// RoPE, RMSNorm, SwiGLU, GQA and QK-norm. The angles' cosines and sines: 64 places of 16 each.
TEST(MeasuredCost, OfAModernBlockIsAsPredicted) {
  GptConfig config = preset("modern");
  expect_agreement(config, 2 * 64 * 16 * 4);
  config.block.attention.qk_norm = false;
  config.block.norm = LayerNormConfig{};
  expect_agreement(config, 2 * 64 * 16 * 4);
  const MeasuredCost cache = find(measure_cost(config, 3, 40), "KV cache");
  EXPECT_EQ(cache.measured, cache.predicted);
  EXPECT_EQ(cache.measured, 2 * 4 * 3 * 40 * 64 * 4);  // 2 of 4 heads
}

TEST(MeasuredCost, OfAnEncoderDecoderIsAsPredicted) {
  TransformerConfig config = TransformerConfig::preset("small");
  config.source_vocab_size = config.vocab_size = 200;
  const std::vector<MeasuredCost> costs = measure_cost(config, 3, 40);
  for (const char* what : {"parameters", "gradients", "forward pass", "KV cache"})
    EXPECT_EQ(find(costs, what).measured, find(costs, what).predicted) << what;
  EXPECT_NEAR(find(costs, "kept for the backward pass").ratio(), 1, 0.02);
}

TEST(MeasuredCost, OfEncodersIsAsPredicted) {
  BertConfig text = BertConfig::preset("bert-mini");
  text.vocab_size = 200;
  expect_agreement(text);
  VitConfig vision = VitConfig::preset("vit-mnist");
  vision.labels = {"a", "b"};
  expect_agreement(vision);
}

TEST(MeasuredCost, OfRecurrentModelsIsAsPredicted) {
  for (const char* name : {"sutskever", "cho", "bahdanau", "luong", "compact"}) {
    SCOPED_TRACE(name);
    RnnSeq2SeqConfig config = RnnSeq2SeqConfig::preset(name);
    config.source_vocab_size = config.vocab_size = 200;
    config.d_embedding = config.d_hidden = 64;
    config.d_encoder = 0;
    const std::vector<MeasuredCost> costs = measure_cost(config, 3, 40);
    for (const char* what : {"parameters", "weights", "gradients"})
      EXPECT_EQ(find(costs, what).measured, find(costs, what).predicted) << what;
    EXPECT_NEAR(find(costs, "forward pass").ratio(), 1, 1e-12);
  }
}

TEST(MeasuredCost, RefusesWhatDoesNotFitIntoMemory) {
  try {
    measure_cost(GptConfig::preset("gpt3"), 1, 1);
    FAIL();
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("cost: measuring takes about 2.8 TB, but ")) << message;
    EXPECT_TRUE(
        message.ends_with(" are free; give fewer tokens, a smaller batch or a smaller model"))
        << message;
  }
}

}  // namespace
}  // namespace zoo
