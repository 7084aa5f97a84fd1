#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace zoo {
namespace {

uint64_t pair_of(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

// Known answers of philox4x32 with 10 rounds, from the file kat_vectors of Random123 1.14 (Salmon
// et al. 2011): counter (4 words), key (2 words), result (4 words).
TEST(Philox, KnownAnswers) {
  struct Case {
    std::array<uint32_t, 4> counter;
    std::array<uint32_t, 2> key;
    std::array<uint32_t, 4> result;
  };
  const std::vector<Case> cases = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto& [counter, key, result] : cases)
    EXPECT_EQ(philox(pair_of(key[0], key[1]), pair_of(counter[2], counter[3]),
                     pair_of(counter[0], counter[1])),
              result);
}

TEST(RandomStream, IsAPureFunctionOfItsPlace) {
  RandomStream whole(7, 3);
  std::vector<uint64_t> drawn;
  for (int i = 0; i < 10; ++i) drawn.push_back(whole.next_bits());
  RandomStream resumed(7, 3, 4);
  for (int i = 4; i < 10; ++i) EXPECT_EQ(resumed.next_bits(), drawn[i]);
  EXPECT_EQ(resumed.counter(), 10U);
  EXPECT_NE(RandomStream(7, 4).next_bits(), drawn[0]);
  EXPECT_NE(RandomStream(8, 3).next_bits(), drawn[0]);
}

TEST(RandomStream, UniformHasTheRightMoments) {
  RandomStream stream(1, 0);
  constexpr int kDraws = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.next_uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  // Five standard errors: sqrt(1/12) and sqrt(4/45) over sqrt(kDraws).
  EXPECT_NEAR(sum / kDraws, 1.0 / 2, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
}

TEST(RandomStream, BelowIsUniform) {
  RandomStream stream(1, 0);
  constexpr int kDraws = 70'000;
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) ++counts.at(stream.next_below(7));
  double chi_square = 0;
  for (const int count : counts) chi_square += std::pow(count - kDraws / 7.0, 2) / (kDraws / 7.0);
  EXPECT_LT(chi_square, 22.46);  // 6 degrees of freedom, p = 0.001
  EXPECT_EQ(stream.next_below(1), 0U);
  for (int i = 0; i < 100; ++i) EXPECT_LT(stream.next_below(UINT64_MAX), UINT64_MAX);
}

TEST(PermutedIndex, IsAPermutation) {
  for (const uint64_t size : {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < size; ++i) seen.insert(permuted_index(i, size, 5, 2));
    EXPECT_EQ(seen.size(), size);
    EXPECT_EQ(*seen.rbegin(), size - 1);
  }
}

TEST(PermutedIndex, DependsOnSeedAndStream) {
  const auto order = [](uint64_t seed, uint64_t stream) {
    std::vector<uint64_t> places;
    for (uint64_t i = 0; i < 100; ++i) places.push_back(permuted_index(i, 100, seed, stream));
    return places;
  };
  EXPECT_EQ(order(1, 1), order(1, 1));
  EXPECT_NE(order(1, 1), order(2, 1));
  EXPECT_NE(order(1, 1), order(1, 2));
}

// Over many streams each element should stand first about equally often.
TEST(PermutedIndex, PlacesAreUniform) {
  constexpr int kSize = 10, kStreams = 20'000;
  std::vector<int> counts(kSize);
  for (uint64_t stream = 0; stream < kStreams; ++stream)
    ++counts.at(permuted_index(0, kSize, 1, stream));
  double chi_square = 0;
  for (const int count : counts)
    chi_square += std::pow(count - kStreams / kSize, 2) / (kStreams / kSize);
  EXPECT_LT(chi_square, 27.88);  // 9 degrees of freedom, p = 0.001
}

TEST(PermutedIndex, WorksForHugeSizes) {
  constexpr uint64_t kSize = 10'000'000'000'000;
  for (uint64_t i = 0; i < 100; ++i) EXPECT_LT(permuted_index(i, kSize, 1, 0), kSize);
}

}  // namespace
}  // namespace zoo
