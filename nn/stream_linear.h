#pragma once
// A linear projection of few rows on CPU. Its cost is reading the weights from memory, so that each
// weight is read once for all rows, in order, by all threads. BLAS copies the weights into panels
// first, which costs more than the product itself.

#include "core/shape.h"

namespace zoo {

/// More rows than this are a product for other kernels (nn/many_rows_linear.h, BLAS), whose copies
/// of the weights pay off then.
constexpr int64_t kMostStreamedRows = 1000;

/// Whether stream_linear() takes these: float32 on CPU, contiguous, few rows, inference, and a
/// processor with wide vectors.
bool can_stream_linear(const Tensor& x, const Tensor& weight);

/// x W^T + b. A row's result does not depend on how many other rows there are.
/// @param x (..., in)  @param weight (out, in)  @param bias (out) or undefined  @return (..., out)
Tensor stream_linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

}  // namespace zoo
