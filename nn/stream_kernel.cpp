#include "nn/stream_kernel.h"

#include <algorithm>
#include <cstring>

// x86 and GCC's or Clang's vector extensions; elsewhere, and without OpenMP, BLAS does the work.
#if defined(__x86_64__) && defined(__GNUC__) && defined(_OPENMP)

namespace zoo {

namespace {

/// Width floats that the compiler keeps in one vector register.
template <int Width>
struct VectorOf {
  typedef float type __attribute__((vector_size(Width * sizeof(float)), aligned(4)));
};

/// The sum of a vector's elements, in halves: a chain of additions would take as long as the
/// product.
template <int Width>
__attribute__((always_inline)) inline float sum_of(const typename VectorOf<Width>::type& vector) {
  if constexpr (Width == 1) {
    return vector[0];
  } else {
    typename VectorOf<Width / 2>::type halves[2];
    std::memcpy(halves, &vector, sizeof vector);
    return sum_of<Width / 2>(halves[0] + halves[1]);
  }
}

/// The results of Rows rows and Outs outputs from (row, o) on: each loaded vector of weights meets
/// all rows, each vector of x all outputs. The sums do not depend on Rows or Outs.
template <int Width, int Rows, int Outs>
__attribute__((always_inline)) inline void tile(const StreamProblem& p, int64_t row, int64_t o) {
  using Vector = typename VectorOf<Width>::type;
  Vector sums[Rows][Outs] = {};
  const int64_t whole = p.in / Width * Width;
  for (int64_t i = 0; i < whole; i += Width) {
    Vector weights[Outs];
    for (int n = 0; n < Outs; ++n) {
      const float* place = p.w + (o + n) * p.in + i;
      weights[n] = *reinterpret_cast<const Vector*>(place);
      // The next tile's weights: the processor's own prefetcher starts anew on each short row.
      __builtin_prefetch(place + Outs * p.in);
    }
    for (int r = 0; r < Rows; ++r) {
      const Vector input = *reinterpret_cast<const Vector*>(p.x + (row + r) * p.in + i);
      for (int n = 0; n < Outs; ++n) sums[r][n] += input * weights[n];
    }
  }
  for (int r = 0; r < Rows; ++r)
    for (int n = 0; n < Outs; ++n) {
      float sum = sum_of<Width>(sums[r][n]);
      for (int64_t i = whole; i < p.in; ++i)
        sum += p.x[(row + r) * p.in + i] * p.w[(o + n) * p.in + i];
      p.y[(row + r) * p.out + o + n] = sum + (p.bias == nullptr ? 0 : p.bias[o + n]);
    }
}

/// Outputs [begin, end) of all rows. Chunk rows at a time keep their sums in registers; the tile of
/// weights stays in the nearest cache meanwhile.
template <int Width, int Chunk, int Outs>
__attribute__((always_inline)) inline void outputs(const StreamProblem& p, int64_t begin,
                                                   int64_t end) {
  int64_t o = begin;
  for (; o + Outs <= end; o += Outs) {
    int64_t row = 0;
    for (; row + Chunk <= p.rows; row += Chunk) tile<Width, Chunk, Outs>(p, row, o);
    for (; row < p.rows; ++row) tile<Width, 1, Outs>(p, row, o);
  }
  for (; o < end; ++o)
    for (int64_t row = 0; row < p.rows; ++row) tile<Width, 1, 1>(p, row, o);
}

using Kernel = void (*)(const StreamProblem&, int64_t, int64_t);

// 32 registers of 16 floats: 8 x 2 sums, 2 weights, 1 input.
__attribute__((target("avx512f,fma"))) void outputs_avx512(const StreamProblem& p, int64_t begin,
                                                           int64_t end) {
  if (p.rows >= 8) return outputs<16, 8, 2>(p, begin, end);
  if (p.rows >= 4) return outputs<16, 4, 4>(p, begin, end);
  outputs<16, 2, 4>(p, begin, end);
}

// 16 registers of 8 floats: 4 x 2 sums, 2 weights, 1 input.
__attribute__((target("avx2,fma"))) void outputs_avx2(const StreamProblem& p, int64_t begin,
                                                      int64_t end) {
  if (p.rows >= 4) return outputs<8, 4, 2>(p, begin, end);
  outputs<8, 2, 4>(p, begin, end);
}

Kernel best_kernel() {
  __builtin_cpu_init();  // it runs before main()
  if (__builtin_cpu_supports("avx512f")) return outputs_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return outputs_avx2;
  return nullptr;
}

const Kernel kKernel = best_kernel();

}  // namespace

bool has_stream_kernel() { return kKernel != nullptr; }

void run_stream_kernel(const StreamProblem& problem, int threads) {
  // A thread is worth waking for some 64 kB of weights.
  const int64_t most = std::max<int64_t>(1, problem.out * problem.in / 16384);
  const int64_t parts = std::min<int64_t>(threads, most);
  if (parts == 1) return kKernel(problem, 0, problem.out);
  // Parts of whole tiles: the sums of an output do not depend on who computes it, but edges are
  // slow.
  const int64_t size = ((problem.out + parts - 1) / parts + 3) & ~int64_t{3};
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (int64_t part = 0; part < parts; ++part)
    kKernel(problem, std::min(problem.out, part * size), std::min(problem.out, (part + 1) * size));
}

}  // namespace zoo

#else

namespace zoo {

bool has_stream_kernel() { return false; }
void run_stream_kernel(const StreamProblem&, int) {}

}  // namespace zoo

#endif
