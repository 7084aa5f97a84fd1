#pragma once
// Keys and values of the tokens read so far, allocated once (Shazeer 2019, section 2.4.1).

#include <utility>
#include <vector>

#include "core/shape.h"

namespace zoo {

struct KvCacheShape {
  int64_t num_layers, batch, num_kv_heads, capacity, head_dim;
};

class KvCache {
 public:
  KvCache(const KvCacheShape& shape, const torch::TensorOptions& options);

  /// Writes the T new keys and values of a layer behind the old ones.
  /// @param k, v (B, G, T, E)  @return views of all K = length() + T keys and values: (B, G, K, E)
  /// @throws ShapeError if they do not fit into the capacity
  std::pair<Tensor, Tensor> append(int64_t layer, const Tensor& k, const Tensor& v);
  /// Counts the tokens that every layer has appended.
  void advance(int64_t tokens) { length_ += tokens; }
  /// Keeps the rows `rows` (B') int64, in that order.
  void reorder(const Tensor& rows);

  int64_t length() const { return length_; }
  int64_t capacity() const { return keys_.front().size(2); }
  int64_t batch() const { return keys_.front().size(0); }

 private:
  std::vector<Tensor> keys_, values_;  ///< per layer (B, G, capacity, E)
  Tensor spare_;                       ///< of the last reorder(), or undefined
  int64_t length_ = 0;
};

}  // namespace zoo
