#include "nn/position/rope.h"

#include "nn/position/angles.h"

namespace zoo {

Tensor rotate_pairs(const Tensor& heads, const Tensor& cos, const Tensor& sin,
                    RopePairing pairing) {
  if (pairing == RopePairing::half) {
    const auto halves = heads.chunk(2, -1);  // (B, H, T, E/2) each
    return torch::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
  }
  const Tensor pairs = heads.unflatten(-1, {-1, 2});  // (B, H, T, E/2, 2)
  const Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
  return torch::stack({even * cos - odd * sin, odd * cos + even * sin}, -1).flatten(-2);
}

RopePositionImpl::RopePositionImpl(const RopePositionConfig& config, int64_t max_length,
                                   int64_t head_dim)
    : pairing_(config.pairing) {
  if (head_dim % 2 != 0)
    throw ConfigError(cat("position \"rope\" turns pairs, but a head is ", head_dim,
                          " wide (d_model / num_heads); choose widths that make it even"));
  const Tensor angles = position_angles(max_length, head_dim / 2, head_dim, config.base);
  cos_ = register_buffer("cos", angles.cos().to(torch::kFloat32));
  sin_ = register_buffer("sin", angles.sin().to(torch::kFloat32));
}

PositionTables RopePositionImpl::prepare(const PositionSpan& span, const Tensor& like) const {
  PositionTables tables = PositionImpl::prepare(span, like);
  if (tables.ids.defined()) {
    tables.cos = at::embedding(cos_, tables.ids).unsqueeze(1);
    tables.sin = at::embedding(sin_, tables.ids).unsqueeze(1);
  } else {
    tables.cos = cos_.narrow(0, span.past, span.length);
    tables.sin = sin_.narrow(0, span.past, span.length);
  }
  return tables;
}

Tensor RopePositionImpl::rotate(const Tensor& heads, const PositionTables& tables) const {
  return rotate_pairs(heads, tables.cos, tables.sin, pairing_);
}

}  // namespace zoo
