#include "nn/position/alibi.h"

#include <bit>
#include <cmath>

namespace zoo {

Tensor alibi_slopes(int64_t num_heads) {
  const auto power = static_cast<double>(std::bit_floor(static_cast<uint64_t>(num_heads)));
  std::vector<double> slopes;
  for (double h = 1; h <= power; ++h) slopes.push_back(std::exp2(-8 * h / power));
  for (double h = 1; static_cast<int64_t>(slopes.size()) < num_heads; h += 2)
    slopes.push_back(std::exp2(-4 * h / power));
  return torch::tensor(slopes, torch::kFloat32);
}

AlibiPositionImpl::AlibiPositionImpl(int64_t num_heads) {
  slopes_ = register_buffer("slopes", alibi_slopes(num_heads));
}

PositionTables AlibiPositionImpl::prepare(const PositionSpan& span, const Tensor& like) const {
  PositionTables tables = PositionImpl::prepare(span, like);
  const auto options = torch::dtype(torch::kFloat32).device(like.device());
  const Tensor keys = torch::arange(span.past + span.length, options);
  // Between an encoder's tokens, which see both sides; a causal mask hides the later ones.
  const Tensor distance =
      (keys.narrow(0, span.past, span.length).unsqueeze(1) - keys).abs();  // (T, K)
  tables.bias = (-slopes_.view({1, -1, 1, 1}) * distance).to(like.scalar_type());
  return tables;
}

}  // namespace zoo
