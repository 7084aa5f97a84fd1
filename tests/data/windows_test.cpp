#include "data/windows.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/message_of.h"

namespace zoo {
namespace {

using testing::message_of;

TEST(EpochSampler, PredictsEachTokenOnceAnEpoch) {
  for (const int64_t count : {65, 100, 129, 1000, 6400, 6401}) {
    const int64_t length = 64;
    const auto sampler = make_epoch_sampler(count, length, 7);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::map<int64_t, int64_t> predicted;
      for (int64_t i = 0; i < sampler->epoch_size(); ++i) {
        const int64_t start = sampler->start(epoch * sampler->epoch_size() + i);
        ASSERT_GE(start, 0);
        ASSERT_LE(start + length, count - 1);
        for (int64_t t = 1; t <= length; ++t) ++predicted[start + t];
      }
      for (const auto& [token, times] : predicted) ASSERT_EQ(times, 1) << token;
      EXPECT_GT(static_cast<int64_t>(predicted.size()),
                std::min(count - 2 * length, count - 1 - length));
    }
  }
}

TEST(EpochSampler, EveryEpochHasItsOwnOrderAndShift) {
  const auto sampler = make_epoch_sampler(100000, 64, 7);
  const int64_t size = sampler->epoch_size();
  std::set<int64_t> shifts;
  int64_t equal = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    shifts.insert(sampler->start(epoch * size) % 64);
    equal += sampler->start(epoch * size) / 64 == sampler->start(0) / 64;
  }
  EXPECT_GT(shifts.size(), 10u);
  EXPECT_LE(equal, 3);
}

TEST(EpochSampler, IsAFunctionOfSeedAndPosition) {
  const auto a = make_epoch_sampler(10000, 64, 7), b = make_epoch_sampler(10000, 64, 7),
             c = make_epoch_sampler(10000, 64, 8);
  int64_t different = 0;
  for (int64_t position = 399; position >= 0; --position) {
    EXPECT_EQ(a->start(position), b->start(position));
    different += a->start(position) != c->start(position);
  }
  EXPECT_GT(different, 350);
}

TEST(RandomSampler, ReachesEveryPlace) {
  const auto sampler = make_random_sampler(20, 8, 1);
  std::set<int64_t> places;
  for (int64_t i = 0; i < 1000; ++i) places.insert(sampler->start(i));
  EXPECT_EQ(places.size(), 12u);
  EXPECT_EQ(*places.begin(), 0);
  EXPECT_EQ(*places.rbegin(), 11);
}

TEST(Samplers, RefuseTooFewTokens) {
  EXPECT_EQ(
      message_of<DataError>([] { make_epoch_sampler(64, 64, 1); }),
      "a training example needs 65 tokens (block_size + 1), found 64 in all; use more text or a "
      "smaller task.block_size");
  EXPECT_EQ(make_epoch_sampler(65, 64, 1)->epoch_size(), 1);
}

}  // namespace
}  // namespace zoo
