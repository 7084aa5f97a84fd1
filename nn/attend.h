#pragma once
// Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1). The only caller of torch's
// fused operator in this project.

#include "core/shape.h"

namespace zoo {

struct AttendOptions {
  /// Bool, true = may attend; or a float added to the scores. Broadcasts to (B, H, T, K).
  /// Undefined: all.
  Tensor mask;
  /// Token i attends to keys 0..i. Needs T = K and no mask: torch aligns it top-left, so that with
  /// past keys it would hide the present.
  bool causal = false;
  double dropout = 0;
  bool want_weights = false;  ///< take the explicit path and return the weights
};

struct Attended {
  Tensor output;   ///< (B, H, T, E)
  Tensor weights;  ///< (B, H, T, K), defined if asked for; before dropout
};

/// softmax(q k^T / sqrt(E) + mask) v. Query head h reads key/value head floor(h G / H).
/// A query that may attend to nothing gives 0, with finite gradients.
/// @param q (B, H, T, E)  @param k, v (B, G, K, E), G divides H
/// @throws ShapeError
Attended attend(const Tensor& q, const Tensor& k, const Tensor& v,
                const AttendOptions& options = {});

}  // namespace zoo
