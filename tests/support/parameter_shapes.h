#pragma once
// The parameters of a module, and those that its config predicts, by name.

#include <map>
#include <string>
#include <vector>

#include "core/shape.h"
#include "models/cost.h"

namespace zoo::testing {

using ParameterShapes = std::map<std::string, std::vector<int64_t>>;

inline ParameterShapes built_parameters(const torch::nn::Module& model) {
  ParameterShapes shapes;
  for (const auto& entry : model.named_parameters())
    shapes[entry.key()] = entry.value().sizes().vec();
  return shapes;
}

/// parameter_costs() with every block written out.
inline ParameterShapes predicted_parameters(const ModelConfig& config) {
  ParameterShapes shapes;
  for (const ParameterCost& parameter : parameter_costs(config)) {
    const size_t star = parameter.name.find('*');
    for (int64_t copy = 0; copy < parameter.copies; ++copy) {
      std::string name = parameter.name;
      if (star != std::string::npos) name.replace(star, 1, std::to_string(copy));
      shapes[name] = parameter.shape;
    }
  }
  return shapes;
}

}  // namespace zoo::testing
