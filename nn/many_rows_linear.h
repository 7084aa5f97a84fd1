#pragma once
// A linear projection of many rows on CPU, by oneDNN, which LibTorch carries for convolutions. Its
// kernels are for every processor with wide vectors; those of BLAS (MKL) are made for its maker's
// own. Measured on an AMD EPYC of Zen 4, 2 threads, float32, 1,024 rows of 768 to 3,072: 191
// GFLOP/s against MKL's 137, of 229 that the processor has.

#include "core/shape.h"

namespace zoo {

/// Whether many_rows_linear() takes these: float32 on CPU, many rows, x86 with AVX2 or better, no
/// autocast, and a LibTorch with oneDNN.
bool can_many_rows_linear(const Tensor& x, const Tensor& weight);

/// x W^T + b. A row's result does not depend on how many other rows there are, as long as they are
/// many. Has gradients, of any order.
/// @param x (..., in)  @param weight (out, in)  @param bias (out) or undefined  @return (..., out)
Tensor many_rows_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace zoo
