#include "nn/position/sinusoidal.h"

#include "nn/position/angles.h"

namespace zoo {

Tensor sinusoidal_table(int64_t max_length, int64_t d_model, double base, SinusoidalLayout layout) {
  const Tensor angles = position_angles(max_length, (d_model + 1) / 2, d_model, base);
  const bool halves = layout == SinusoidalLayout::halves;
  return torch::stack({angles.sin(), angles.cos()}, halves ? 1 : 2)
      .flatten(1)
      .narrow(1, 0, d_model)  // an odd width drops the last cosine
      .to(torch::kFloat32)
      .contiguous();
}

SinusoidalPositionImpl::SinusoidalPositionImpl(const SinusoidalPositionConfig& config,
                                               int64_t max_length, int64_t d_model) {
  table_ =
      register_buffer("table", sinusoidal_table(max_length, d_model, config.base, config.layout));
}

Tensor SinusoidalPositionImpl::embed(const Tensor& x, const PositionSpan& span,
                                     const PositionTables& tables) const {
  if (tables.ids.defined()) return x + at::embedding(table_, tables.ids);
  return x + table_.narrow(0, span.past, span.length);
}

}  // namespace zoo
