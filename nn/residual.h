#pragma once
// Where norm and dropout of a sub-layer stand, decided in one place.

#include "nn/norm/norm.h"

namespace zoo {

struct Residual {
  NormPlacement placement = NormPlacement::pre;
  double dropout = 0;
  bool training = false;

  /// pre: x + dropout(f(norm(x))); post: norm(x + dropout(f(x))). The sub-layer's output is dropped
  /// before it is added (Vaswani et al. 2017, section 5.4).
  /// @param x (B, T, D)  @param sublayer f, (B, T, D) to (B, T, D)
  Tensor operator()(const Tensor& x, NormImpl& norm, auto&& sublayer) const {
    const bool pre = placement == NormPlacement::pre;
    Tensor y = sublayer(pre ? norm.forward(x) : x);
    if (training && dropout > 0) y = at::dropout(y, dropout, true);
    return pre ? x + y : norm.forward(x + y);
  }
};

}  // namespace zoo
