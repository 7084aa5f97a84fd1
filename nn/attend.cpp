#include "nn/attend.h"

#include <torch/version.h>

#include <cmath>

namespace zoo {

namespace {

/// Each key/value head once for every query head that reads it: (B, G, K, E) to (B, H, K, E).
Tensor repeat_heads(const Tensor& heads, int64_t num_heads) {
  const int64_t groups = heads.size(1);
  return groups == num_heads ? heads : heads.repeat_interleave(num_heads / groups, 1);
}

Attended attend_explicitly(const Tensor& q, const Tensor& k, const Tensor& v,
                           const AttendOptions& options) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  Tensor scores =
      at::matmul(q * scale, repeat_heads(k, q.size(1)).transpose(-2, -1));  // (B, H, T, K)
  Tensor mask = options.mask;
  if (options.causal)
    mask = torch::ones({q.size(2), k.size(2)}, scores.options().dtype(torch::kBool)).tril();
  if (mask.defined())
    scores = mask.scalar_type() == torch::kBool
                 ? scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity())
                 : scores + mask;
  // The safe softmax gives zeros, not NaN, for a row of minus infinities.
  const Tensor weights = at::_safe_softmax(scores, -1);
  const Tensor dropped =
      options.dropout > 0 ? at::dropout(weights, options.dropout, true) : weights;
  return {at::matmul(dropped, repeat_heads(v, q.size(1))), weights};
}

}  // namespace

Attended attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttendOptions& options) {
  require_shape(q, {-1, -1, -1, -1}, "attend: q");
  require_shape(k, {q.size(0), -1, -1, q.size(3)}, "attend: k");
  require_shape(v, {q.size(0), k.size(1), k.size(2), -1}, "attend: v");
  if (q.size(1) % k.size(1) != 0)
    throw ShapeError(cat("attend: ", q.size(1), " query heads cannot share ", k.size(1),
                         " key/value heads; the second must divide the first"));
  if (options.causal && (options.mask.defined() || q.size(2) != k.size(2)))
    throw ShapeError(cat("attend: causal needs as many queries as keys and no mask, found ",
                         q.size(2), " queries and ", k.size(2), " keys"));
  if (options.want_weights) return attend_explicitly(q, k, v, options);

  const std::optional<Tensor> mask =
      options.mask.defined() ? std::optional<Tensor>(options.mask) : std::nullopt;
  const bool grouped = q.size(1) != k.size(1);
  Tensor output = at::scaled_dot_product_attention(q, k, v, mask, options.dropout, options.causal,
                                                   /*scale=*/std::nullopt, grouped);
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 13
  // Older releases give NaN where a query may attend to nothing.
  if (mask && mask->scalar_type() == torch::kBool)
    output = output.masked_fill(mask->any(-1, /*keepdim=*/true).logical_not(), 0);
#endif
  return {output, {}};
}

}  // namespace zoo
