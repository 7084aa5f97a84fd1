#include "models/zoo.h"

#include <set>

#include "models/gpt.h"
#include "nn/init.h"

namespace zoo {

std::shared_ptr<CausalLm> make_causal_lm(const ModelConfig& config, Parameters parameters) {
  return std::visit(
      [&](const GptConfig& gpt) -> std::shared_ptr<CausalLm> {
        auto model = std::make_shared<Gpt>(gpt);
        if (parameters == Parameters::drawn) init_parameters(*model, gpt.init, gpt.num_layers);
        return model;
      },
      config);
}

void fit_to_vocabulary(ModelConfig& config, int64_t vocab_size) {
  std::visit(
      [&](auto& model) {
        if (model.vocab_size == 0) model.vocab_size = vocab_size;
        if (model.vocab_size < vocab_size)
          throw ConfigError(cat("model.vocab_size is ", model.vocab_size,
                                ", but the tokenizer has ", vocab_size,
                                " tokens; set it to 0 to take the tokenizer's"));
      },
      config);
}

int64_t count_parameters(const torch::nn::Module& model) {
  std::set<void*> seen;
  int64_t count = 0;
  for (const Tensor& parameter : model.parameters())
    if (seen.insert(parameter.unsafeGetTensorImpl()).second) count += parameter.numel();
  return count;
}

}  // namespace zoo
