// Costs worked out from a config against the built module, published sizes, and PyTorch's counter.

#include "models/cost.h"

#include <gtest/gtest.h>

#include "models/zoo.h"
#include "tests/support/parameter_shapes.h"

namespace zoo {
namespace {

using testing::predicted_parameters;

testing::ParameterShapes built_parameters(const GptConfig& config) {
  // Allocated, not drawn: pages that nobody touches cost nothing, even for gpt2-xl.
  return testing::built_parameters(*make_causal_lm(config, Parameters::allocated));
}

GptConfig small_preset(const std::string& name) {
  GptConfig config = GptConfig::preset(name);
  if (config.vocab_size == 0) config.vocab_size = 65;
  return config;
}

TEST(Cost, NamesAndShapesAreTheModules) {
  for (const std::string& name : GptConfig::preset_names()) {
    SCOPED_TRACE(name);
    const GptConfig config = small_preset(name);
    EXPECT_EQ(predicted_parameters(config), built_parameters(config));
  }
}

TEST(Cost, NamesAndShapesOfOtherVariants) {
  GptConfig config = small_preset("modern");
  config.tie_embeddings = false;
  config.block.attention.bias = true;
  config.block.attention.num_kv_heads = 1;
  config.block.feed_forward = GatedFeedForwardConfig{.d_ff = 24, .bias = true};
  EXPECT_EQ(predicted_parameters(config), built_parameters(config));
  config.block.placement = NormPlacement::post;
  config.block.norm = LayerNormConfig{};
  config.position = AlibiPositionConfig{};
  EXPECT_EQ(predicted_parameters(config), built_parameters(config));
}

TEST(Cost, PublishedParameterCounts) {
  EXPECT_EQ(parameter_count(GptConfig::preset("gpt2")), 124439808);
  EXPECT_EQ(parameter_count(GptConfig::preset("gpt2-medium")), 354823168);
  EXPECT_EQ(parameter_count(GptConfig::preset("gpt2-large")), 774030080);
  EXPECT_EQ(parameter_count(GptConfig::preset("gpt2-xl")), 1557611200);
  EXPECT_EQ(parameter_count(GptConfig::preset("gpt-mini")), 44634624);
  EXPECT_EQ(parameter_count(small_preset("nanogpt-cpu")), 804096);
}

// tests/golden/models/flops.py: torch 2.13.0's FlopCounterMode over transformers 5.24.0.
TEST(Cost, ForwardFlopsAreThoseThatPyTorchCounts) {
  EXPECT_EQ(forward_flops(GptConfig::preset("gpt2"), 32), 248243712);
  GptConfig gated = GptConfig::preset("modern");
  gated.vocab_size = 1000;
  gated.block.attention.qk_norm = false;
  gated.block.feed_forward = GatedFeedForwardConfig{.d_ff = 344};
  EXPECT_EQ(forward_flops(gated, 32), 1771520);
}

TEST(Cost, KvCacheOfGroupedHeads) {
  // 2 (k, v) x 12 layers x 768 x 1,024 tokens x 4 bytes.
  GptConfig config = GptConfig::preset("gpt2");
  EXPECT_EQ(kv_cache_bytes(config, 1, 1024, 4), 75497472);
  EXPECT_EQ(kv_cache_bytes(config, 8, 1024, 2), 8 * 75497472 / 2);
  config.block.attention.num_kv_heads = 3;
  EXPECT_EQ(kv_cache_bytes(config, 1, 1024, 4), 75497472 / 4);
  config.block.attention.num_kv_heads = 1;
  EXPECT_EQ(kv_cache_bytes(config, 1, 1024, 4), 75497472 / 12);
}

TEST(Cost, TrainingMemoryOfAdam) {
  const TrainingMemory memory =
      training_memory(GptConfig::preset("gpt2"), {.batch = 1, .tokens = 1});
  EXPECT_EQ(memory.weights, 4.0 * 124439808);
  EXPECT_EQ(memory.gradients, 4.0 * 124439808);
  EXPECT_EQ(memory.optimizer, 8.0 * 124439808);
}

}  // namespace
}  // namespace zoo
