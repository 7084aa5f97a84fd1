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

/// Of the largest presets one layer is built.
GptConfig buildable_preset(const std::string& name) {
  GptConfig config = small_preset(name);
  if (parameter_count(config) > 2'000'000'000) config.num_layers = 1;
  return config;
}

TEST(Cost, NamesAndShapesAreTheModules) {
  for (const std::string& name : GptConfig::preset_names()) {
    SCOPED_TRACE(name);
    const GptConfig config = buildable_preset(name);
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
  EXPECT_EQ(parameter_count(GptConfig::preset("gpt3")), 174604259328);
  EXPECT_EQ(parameter_count(GptConfig::preset("llama2-7b")), 6738415616);
  EXPECT_EQ(parameter_count(GptConfig::preset("llama2-70b")), 68976648192);
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

// V D + N D + L (12 D^2 + 13 D) + 2 D.
TEST(Cost, ParametersOfGptByTheirFormula) {
  for (const char* name : {"gpt2", "gpt2-xl", "gpt3"}) {
    const GptConfig c = GptConfig::preset(name);
    const int64_t d = c.d_model;
    EXPECT_EQ(parameter_count(c),
              (c.vocab_size + c.max_length) * d + c.num_layers * (12 * d * d + 13 * d) + 2 * d)
        << name;
  }
}

int64_t count_of(const ModelConfig& config, std::string_view part, std::string_view name = "") {
  int64_t count = 0;
  for (const ParameterCost& parameter : parameter_costs(config))
    if (parameter.part == part && parameter.name.find(name) != std::string::npos)
      count += parameter.count();
  return count;
}

// "The feed-forward layers are two thirds of a Transformer": of a block's matrices exactly, of
// GPT-2 with its embeddings 45.5 %.
TEST(Cost, FeedForwardsShareOfTheParameters) {
  const ModelConfig gpt2 = GptConfig::preset("gpt2");
  const int64_t feed_forward = count_of(gpt2, "feed_forward", ".weight");
  const int64_t attention = count_of(gpt2, "attention", ".weight");
  EXPECT_EQ(3 * feed_forward, 2 * (feed_forward + attention));
  EXPECT_NEAR(static_cast<double>(count_of(gpt2, "feed_forward")) /
                  static_cast<double>(parameter_count(gpt2)),
              0.455, 0.0005);
}

TEST(Cost, FlopsByPartAddUp) {
  const ModelConfig gpt2 = GptConfig::preset("gpt2");
  const ForwardFlops flops = forward_flops_by_part(gpt2, 1024);
  const double d = 768, layers = 12;
  EXPECT_EQ(flops.projections, 2 * layers * 4 * d * d);
  EXPECT_EQ(flops.attention, 2 * layers * 2 * 1024 * d);
  EXPECT_EQ(flops.feed_forward, 2 * layers * 8 * d * d);
  EXPECT_EQ(flops.output, 2 * d * 50257);
  EXPECT_EQ(flops.embedding + flops.recurrent, 0);
  EXPECT_EQ(flops.total(), forward_flops(gpt2, 1024));
}

TEST(Cost, GenerationsFlopsAreSumsOverItsSteps) {
  const GptConfig config = small_preset("modern");
  const double logits = 2.0 * 128 * 65;
  double with_cache = 0, without_cache = 0;
  for (int64_t n = 1; n <= 50; ++n) {
    with_cache += forward_flops(config, n);
    without_cache += static_cast<double>(n) * (forward_flops(config, n) - logits) + logits;
  }
  const GenerationFlops found = generation_flops(config, 50);
  EXPECT_EQ(found.with_cache, with_cache);
  EXPECT_EQ(found.without_cache, without_cache);
}

// LLaMA-2 70B with 4,096 tokens in 16 bits: 10.7 GB with a key and value for each of its 64 heads,
// 1.34 GB with the 8 that it has.
TEST(Cost, KvCacheAsMhaGqaAndMqa) {
  const auto forms = kv_cache_forms(GptConfig::preset("llama2-70b"), 1, 4096, 2);
  ASSERT_EQ(forms.size(), 3U);
  EXPECT_EQ(forms[0].name, "MHA");
  EXPECT_EQ(forms[0].kv_heads, 64);
  EXPECT_FALSE(forms[0].own);
  EXPECT_EQ(forms[0].bytes, 10'737'418'240);
  EXPECT_EQ(forms[1].name, "GQA");
  EXPECT_EQ(forms[1].kv_heads, 8);
  EXPECT_TRUE(forms[1].own);
  EXPECT_EQ(forms[1].bytes, 1'342'177'280);
  EXPECT_EQ(forms[2].name, "MQA");
  EXPECT_EQ(forms[2].bytes, 1'342'177'280 / 8);

  const auto multi_head = kv_cache_forms(GptConfig::preset("gpt2"), 2, 100, 4);
  ASSERT_EQ(multi_head.size(), 2U);
  EXPECT_TRUE(multi_head[0].own);
  EXPECT_EQ(multi_head[1].name, "MQA");
  GptConfig single = GptConfig::preset("gpt2");
  single.block.attention.num_heads = 1;
  EXPECT_EQ(kv_cache_forms(single, 1, 1, 2).size(), 1U);
  EXPECT_TRUE(kv_cache_forms(BertConfig::preset("bert-base"), 1, 512, 4).empty());
  EXPECT_TRUE(kv_cache_forms(RnnSeq2SeqConfig::preset("bahdanau"), 1, 50, 4).empty());
}

// A layer of 64 heads over 100,000 tokens: 1.28 TB of weights in 16 bits, 2.56 TB in float32.
TEST(Cost, BytesOfExplicitScores) {
  const ModelConfig llama = GptConfig::preset("llama2-70b");
  EXPECT_EQ(attention_score_bytes(llama, 1, 100'000, 2).one_layer, 1.28e12);
  EXPECT_EQ(attention_score_bytes(llama, 1, 100'000, 4).one_layer, 2.56e12);
  EXPECT_EQ(attention_score_bytes(llama, 3, 100'000, 2).all_layers, 3 * 80 * 1.28e12);
  const auto layers = [](const ModelConfig& config) {
    const ScoreBytes bytes = attention_score_bytes(config, 1, 10, 4);
    return bytes.all_layers == 0 ? 0 : bytes.all_layers / bytes.one_layer;
  };
  EXPECT_EQ(layers(TransformerConfig::preset("base")), 6 + 2 * 6);
  EXPECT_EQ(layers(RnnSeq2SeqConfig::preset("bahdanau")), 1);
  EXPECT_EQ(attention_score_bytes(RnnSeq2SeqConfig::preset("bahdanau"), 1, 10, 4).one_layer, 400);
  EXPECT_EQ(layers(RnnSeq2SeqConfig::preset("sutskever")), 0);
}

// Rajbhandari et al. 2020, figure 1: 7.5 billion parameters on 64 ranks.
TEST(Cost, ZeroStagesAreThePapers) {
  const ZeroMemory mixed = zero_memory(7.5e9, 64, kMixedAdam);
  EXPECT_NEAR(mixed.replicated / 1e9, 120, 0.05);
  EXPECT_NEAR(mixed.stage1 / 1e9, 31.4, 0.05);
  EXPECT_NEAR(mixed.stage2 / 1e9, 16.6, 0.05);
  EXPECT_NEAR(mixed.stage3 / 1e9, 1.9, 0.05);
  const ZeroMemory single = zero_memory(7.5e9, 64, kFloat32Adam);
  EXPECT_EQ(single.replicated, 120e9);
  EXPECT_EQ(single.stage1, 7.5e9 * (8 + 8.0 / 64));
  EXPECT_EQ(single.stage2, 7.5e9 * (4 + 12.0 / 64));
  EXPECT_EQ(single.stage3, 7.5e9 * 16 / 64);
  const ZeroMemory alone = zero_memory(1000, 1, kMixedAdam);
  for (const double bytes : {alone.replicated, alone.stage1, alone.stage2, alone.stage3})
    EXPECT_EQ(bytes, 16000);
}

// 175 billion parameters: 700 GB in float32, 350 GB in 16 bits, 2,800 GB to train.
TEST(Cost, BytesOf175BillionParameters) {
  EXPECT_EQ(zero_memory(175e9, 1, kFloat32Adam).replicated, 2800e9);
  EXPECT_EQ(zero_memory(175e9, 1, kMixedAdam).replicated, 2800e9);
  EXPECT_EQ(175e9 * kFloat32Adam.weight, 700e9);
  EXPECT_EQ(175e9 * kMixedAdam.weight, 350e9);
}

}  // namespace
}  // namespace zoo
