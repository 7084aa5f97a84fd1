#pragma once
// A place to observe a forward pass: what a caller asked for is put here, never into members.

#include <vector>

#include "core/shape.h"

namespace zoo {

struct Tap {
  bool want_attention =
      false;                 ///< collect attention weights (takes the explicit path: O(T K) memory)
  bool want_hidden = false;  ///< collect hidden states

  std::vector<Tensor> attention;  ///< per layer, (B, H, T, K), rows sum to 1
  std::vector<Tensor> hidden;     ///< the embedding, then each layer's output, (B, T, D)
};

}  // namespace zoo
