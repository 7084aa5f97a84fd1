#pragma once
// The random numbers of numpy.random.default_rng(seed): PCG64 (O'Neill 2014, "PCG: a family of
// simple fast space-efficient statistically good algorithms for random number generation") seeded
// by NumPy's SeedSequence. For results that other tools draw with NumPy; ours come from
// core/random.h.

#include <cstdint>

namespace zoo {

class NumpyGenerator {
 public:
  explicit NumpyGenerator(uint64_t seed);
  /// The next of integers(0, limit, size=…), which choice(limit, …) draws too. @param limit 1 … 2³²
  uint64_t next_below(uint64_t limit);

 private:
  __extension__ using uint128 = unsigned __int128;

  uint64_t next64();
  uint32_t next32();

  uint128 state_ = 0, increment_ = 0;
  uint32_t spare_ = 0;  // the other half of the last 64 bits
  bool has_spare_ = false;
};

}  // namespace zoo
