// Decoding with real weights: GPTs of every kind of position, with a cache, in batches, for long.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "decoding/context.h"
#include "decoding/generate.h"
#include "models/gpt.h"
#include "models/zoo.h"

namespace zoo {
namespace {

using Ids = std::vector<int64_t>;
constexpr int64_t kVocabulary = 31;

GptConfig small_config(const PositionConfig& position, int64_t num_kv_heads) {
  GptConfig config;
  config.vocab_size = kVocabulary;
  config.max_length = 40;
  config.num_layers = 2;
  config.d_model = 32;
  config.position = position;
  config.block.attention.num_heads = 4;
  config.block.attention.num_kv_heads = num_kv_heads;
  config.init = Gpt2InitConfig{.std = .3};  // wide, so that context decides what comes next
  return config;
}

struct GptCase {
  const char* name;
  PositionConfig position;
  int64_t num_kv_heads;
};

/// Sets the threads of LibTorch for one scope: sharing products as small as these costs more than
/// it gains.
struct OneThread {
  OneThread() { torch::set_num_threads(1); }
  ~OneThread() { torch::set_num_threads(before); }
  int before = torch::get_num_threads();
};

class GptDecoding : public ::testing::TestWithParam<GptCase> {
 protected:
  void SetUp() override {
    torch::manual_seed(7);
    model_ = make_causal_lm(small_config(GetParam().position, GetParam().num_kv_heads));
    model_->eval();
  }

  /// Greedy tokens, and the logits of each step: (steps, B, V).
  std::pair<std::vector<Ids>, Tensor> greedy(const std::vector<Ids>& prompts, int64_t steps,
                                             bool use_cache) {
    const torch::InferenceMode inference;
    const std::vector<int64_t> limits(prompts.size(), steps);
    CausalContext context(*model_, prompts, {longest_row(prompts, limits), kVocabulary, use_cache});
    std::vector<Tensor> logits;
    for (int64_t step = 0; step < steps; ++step) {
      logits.push_back(context.next_logits().clone());
      const Tensor best = logits.back().argmax(1);
      context.append({best.data_ptr<int64_t>(), prompts.size()});
    }
    std::vector<Ids> tokens;
    for (int64_t i = 0; i < context.batch(); ++i)
      tokens.emplace_back(context.row(i).begin(), context.row(i).end());
    return {tokens, torch::stack(logits)};
  }

  OneThread one_thread_;
  std::shared_ptr<CausalLm> model_;
};

const Ids kPrompt2 = {4, 9}, kPrompt5 = {1, 2, 3, 4, 5},
          kPrompt9 = {30, 1, 29, 2, 28, 3, 27, 4, 26};

TEST_P(GptDecoding, TheCacheChangesNothing) {  // KVP-3; 60 tokens go beyond the context of 40
  for (const int64_t steps : {24, 60}) {
    const auto [tokens, logits] = greedy({kPrompt5}, steps, true);
    const auto [expected_tokens, expected_logits] = greedy({kPrompt5}, steps, false);
    EXPECT_EQ(tokens, expected_tokens);
    EXPECT_LT((logits - expected_logits).abs().max().item<float>(), 1e-4);
    EXPECT_GT(logits.std(0).max().item<float>(), .1);  // the test would see a difference
  }
}

TEST_P(GptDecoding, TheBatchChangesNothing) {  // KVP-1
  const std::vector<Ids> prompts = {kPrompt2, kPrompt5, kPrompt9};
  for (const bool use_cache : {true, false}) {
    const auto [tokens, logits] = greedy(prompts, 50, use_cache);
    for (size_t i = 0; i < prompts.size(); ++i) {
      const auto [alone_tokens, alone_logits] = greedy({prompts[i]}, 50, use_cache);
      EXPECT_EQ(tokens[i], alone_tokens[0]);
      EXPECT_LT((logits.select(1, static_cast<int64_t>(i)) - alone_logits.select(1, 0))
                    .abs()
                    .max()
                    .item<float>(),
                1e-4);
    }
  }
}

TEST_P(GptDecoding, DrawsAndBeamsDependOnNeitherBatchNorCache) {
  const std::vector<Ids> prompts = {kPrompt9, kPrompt2, kPrompt5, kPrompt2};
  for (const GenerationOptions& options :
       {GenerationOptions{.max_new_tokens = 24, .sample = true, .top_p = .9},
        GenerationOptions{.max_new_tokens = 24, .beam_size = 3}}) {
    const auto together = generate(*model_, prompts, options, {.eos = 0});
    const auto uncached = generate(*model_, prompts, options, {.eos = 0, .use_cache = false});
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(together[i][0].tokens, uncached[i][0].tokens);
      EXPECT_EQ(together[i][0].tokens,
                generate(*model_, {prompts[i]}, options, {.eos = 0, .first_row = i})[0][0].tokens);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, GptDecoding,
                         ::testing::Values(GptCase{"learned", LearnedPositionConfig{}, 0},
                                           GptCase{"learned_grouped", LearnedPositionConfig{}, 2},
                                           GptCase{"sinusoidal", SinusoidalPositionConfig{}, 0},
                                           GptCase{"sinusoidal_grouped", SinusoidalPositionConfig{},
                                                   2},
                                           GptCase{"rope", RopePositionConfig{}, 0},
                                           GptCase{"rope_grouped", RopePositionConfig{}, 1},
                                           GptCase{"alibi", AlibiPositionConfig{}, 0},
                                           GptCase{"alibi_grouped", AlibiPositionConfig{}, 2},
                                           GptCase{"none", NoPositionConfig{}, 0}),
                         [](const auto& info) { return std::string(info.param.name); });

double resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

TEST(GptMemory, DoesNotGrowWithTheLines) {  // SYS-1
  if (resident_bytes() == 0) GTEST_SKIP() << "this system does not tell the memory in use";
  const OneThread one_thread;
  torch::manual_seed(7);
  GptConfig config = small_config(RopePositionConfig{}, 0);
  config.d_model = 64;
  config.max_length = 64;
  const auto model = make_causal_lm(config);
  double after_40 = 0;
  for (uint64_t line = 0; line < 400; line += 4) {
    std::vector<Ids> prompts;
    for (uint64_t i = line; i < line + 4; ++i)
      prompts.emplace_back(1 + i * 7 % 40, static_cast<int64_t>(i % 31));
    generate(*model, prompts, {.max_new_tokens = 32, .sample = true, .top_k = 20},
             {.first_row = line});
    if (line + 4 == 40) after_40 = resident_bytes();
  }
  EXPECT_LE(resident_bytes(), 1.05 * after_40);
}

}  // namespace
}  // namespace zoo
