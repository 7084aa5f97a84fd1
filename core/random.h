#pragma once
// Counter-based random numbers: Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as
// easy as 1, 2, 3"). A draw is a pure function of (seed, stream, counter), so it depends on no
// other row, thread or batch, and there is no state to save: resuming is going on with the counter.

#include <array>
#include <cstdint>

namespace zoo {

/// The 128 random bits at (seed, stream, counter).
std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t counter);

/// Draws for one row, one shuffle or one task; copies continue independently from the same place.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream, uint64_t counter = 0)
      : seed_(seed), stream_(stream), counter_(counter) {}

  uint64_t next_bits();                 ///< 64 uniform bits
  double next_uniform();                ///< uniform in [0, 1), 53 bits
  uint64_t next_below(uint64_t limit);  ///< uniform in [0, limit), without modulo bias; limit > 0
  uint64_t counter() const { return counter_; }

 private:
  uint64_t seed_, stream_, counter_;
};

/// A permutation of [0, size) that needs no memory: position `index` of the order drawn by
/// (seed, stream). A Feistel network with cycle walking (Black & Rogaway 2002).
uint64_t permuted_index(uint64_t index, uint64_t size, uint64_t seed, uint64_t stream);

}  // namespace zoo
