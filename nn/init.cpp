#include "nn/init.h"

#include <cmath>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/position/learned.h"

namespace zoo {

namespace {

struct Initializer {
  int64_t num_layers;

  // Two projections write to the residual stream in each layer, so its variance grows with 2 L.
  void projection(const Gpt2InitConfig& c, LinearImpl& linear) const {
    const double scale =
        linear.writes_to_residual ? 1 / std::sqrt(2.0 * static_cast<double>(num_layers)) : 1;
    linear.weight.normal_(0, c.std * scale);
  }
  void projection(const XavierInitConfig&, LinearImpl& linear) const {
    torch::nn::init::xavier_uniform_(linear.weight);
  }
  void table(const Gpt2InitConfig& c, Tensor& weight) const { weight.normal_(0, c.std); }
  void table(const XavierInitConfig&, Tensor& weight) const {
    weight.normal_(0, 1 / std::sqrt(static_cast<double>(weight.size(-1))));
  }
};

}  // namespace

void init_parameters(torch::nn::Module& root, const InitConfig& config, int64_t num_layers) {
  const torch::NoGradGuard no_grad;
  const Initializer initializer{num_layers};
  for (const auto& module : root.modules()) {
    // What no case below names is a norm's weight or a bias.
    for (auto& item : module->named_parameters(/*recurse=*/false))
      item.value().fill_(item.key() == "bias" ? 0 : 1);
    std::visit(
        [&](const auto& c) {
          if (auto* linear = module->as<LinearImpl>()) initializer.projection(c, *linear);
          if (auto* embedding = module->as<EmbeddingImpl>())
            initializer.table(c, embedding->weight);
          if (auto* learned = module->as<LearnedPositionImpl>())
            initializer.table(c, learned->weight);
        },
        config);
  }
}

}  // namespace zoo
