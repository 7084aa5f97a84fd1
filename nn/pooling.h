#pragma once
// One vector for a text.

#include "core/shape.h"
#include "nn/config.h"

namespace zoo {

/// @param hidden (B, T, D), padded at the right  @param lengths (B) int64, in [1, T]
/// @return (B, D): the first token's vector, or the mean or the maximum over the real tokens
Tensor pool_tokens(const Tensor& hidden, const Tensor& lengths, Pooling pooling);

}  // namespace zoo
