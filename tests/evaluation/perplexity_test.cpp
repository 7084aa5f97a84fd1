// Perplexity against closed forms: a model whose probabilities are a table, and one that remembers
// how much of the past it was shown.

#include "evaluation/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"
#include "core/system.h"
#include "models/zoo.h"

namespace zoo {
namespace {

constexpr int64_t kVocabulary = 5, kMaxLength = 8;

/// p(next | last token, its place in the window): the log-probabilities are a function of both, so
/// that a wrong window or a target counted twice changes the sum.
class TableModel final : public CausalLm {
 public:
  using CausalLm::forward;
  Tensor forward(const Tensor& tokens, const DecodeArgs&) override {
    largest_batch = std::max(largest_batch, tokens.size(0));
    const Tensor places = torch::arange(tokens.size(1)).unsqueeze(0);          // (1, T)
    const Tensor next = torch::arange(kVocabulary).view({1, 1, -1});           // (1, 1, V)
    const Tensor mixed = (tokens * 3 + places).unsqueeze(2) * (next + 1) % 7;  // (B, T, V)
    return mixed.to(torch::kFloat32);
  }
  std::unique_ptr<DecodeState> start(int64_t, int64_t) const override { return nullptr; }
  int64_t vocab_size() const override { return kVocabulary; }
  int64_t max_length() const override { return kMaxLength; }

  static double nats(int64_t token, int64_t place, int64_t target) {
    const auto logit = [&](int64_t next) {
      return static_cast<double>((token * 3 + place) * (next + 1) % 7);
    };
    double sum = 0;
    for (int64_t next = 0; next < kVocabulary; ++next) sum += std::exp(logit(next));
    return std::log(sum) - logit(target);
  }
  int64_t largest_batch = 0;
};

std::vector<int64_t> random_tokens(int64_t count) {
  RandomStream random(7, 0);
  std::vector<int64_t> tokens(static_cast<size_t>(count));
  for (int64_t& token : tokens) token = static_cast<int64_t>(random.next_below(kVocabulary));
  return tokens;
}

TokenSource source(const std::vector<int64_t>& tokens) {
  return {static_cast<int64_t>(tokens.size()), [&tokens](int64_t first, std::span<int64_t> out) {
            ASSERT_GE(first, 0);
            ASSERT_LE(first + static_cast<int64_t>(out.size()),
                      static_cast<int64_t>(tokens.size()));
            std::copy_n(tokens.begin() + first, out.size(), out.begin());
          }};
}

/// The definition, one target at a time: the window that predicts target t first is the first whose
/// last target is not before t.
double expected_nats(std::vector<int64_t> tokens, int64_t context, int64_t stride,
                     std::optional<int64_t> bos) {
  if (bos) tokens.insert(tokens.begin(), *bos);
  double sum = 0;
  for (int64_t target = 1; target < static_cast<int64_t>(tokens.size()); ++target) {
    int64_t start = 0;
    while (start + context < target) start += stride;
    sum += TableModel::nats(tokens[target - 1], target - 1 - start, tokens[target]);
  }
  return sum;
}

TEST(Perplexity, EveryTokenAfterTheFirstIsPredictedOnce) {
  for (const int64_t count : {2, 3, 8, 9, 10, 16, 17, 18, 41, 100})
    for (const int64_t stride : {1, 3, 8})
      for (const int64_t rows : {1, 3, 64})
        for (const bool with_bos : {false, true}) {
          SCOPED_TRACE(cat("count ", count, " stride ", stride, " rows ", rows, " bos ", with_bos));
          const std::vector<int64_t> tokens = random_tokens(count);
          const std::optional<int64_t> bos = with_bos ? std::optional<int64_t>(4) : std::nullopt;
          TableModel model;
          const PerplexityScore score = measure_perplexity(
              model, source(tokens), {.stride = stride, .bos = bos, .batch_size = rows});
          EXPECT_EQ(score.tokens, count - 1 + (with_bos ? 1 : 0));
          EXPECT_NEAR(score.nats, expected_nats(tokens, kMaxLength, stride, bos),
                      1e-4 * static_cast<double>(count));
          EXPECT_LE(model.largest_batch, rows);
        }
}

TEST(Perplexity, AccuracyCountsTheMostProbableToken) {
  TableModel model;
  // After token 0 at place 0 every logit is 0, and argmax takes the first; after token 1 at place 1
  // the logits are 4 1 5 2 6.
  EXPECT_EQ(measure_perplexity(model, source({0, 1, 4})).right, 1);
  EXPECT_EQ(measure_perplexity(model, source({0, 0})).right, 1);
}

TEST(Perplexity, AShorterContextIsUsed) {
  const std::vector<int64_t> tokens = random_tokens(50);
  TableModel model;
  const PerplexityScore score =
      measure_perplexity(model, source(tokens), {.context = 4, .stride = 2});
  EXPECT_NEAR(score.nats, expected_nats(tokens, 4, 2, std::nullopt), 1e-3);
}

TEST(Perplexity, ProgressReachesTheEnd) {
  const std::vector<int64_t> tokens = random_tokens(50);
  TableModel model;
  int64_t last = 0;
  measure_perplexity(model, source(tokens),
                     {.batch_size = 2, .progress = [&](int64_t done, int64_t total) {
                        EXPECT_GT(done, last);
                        EXPECT_EQ(total, 49);
                        last = done;
                      }});
  EXPECT_EQ(last, 49);
}

std::string message_of(auto&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Perplexity, RefusesWhatCannotBe) {
  TableModel model;
  const std::vector<int64_t> tokens = random_tokens(20), one{3};
  EXPECT_THROW(measure_perplexity(model, source(tokens), {.context = 9}), ConfigError);
  EXPECT_NE(message_of([&] {
              measure_perplexity(model, source(tokens), {.context = 9});
            }).find("1 to the model's max_length 8"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              measure_perplexity(model, source(tokens), {.context = 4, .stride = 5});
            }).find("1 to the context of 4"),
            std::string::npos);
  EXPECT_THROW(measure_perplexity(model, source(one)), DataError);
  EXPECT_THROW(estimate_loss(model, source(one)), DataError);
  EXPECT_EQ(measure_perplexity(model, source(one), {.bos = 0}).tokens, 1);
}

class NanModel final : public CausalLm {
 public:
  using CausalLm::forward;
  Tensor forward(const Tensor& tokens, const DecodeArgs&) override {
    return torch::full({tokens.size(0), tokens.size(1), kVocabulary}, NAN);
  }
  std::unique_ptr<DecodeState> start(int64_t, int64_t) const override { return nullptr; }
  int64_t vocab_size() const override { return kVocabulary; }
  int64_t max_length() const override { return kMaxLength; }
};

TEST(Perplexity, ALossThatIsNoNumberIsAnError) {
  NanModel model;
  const std::vector<int64_t> tokens = random_tokens(20);
  EXPECT_THROW(measure_perplexity(model, source(tokens)), NumericError);
}

TEST(LossEstimate, DependsOnTheSeedAloneAndApproachesTheMean) {
  const std::vector<int64_t> tokens = random_tokens(400);
  TableModel model;
  const double once = estimate_loss(model, source(tokens), {.batches = 5, .batch_size = 4});
  EXPECT_EQ(once, estimate_loss(model, source(tokens), {.batches = 5, .batch_size = 4}));
  EXPECT_NE(once, estimate_loss(model, source(tokens), {.batches = 5, .batch_size = 4, .seed = 2}));
  // The mean over all windows.
  double sum = 0;
  for (int64_t start = 0; start + kMaxLength < 400; ++start)
    for (int64_t place = 0; place < kMaxLength; ++place)
      sum += TableModel::nats(tokens[start + place], place, tokens[start + place + 1]);
  const double mean = sum / ((400.0 - kMaxLength) * kMaxLength);
  EXPECT_NEAR(estimate_loss(model, source(tokens), {.batches = 500, .batch_size = 32}), mean, 0.02);
}

TEST(Perplexity, MemoryDoesNotGrowWithTheTexts) {  // SYS-1
  GptConfig config;
  config.vocab_size = 31;
  config.max_length = 64;
  config.num_layers = 2;
  config.d_model = 64;
  config.block.attention.num_heads = 4;
  const auto model = make_causal_lm(config);
  const auto resident = [] { return std::stod(proc_value("/proc/self/status", "VmRSS")); };
  double after_40 = 0;
  for (int64_t text = 0; text < 400; ++text) {
    const std::vector<int64_t> tokens = random_tokens(2 + text * 37 % 300);
    measure_perplexity(*model, source(tokens));
    if (text == 39) after_40 = resident();
  }
  EXPECT_LE(resident(), 1.05 * after_40);
}

}  // namespace
}  // namespace zoo
