#include "core/random.h"

#include <utility>

namespace zoo {

std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t counter) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  std::array<uint32_t, 4> x = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                               static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  auto key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * x[0], product1 = kMultiplier1 * x[2];
    x = {static_cast<uint32_t>(product1 >> 32) ^ x[1] ^ key0, static_cast<uint32_t>(product1),
         static_cast<uint32_t>(product0 >> 32) ^ x[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

uint64_t RandomStream::next_bits() {
  const auto words = philox(seed_, stream_, counter_++);
  return uint64_t{words[0]} << 32 | words[1];
}

double RandomStream::next_uniform() { return static_cast<double>(next_bits() >> 11) * 0x1.0p-53; }

uint64_t RandomStream::next_below(uint64_t limit) {
  // Draws above the largest multiple of `limit` are thrown away, so that no value is favoured.
  const uint64_t excess = (UINT64_MAX % limit + 1) % limit;
  for (;;) {
    const uint64_t bits = next_bits();
    if (bits <= UINT64_MAX - excess) return bits % limit;
  }
}

uint64_t permuted_index(uint64_t index, uint64_t size, uint64_t seed, uint64_t stream) {
  if (size <= 1) return 0;
  int half_bits = 1;
  while (half_bits < 32 && uint64_t{1} << (2 * half_bits) < size) ++half_bits;
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  do {
    uint64_t left = index >> half_bits, right = index & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t mixed = philox(seed, stream, round << 56 | right)[0];
      left ^= mixed & mask;
      std::swap(left, right);
    }
    index = left << half_bits | right;
  } while (index >= size);  // the network permutes a power of four; walk until inside
  return index;
}

}  // namespace zoo
