#pragma once
// Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1; GPT-2's `wpe`.

#include "nn/position/position.h"

namespace zoo {

class LearnedPositionImpl final : public PositionImpl {
 public:
  LearnedPositionImpl(int64_t max_length, int64_t d_model) {
    weight = register_parameter("weight", torch::empty({max_length, d_model}));
  }
  Tensor embed(const Tensor& x, const PositionSpan& span,
               const PositionTables& tables) const override {
    if (tables.ids.defined()) return x + at::embedding(weight, tables.ids);
    return x + weight.narrow(0, span.past, span.length);
  }

  Tensor weight;  ///< (N, D)
};

}  // namespace zoo
