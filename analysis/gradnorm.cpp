#include "analysis/gradnorm.h"

#include <algorithm>
#include <numeric>

#include "analysis/gradnorm_modes.h"

namespace zoo {

ProbeShape probe_shape(const GradnormOptions& options, ProbeModel model) {
  ProbeShape shape{.model = model, .input = options.d, .hidden = options.d};
  shape.layers = options.layers;
  shape.norm = options.norm.value_or(NormPlacement::pre);
  const int64_t wanted =
      Probe({.model = ProbeModel::lstm, .input = options.d, .hidden = options.d}).parameter_count();
  return model == ProbeModel::lstm ? shape : with_parameters(shape, wanted);
}

Tensor probe_inputs(int64_t batch, int64_t T, int64_t width, bool float32) {
  return torch::randn({batch, T, width}, torch::kFloat64)
      .to(float32 ? torch::kFloat32 : torch::kFloat64);
}

Probe drawn_probe(const ProbeShape& shape, const ProbeDraw& how, uint64_t seed, bool float32) {
  torch::manual_seed(seed);
  Probe probe(shape);
  probe.draw(how);
  if (float32) probe.to(torch::kFloat32);
  return probe;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

GradnormResult gradnorm(GradnormMode mode, const GradnormOptions& options) {
  const bool transformer =
      mode == GradnormMode::depth || std::find(options.models.begin(), options.models.end(),
                                               ProbeModel::transformer) != options.models.end();
  if (transformer && options.d % 4 != 0)
    throw ConfigError(cat("gradnorm: d is ", options.d,
                          "; the Transformer's 4 heads need a multiple "
                          "of 4"));
  if (mode == GradnormMode::time && options.T < 10)
    throw ConfigError(cat("gradnorm: T is ", options.T, "; a rate needs at least 10 steps"));
  if (mode == GradnormMode::depth && options.depths.empty())
    throw ConfigError("gradnorm: no depth is given; give at least one, such as 2,4,8");
  if (mode != GradnormMode::depth && options.models.empty())
    throw ConfigError("gradnorm: no model is given; give at least one, such as rnn,transformer");

  GradnormResult result{.mode = mode, .options = options};
  if (mode != GradnormMode::depth)
    for (const ProbeModel model : options.models)
      result.parameters.emplace_back(enum_name(model),
                                     Probe(probe_shape(options, model)).parameter_count());
  switch (mode) {
    case GradnormMode::time:
      gradnorm_time(options, result);
      break;
    case GradnormMode::depth:
      gradnorm_depth(options, result);
      break;
    case GradnormMode::jacobian:
      gradnorm_jacobian(options, result);
      break;
  }
  return result;
}

}  // namespace zoo
