#include "nn/position/position.h"

#include "nn/position/alibi.h"
#include "nn/position/learned.h"
#include "nn/position/rope.h"
#include "nn/position/sinusoidal.h"

namespace zoo {

PositionTables PositionImpl::prepare(const PositionSpan& span, const Tensor& like) const {
  PositionTables tables;
  if (span.left_pad.defined()) {
    const Tensor columns = torch::arange(span.past, span.past + span.length,
                                         torch::dtype(torch::kLong).device(like.device()));
    // Padding counts as position 0: its output is never used, it only has to be in range.
    tables.ids = (columns.unsqueeze(0) - span.left_pad.unsqueeze(1)).clamp_min(0);  // (B, T)
  }
  return tables;
}

namespace {
std::shared_ptr<PositionImpl> build(const NoPositionConfig&, const PositionShape&) {
  return std::make_shared<PositionImpl>();
}
std::shared_ptr<PositionImpl> build(const LearnedPositionConfig&, const PositionShape& shape) {
  return std::make_shared<LearnedPositionImpl>(shape.max_length, shape.d_model);
}
std::shared_ptr<PositionImpl> build(const SinusoidalPositionConfig& config,
                                    const PositionShape& shape) {
  return std::make_shared<SinusoidalPositionImpl>(config, shape.max_length, shape.d_model);
}
std::shared_ptr<PositionImpl> build(const RopePositionConfig& config, const PositionShape& shape) {
  return std::make_shared<RopePositionImpl>(config, shape.max_length, shape.head_dim);
}
std::shared_ptr<PositionImpl> build(const AlibiPositionConfig&, const PositionShape& shape) {
  return std::make_shared<AlibiPositionImpl>(shape.num_heads);
}
}  // namespace

Position make_position(const PositionConfig& config, const PositionShape& shape) {
  return std::visit([&](const auto& variant) { return Position(build(variant, shape)); }, config);
}

}  // namespace zoo
