#include "data/length_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace zoo {
namespace {

/// Sentences of 2 to 61 tokens, the target about as long as the source.
std::vector<PairLengths> corpus(int64_t size) {
  RandomStream random(7, 0);
  std::vector<PairLengths> lengths;
  for (int64_t i = 0; i < size; ++i) {
    const double share = random.next_uniform() * random.next_uniform();
    const auto source = 2 + static_cast<int64_t>(50 * share);
    lengths.push_back({source, source + static_cast<int64_t>(random.next_below(10))});
  }
  return lengths;
}

LengthBatches batches_of(const std::vector<PairLengths>& lengths, BatchBudget budget,
                         uint64_t seed = 1, int64_t window = 1000) {
  return {static_cast<int64_t>(lengths.size()), [&](int64_t pair) { return lengths[pair]; }, budget,
          seed, window};
}

std::vector<std::vector<int64_t>> all_batches(const LengthBatches& batches, int64_t first,
                                              int64_t end) {
  std::vector<std::vector<int64_t>> all;
  for (int64_t position = first; position < end;) {
    all.push_back(batches.at(position));
    position += static_cast<int64_t>(all.back().size());
  }
  return all;
}

TEST(LengthBatches, AnEpochHasEachPairOnceWithinTheBudget) {
  for (const int64_t size : {1, 7, 999, 1000, 1001, 3500}) {
    const auto lengths = corpus(size);
    for (const BatchBudget budget :
         {BatchBudget{.tokens = 500}, BatchBudget{.pairs = 10}, BatchBudget{.tokens = 1}}) {
      const LengthBatches batches = batches_of(lengths, budget);
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        std::vector<int64_t> seen;
        for (const auto& batch : all_batches(batches, epoch * size, (epoch + 1) * size)) {
          int64_t longest = 0;
          for (const int64_t pair : batch)
            longest = std::max({longest, lengths[pair].source, lengths[pair].target});
          const auto rows = static_cast<int64_t>(batch.size());
          EXPECT_TRUE(rows == 1 || rows * longest <= budget.tokens);
          EXPECT_LE(rows, budget.pairs);
          seen.insert(seen.end(), batch.begin(), batch.end());
        }
        std::sort(seen.begin(), seen.end());
        ASSERT_EQ(static_cast<int64_t>(seen.size()), size);
        for (int64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], i);
      }
    }
  }
}

TEST(LengthBatches, TheOrderIsAFunctionOfSeedAndPosition) {
  const auto lengths = corpus(2500);
  const BatchBudget budget{.tokens = 300};
  const auto first = all_batches(batches_of(lengths, budget), 0, 5000);
  EXPECT_EQ(all_batches(batches_of(lengths, budget), 0, 5000), first);
  EXPECT_NE(all_batches(batches_of(lengths, budget, 2), 0, 5000), first);
  EXPECT_NE(all_batches(batches_of(lengths, budget), 0, 2500),
            all_batches(batches_of(lengths, budget), 2500, 5000));
  // From any batch on, in any order, without what came before.
  std::vector<int64_t> starts;
  for (int64_t position = 0; const auto& batch : first) {
    starts.push_back(position);
    position += static_cast<int64_t>(batch.size());
  }
  for (size_t i = first.size(); i-- > 0;)
    EXPECT_EQ(batches_of(lengths, budget).at(starts[i]), first[i]);
}

TEST(LengthBatches, WithinABatchItsRestComes) {
  const auto lengths = corpus(100);
  const LengthBatches batches = batches_of(lengths, {.pairs = 8});
  const auto whole = batches.at(0);
  EXPECT_EQ(batches.at(3), std::vector<int64_t>(whole.begin() + 3, whole.end()));
}

TEST(LengthBatches, LittleIsPadding) {
  const auto lengths = corpus(30000);
  const LengthBatches batches = batches_of(lengths, {.tokens = 2048}, 1, 1 << 14);
  int64_t real = 0, all = 0, tokens = 0;
  const auto epoch = all_batches(batches, 0, 30000);
  for (const auto& batch : epoch) {
    int64_t source = 0, target = 0;
    for (const int64_t pair : batch) {
      real += lengths[pair].source + lengths[pair].target;
      source = std::max(source, lengths[pair].source);
      target = std::max(target, lengths[pair].target);
    }
    const auto rows = static_cast<int64_t>(batch.size());
    all += rows * (source + target);
    tokens += rows * std::max(source, target);
  }
  EXPECT_LT(1 - static_cast<double>(real) / static_cast<double>(all), 0.06);
  // And the budget is used.
  EXPECT_GT(static_cast<double>(tokens) / (2048.0 * static_cast<double>(epoch.size())), 0.9);
}

// Long and short batches must not come sorted: neighbours' lengths are uncorrelated.
TEST(LengthBatches, LengthsComeInNoOrder) {
  const auto lengths = corpus(20000);
  const auto epoch = all_batches(batches_of(lengths, {.pairs = 16}, 1, 1 << 14), 0, 20000);
  std::vector<double> firsts;
  for (const auto& batch : epoch) firsts.push_back(static_cast<double>(lengths[batch[0]].source));
  double mean = 0, variance = 0, covariance = 0;
  for (const double value : firsts) mean += value / static_cast<double>(firsts.size());
  for (size_t i = 0; i < firsts.size(); ++i) {
    variance += (firsts[i] - mean) * (firsts[i] - mean);
    if (i > 0) covariance += (firsts[i] - mean) * (firsts[i - 1] - mean);
  }
  EXPECT_LT(std::abs(covariance / variance), 0.1);  // standard error 0.03
}

}  // namespace
}  // namespace zoo
