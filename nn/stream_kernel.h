#pragma once
// The arithmetic of nn/stream_linear.h on plain memory. No torch, so that it is compiled with its
// own flags.

#include <cstdint>

namespace zoo {

/// Row-major matrices: y[r][o] = bias[o] + sum over i of x[r][i] w[o][i]; bias may be null.
struct StreamProblem {
  const float* x;
  const float* w;
  const float* bias;
  float* y;
  int64_t rows, in, out;
};

/// Whether this build and this processor have the kernel: x86 with AVX2 or AVX-512, and OpenMP.
bool has_stream_kernel();

/// Computes y on up to `threads` threads of LibTorch's OpenMP runtime. Needs has_stream_kernel().
void run_stream_kernel(const StreamProblem& problem, int threads);

}  // namespace zoo
