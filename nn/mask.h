#pragma once
// Which keys a query may see. No tensor at all where torch's own causal rule or no rule is enough,
// so that the fastest kernel is taken.

#include "nn/attend.h"

namespace zoo {

/// The mask of T queries of a causal model that follow `past` keys, for attend().
/// Padding sees itself, so that no row is empty.
/// @param left_pad (B) int64 or undefined  @param bias (1, H, T, K) added to the scores, or
/// undefined
/// @return options with mask and causal set
AttendOptions causal_mask(int64_t past, int64_t length, const Tensor& left_pad, const Tensor& bias,
                          torch::Device device);

/// Which places of sequences padded at the right hold tokens: (B, length) bool, or undefined where
/// all do. @param lengths (B) int64
Tensor real_tokens(const Tensor& lengths, int64_t length);

/// The mask of queries that see every real key, before and after them.
/// @param real (B, K) bool, or undefined: all are  @param bias (1, H, T, K) added to the scores, or
/// undefined
AttendOptions padding_mask(const Tensor& real, const Tensor& bias);

}  // namespace zoo
