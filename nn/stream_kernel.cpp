#include "nn/stream_kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

// x86 and GCC's or Clang's vector extensions; elsewhere, and without OpenMP, BLAS does the work.
#if defined(__x86_64__) && defined(__GNUC__) && defined(_OPENMP)

namespace zoo {

namespace {

/// Width floats that the compiler keeps in one vector register.
template <int Width>
struct VectorOf {
  typedef float type __attribute__((vector_size(Width * sizeof(float)), aligned(4)));
};
using Four = VectorOf<4>::type;
using Eight = VectorOf<8>::type;
using Sixteen = VectorOf<16>::type;

// The sum of each of four vectors, in halves: elements i and i + 8, then i + 4, i + 2, i + 1. All
// four at once take half the instructions that four single sums would take. By reference, as
// functions without wide vectors of their own cannot hand them over.
__attribute__((always_inline)) inline Four sums_of(const Eight& a, const Eight& b, const Eight& c,
                                                   const Eight& d) {
  const Eight ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
                   __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  const Eight cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 8, 9, 10, 11) +
                   __builtin_shufflevector(c, d, 4, 5, 6, 7, 12, 13, 14, 15);
  const Eight pairs = __builtin_shufflevector(ab, cd, 0, 1, 4, 5, 8, 9, 12, 13) +
                      __builtin_shufflevector(ab, cd, 2, 3, 6, 7, 10, 11, 14, 15);
  return __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6) +
         __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7);
}

__attribute__((always_inline)) inline Four sums_of(const Sixteen& a, const Sixteen& b,
                                                   const Sixteen& c, const Sixteen& d) {
  Eight halves[4][2];
  std::memcpy(halves[0], &a, sizeof a);
  std::memcpy(halves[1], &b, sizeof b);
  std::memcpy(halves[2], &c, sizeof c);
  std::memcpy(halves[3], &d, sizeof d);
  return sums_of(halves[0][0] + halves[0][1], halves[1][0] + halves[1][1],
                 halves[2][0] + halves[2][1], halves[3][0] + halves[3][1]);
}

/// Rows times kOuts sums fit into the registers.
template <int Width>
constexpr int kRows = Width == 16 ? 6 : 3;
constexpr int kOuts = 4;

/// Copies rows [begin, end) of x into the order in which tiles read them: tile by tile, and in a
/// tile Width elements of each row in turn. Rows a power of two apart would share too few places in
/// the cache.
template <int Width>
__attribute__((always_inline)) inline void pack(const StreamProblem& p, float* packed,
                                                int64_t begin, int64_t end) {
  const int64_t whole = p.in / Width * Width;
  for (int64_t row = begin; row < end; row += kRows<Width>) {
    const int64_t rows = std::min<int64_t>(kRows<Width>, p.rows - row);
    float* place = packed + row * whole;
    for (int64_t i = 0; i < whole; i += Width)
      for (int64_t r = 0; r < rows; ++r, place += Width)
        std::memcpy(place, p.x + (row + r) * p.in + i, Width * sizeof(float));
  }
}

/// The results of Rows rows and Outs outputs from (row, o) on: each loaded vector of weights meets
/// all rows, each vector of x all outputs. The sums do not depend on Rows or Outs.
/// @tparam IsFirst whether nobody has read these weights yet
template <int Width, int Rows, int Outs, bool IsFirst>
__attribute__((always_inline)) inline void tile(const StreamProblem& p, const float* packed,
                                                int64_t row, int64_t o) {
  using Vector = typename VectorOf<Width>::type;
  Vector sums[Rows][kOuts] = {};
  const int64_t whole = p.in / Width * Width;
  const float* x = packed + row * whole;
  const float* w = p.w + o * p.in;
  for (int64_t i = 0; i < whole; i += Width, x += Rows * Width) {
    Vector weights[Outs];
    for (int n = 0; n < Outs; ++n) {
      const float* place = w + n * p.in + i;
      weights[n] = *reinterpret_cast<const Vector*>(place);
      // The next tile's weights: the processor's own prefetcher starts anew on each short row.
      if (IsFirst) __builtin_prefetch(place + Outs * p.in);
    }
    for (int r = 0; r < Rows; ++r) {
      const Vector input = *reinterpret_cast<const Vector*>(x + r * Width);
      for (int n = 0; n < Outs; ++n) sums[r][n] += input * weights[n];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    const Four y = sums_of(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
    for (int n = 0; n < Outs; ++n) {
      float sum = y[n];
      for (int64_t i = whole; i < p.in; ++i) sum += p.x[(row + r) * p.in + i] * w[n * p.in + i];
      p.y[(row + r) * p.out + o + n] = sum + (p.bias == nullptr ? 0 : p.bias[o + n]);
    }
  }
}

/// tile() of the `rows` rows, 1 to kRows.
template <int Width, int Outs, bool IsFirst>
__attribute__((always_inline)) inline void tile_of(int64_t rows, const StreamProblem& p,
                                                   const float* packed, int64_t row, int64_t o) {
  constexpr int kMost = kRows<Width>;
  const auto if_equal = [&]<int Rows>(std::integral_constant<int, Rows>)
      __attribute__((always_inline)) {
    if (rows == Rows) tile<Width, Rows, Outs, IsFirst>(p, packed, row, o);
  };
  if_equal(std::integral_constant<int, kMost>());
  if_equal(std::integral_constant<int, 1>());
  if_equal(std::integral_constant<int, 2>());
  if constexpr (kMost > 3) {
    if_equal(std::integral_constant<int, 3>());
    if_equal(std::integral_constant<int, 4>());
    if_equal(std::integral_constant<int, 5>());
  }
}

/// Outputs [o, o + Outs) of rows [begin, end).
template <int Width, int Outs>
__attribute__((always_inline)) inline void column(const StreamProblem& p, const float* packed,
                                                  int64_t begin, int64_t end, int64_t o) {
  constexpr int64_t kStep = kRows<Width>;
  tile_of<Width, Outs, true>(std::min(kStep, end - begin), p, packed, begin, o);
  for (int64_t row = begin + kStep; row < end; row += kStep)
    tile_of<Width, Outs, false>(std::min(kStep, end - row), p, packed, row, o);
}

/// Outputs [begin, end) of all rows. As many rows at a time as stay in the second cache while the
/// weights go by; a tile of weights stays in the first.
template <int Width>
__attribute__((always_inline)) inline void outputs(const StreamProblem& p, const float* packed,
                                                   int64_t begin, int64_t end) {
  constexpr int64_t kFloats = 65536;
  const int64_t chunk = std::max<int64_t>(1, kFloats / (p.in * kRows<Width>)) * kRows<Width>;
  for (int64_t first = 0; first < p.rows; first += chunk) {
    const int64_t last = std::min(p.rows, first + chunk);
    int64_t o = begin;
    for (; o + kOuts <= end; o += kOuts) column<Width, kOuts>(p, packed, first, last, o);
    for (; o < end; ++o) column<Width, 1>(p, packed, first, last, o);
  }
}

struct Kernel {
  int64_t rows;  // of a tile
  void (*pack)(const StreamProblem&, float*, int64_t, int64_t);
  void (*outputs)(const StreamProblem&, const float*, int64_t, int64_t);
};

__attribute__((target("avx512f,fma"))) void pack_avx512(const StreamProblem& p, float* packed,
                                                        int64_t begin, int64_t end) {
  pack<16>(p, packed, begin, end);
}
__attribute__((target("avx512f,fma"))) void outputs_avx512(const StreamProblem& p,
                                                           const float* packed, int64_t begin,
                                                           int64_t end) {
  outputs<16>(p, packed, begin, end);
}
__attribute__((target("avx2,fma"))) void pack_avx2(const StreamProblem& p, float* packed,
                                                   int64_t begin, int64_t end) {
  pack<8>(p, packed, begin, end);
}
__attribute__((target("avx2,fma"))) void outputs_avx2(const StreamProblem& p, const float* packed,
                                                      int64_t begin, int64_t end) {
  outputs<8>(p, packed, begin, end);
}

Kernel best_kernel() {
  __builtin_cpu_init();  // it runs before main()
  if (__builtin_cpu_supports("avx512f")) return {kRows<16>, pack_avx512, outputs_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {kRows<8>, pack_avx2, outputs_avx2};
  return {};
}

const Kernel kKernel = best_kernel();

}  // namespace

bool has_stream_kernel() { return kKernel.outputs != nullptr; }

void run_stream_kernel(const StreamProblem& problem, int threads) {
  const int64_t rows = problem.rows, out = problem.out;
  const auto packed = std::make_unique_for_overwrite<float[]>(rows * problem.in);
  // A thread is worth waking for some 64 kB of weights.
  const int64_t most = std::max<int64_t>(1, out * problem.in / 16384);
  threads = static_cast<int>(std::min<int64_t>(threads, most));
  if (threads == 1) {
    kKernel.pack(problem, packed.get(), 0, rows);
    return kKernel.outputs(problem, packed.get(), 0, out);
  }
  // Parts of whole tiles, as edges are slow. Several for each thread, which takes the next when it
  // is through: one that the system holds up keeps the others waiting for less.
  constexpr int64_t kPartsOfThread = 8, kLeast = 8 * kOuts;
  const int64_t share = (out + threads * kPartsOfThread - 1) / (threads * kPartsOfThread);
  const int64_t size = std::max(kLeast, (share + kOuts - 1) / kOuts * kOuts);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int64_t row = 0; row < rows; row += kKernel.rows)
      kKernel.pack(problem, packed.get(), row, std::min(rows, row + kKernel.rows));
#pragma omp for schedule(dynamic, 1)
    for (int64_t o = 0; o < out; o += size)
      kKernel.outputs(problem, packed.get(), o, std::min(out, o + size));
  }
}

}  // namespace zoo

#else

namespace zoo {

bool has_stream_kernel() { return false; }
void run_stream_kernel(const StreamProblem&, int) {}

}  // namespace zoo

#endif
