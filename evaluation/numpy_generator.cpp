#include "evaluation/numpy_generator.h"

#include <array>
#include <bit>
#include <cstddef>

namespace zoo {

namespace {

/// SeedSequence(seed).generate_state(4, uint64).
std::array<uint64_t, 4> seed_words(uint64_t seed) {
  const std::array<uint32_t, 2> entropy = {static_cast<uint32_t>(seed),
                                           static_cast<uint32_t>(seed >> 32)};
  uint32_t multiplier = 0x43b0d7e5;
  const auto hashed = [&](uint32_t value) {
    value ^= multiplier;
    multiplier *= 0x931e8875;
    value *= multiplier;
    return value ^ value >> 16;
  };
  std::array<uint32_t, 4> pool{};
  for (size_t i = 0; i < pool.size(); ++i) pool[i] = hashed(i < entropy.size() ? entropy[i] : 0);
  for (size_t from = 0; from < pool.size(); ++from)
    for (size_t to = 0; to < pool.size(); ++to) {
      if (from == to) continue;
      const uint32_t mixed = 0xca01f9dd * pool[to] - 0x4973f715 * hashed(pool[from]);
      pool[to] = mixed ^ mixed >> 16;
    }
  std::array<uint64_t, 4> words{};
  multiplier = 0x8b51f9dd;
  for (size_t i = 0; i < 8; ++i) {
    uint32_t value = pool[i % 4] ^ multiplier;
    multiplier *= 0x58f38ded;
    value *= multiplier;
    value ^= value >> 16;
    words[i / 2] |= uint64_t{value} << (i % 2 * 32);
  }
  return words;
}

}  // namespace

NumpyGenerator::NumpyGenerator(uint64_t seed) {
  const auto words = seed_words(seed);
  increment_ = (uint128{words[2]} << 64 | words[3]) << 1 | 1;
  next64();
  state_ += uint128{words[0]} << 64 | words[1];
  next64();
}

uint64_t NumpyGenerator::next64() {
  constexpr uint128 kMultiplier = uint128{0x2360ED051FC65DA4} << 64 | 0x4385DF649FCCF645;
  state_ = state_ * kMultiplier + increment_;
  return std::rotr(static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_),
                   static_cast<int>(state_ >> 122));
}

uint32_t NumpyGenerator::next32() {
  has_spare_ = !has_spare_;
  if (!has_spare_) return spare_;
  const uint64_t bits = next64();
  spare_ = static_cast<uint32_t>(bits >> 32);
  return static_cast<uint32_t>(bits);
}

/// Lemire 2019, "Fast random integer generation in an interval".
uint64_t NumpyGenerator::next_below(uint64_t limit) {
  if (limit == 1) return 0;
  uint64_t product = next32() * limit;
  const uint64_t excess = (uint64_t{1} << 32) % limit;
  while (static_cast<uint32_t>(product) < excess) product = next32() * limit;
  return product >> 32;
}

}  // namespace zoo
