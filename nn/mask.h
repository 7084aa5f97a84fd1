#pragma once
// Which keys a query of a causal model may see.

#include "nn/attend.h"

namespace zoo {

/// The mask of T queries that follow `past` keys, for attend(): no tensor at all where torch's own
/// causal rule or no rule is enough, so that the fastest kernel is taken.
/// Padding sees itself, so that no row is empty.
/// @param left_pad (B) int64 or undefined  @param bias (1, H, T, K) added to the scores, or
/// undefined
/// @return options with mask and causal set
AttendOptions causal_mask(int64_t past, int64_t length, const Tensor& left_pad, const Tensor& bias,
                          torch::Device device);

}  // namespace zoo
