#pragma once
// Floating-point operations of the matrix products that LibTorch runs, counted one by one.

#include <functional>

namespace zoo {

/// What the matrix products cost that `work` runs on this thread, a multiply and an add as 2: sums
/// over the operators that LibTorch calls, read from the shapes of their arguments. Independent of
/// models/cost.h, which works the same number out from a config.
///
/// Seen are products, batched products, oneDNN's layers, the library's own kernel for few rows, and
/// fused attention, which counts whole, causal or not.
double count_flops(const std::function<void()>& work);

}  // namespace zoo
