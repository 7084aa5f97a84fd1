#pragma once
// The list of models. A new model is one more alternative of ModelConfig and one more case in
// zoo.cpp.

#include <memory>

#include "models/contracts.h"
#include "models/model_config.h"

namespace zoo {

/// drawn: initialised from torch's default generator (torch::manual_seed); allocated: left unset,
/// for weights that are read next.
enum class Parameters { drawn, allocated };

/// Builds a model. @throws ConfigError if vocab_size is still 0
std::shared_ptr<CausalLm> make_causal_lm(const ModelConfig& config,
                                         Parameters parameters = Parameters::drawn);

/// Fills what the tokenizer decides: vocab_size 0 becomes `vocab_size`.
/// @throws ConfigError if the config names another, smaller vocabulary
void fit_to_vocabulary(ModelConfig& config, int64_t vocab_size);

/// All parameters, each storage once.
int64_t count_parameters(const torch::nn::Module& model);

}  // namespace zoo
