#include "nn/init.h"

#include <cmath>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/position/learned.h"
#include "nn/recurrent.h"

namespace zoo {

namespace {

/// Draws a projection (out, in). @param scale for those that write into the residual stream
void draw_matrix(const Gpt2InitConfig& c, Tensor weight, double scale) {
  weight.normal_(0, c.std * scale);
}
void draw_matrix(const XavierInitConfig&, Tensor weight, double) {
  torch::nn::init::xavier_uniform_(weight);
}
void draw_matrix(const UniformInitConfig& c, Tensor weight, double) {
  weight.uniform_(-c.scale, c.scale);
}

/// Draws a table of vectors (count, D).
void draw_table(const Gpt2InitConfig& c, Tensor weight) { weight.normal_(0, c.std); }
void draw_table(const XavierInitConfig&, Tensor weight) {
  weight.normal_(0, 1 / std::sqrt(static_cast<double>(weight.size(-1))));
}
void draw_table(const UniformInitConfig& c, Tensor weight) { weight.uniform_(-c.scale, c.scale); }

void draw_recurrent(const auto& config, const RecurrentImpl& layers) {
  const RecurrentOptions& options = layers.options();
  const std::vector<Tensor>& weights = layers.weights();
  for (size_t i = 0; i < weights.size(); i += 4) {
    const Tensor &weight_ih = weights[i], &weight_hh = weights[i + 1], &bias_ih = weights[i + 2];
    for (const Tensor& gate : weight_ih.split(options.hidden)) draw_matrix(config, gate, 1);
    for (const Tensor& gate : weight_hh.split(options.hidden)) {
      if (options.orthogonal)
        torch::nn::init::orthogonal_(gate);
      else
        draw_matrix(config, gate, 1);
    }
    if (options.cell == RecurrentCell::lstm)
      bias_ih.narrow(0, options.hidden, options.hidden).fill_(options.forget_bias);
  }
}

}  // namespace

void init_parameters(torch::nn::Module& root, const InitConfig& config, int64_t residual_writes) {
  const torch::NoGradGuard no_grad;
  // The variance of the residual stream grows with each that writes to it.
  const double scale = 1 / std::sqrt(static_cast<double>(residual_writes));
  for (const auto& module : root.modules()) {
    // What no case below names is a norm's weight or a bias.
    for (auto& item : module->named_parameters(/*recurse=*/false))
      item.value().fill_(item.key().find("bias") == std::string::npos ? 1 : 0);
    std::visit(
        [&](const auto& c) {
          if (auto* linear = module->as<LinearImpl>())
            draw_matrix(c, linear->weight, linear->writes_to_residual ? scale : 1);
          if (auto* embedding = module->as<EmbeddingImpl>()) draw_table(c, embedding->weight);
          if (auto* learned = module->as<LearnedPositionImpl>()) draw_table(c, learned->weight);
          if (auto* layers = module->as<RecurrentImpl>()) draw_recurrent(c, *layers);
        },
        config);
  }
}

}  // namespace zoo
