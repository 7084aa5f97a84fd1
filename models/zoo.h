#pragma once
// The list of models. A new model is one more alternative of ModelConfig and one more case in zoo.cpp.

#include <memory>

#include "models/contracts.h"
#include "models/model_config.h"

namespace zoo {

/// Builds a freshly initialised model. Draws come from torch's default generator (torch::manual_seed).
/// @throws ConfigError if vocab_size is still 0
std::shared_ptr<CausalLm> make_causal_lm(const ModelConfig& config);

/// Fills what the tokenizer decides: vocab_size 0 becomes `vocab_size`.
/// @throws ConfigError if the config names another, smaller vocabulary
void fit_to_vocabulary(ModelConfig& config, int64_t vocab_size);

/// All parameters, each storage once.
int64_t count_parameters(const torch::nn::Module& model);

}  // namespace zoo
