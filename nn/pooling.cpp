#include "nn/pooling.h"

#include "nn/mask.h"

namespace zoo {

Tensor pool_tokens(const Tensor& hidden, const Tensor& lengths, Pooling pooling) {
  if (pooling == Pooling::cls) return hidden.select(1, 0);
  const Tensor real = real_tokens(lengths, hidden.size(1));  // (B, T) or undefined
  if (pooling == Pooling::max) {
    if (!real.defined()) return hidden.amax(1);
    return hidden
        .masked_fill(real.logical_not().unsqueeze(2), -std::numeric_limits<double>::infinity())
        .amax(1);
  }
  if (!real.defined()) return hidden.mean(1);
  // Filled, not multiplied: what stands in padding may be no number.
  return hidden.masked_fill(real.logical_not().unsqueeze(2), 0).sum(1) / lengths.unsqueeze(1);
}

}  // namespace zoo
