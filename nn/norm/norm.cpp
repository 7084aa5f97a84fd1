#include "nn/norm/norm.h"

#include "nn/norm/layer_norm.h"
#include "nn/norm/rms_norm.h"

namespace zoo {

namespace {
std::shared_ptr<NormImpl> build(const LayerNormConfig& config, int64_t dim) {
  return std::make_shared<LayerNormImpl>(config, dim);
}
std::shared_ptr<NormImpl> build(const RmsNormConfig& config, int64_t dim) {
  return std::make_shared<RmsNormImpl>(config, dim);
}
}  // namespace

Norm make_norm(const NormConfig& config, int64_t dim) {
  return std::visit([&](const auto& variant) { return Norm(build(variant, dim)); }, config);
}

}  // namespace zoo
