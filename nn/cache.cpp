#include "nn/cache.h"

namespace zoo {

KvCache::KvCache(const KvCacheShape& shape, const torch::TensorOptions& options) {
  for (int64_t layer = 0; layer < shape.num_layers; ++layer)
    for (std::vector<Tensor>* part : {&keys_, &values_})
      part->push_back(
          torch::empty({shape.batch, shape.num_kv_heads, shape.capacity, shape.head_dim}, options));
}

std::pair<Tensor, Tensor> KvCache::append(int64_t layer, const Tensor& k, const Tensor& v) {
  const int64_t tokens = k.size(2), end = length_ + tokens;
  if (end > capacity())
    throw ShapeError(
        cat("KV cache: ", end, " tokens do not fit into its capacity of ", capacity()));
  Tensor& keys = keys_[layer];
  Tensor& values = values_[layer];
  keys.narrow(2, length_, tokens).copy_(k);
  values.narrow(2, length_, tokens).copy_(v);
  return {keys.narrow(2, 0, end), values.narrow(2, 0, end)};
}

void KvCache::reorder(const Tensor& rows) {
  if (rows.size(0) == batch() && rows.equal(torch::arange(batch(), rows.options()))) return;
  for (std::vector<Tensor>* part : {&keys_, &values_})
    for (Tensor& old : *part) {
      // Into what the last one left, as memory from the system must be cleared first.
      Tensor fresh =
          spare_.defined() && spare_.size(0) >= rows.size(0)
              ? spare_.narrow(0, 0, rows.size(0))
              : torch::empty({rows.size(0), old.size(1), old.size(2), old.size(3)}, old.options());
      // Only the part in use is copied.
      Tensor used = fresh.narrow(2, 0, length_);
      at::index_select_out(used, old.narrow(2, 0, length_), 0, rows);
      spare_ = std::exchange(old, fresh);
    }
}

}  // namespace zoo
