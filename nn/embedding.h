#pragma once
// A table of vectors, one for each id.

#include "core/shape.h"

namespace zoo {

class EmbeddingImpl : public torch::nn::Module {
 public:
  /// Parameters are allocated, not drawn: see nn/init.h.
  EmbeddingImpl(int64_t count, int64_t dim) {
    weight = register_parameter("weight", torch::empty({count, dim}));
  }
  /// @param ids any shape, int64 in [0, count)  @return (ids..., dim)
  Tensor forward(const Tensor& ids) { return at::embedding(weight, ids); }

  Tensor weight;  ///< (count, dim)
};
TORCH_MODULE(Embedding);

}  // namespace zoo
