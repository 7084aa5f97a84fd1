#pragma once
// The list of models. A new model is one more alternative of ModelConfig and one more case in
// zoo.cpp.

#include <memory>
#include <optional>

#include "models/contracts.h"
#include "models/model_config.h"

namespace zoo {

/// drawn: initialised from torch's default generator (torch::manual_seed); allocated: left unset,
/// for weights that are read next.
enum class Parameters { drawn, allocated };

/// Builds a model. @throws ConfigError if the size of a vocabulary is still 0
std::shared_ptr<torch::nn::Module> make_model(const ModelConfig& config,
                                              Parameters parameters = Parameters::drawn);
/// The same for those who need a model of that kind. @throws ConfigError if it is of another one
std::shared_ptr<CausalLm> make_causal_lm(const ModelConfig& config,
                                         Parameters parameters = Parameters::drawn);
std::shared_ptr<Seq2Seq> make_seq2seq(const ModelConfig& config,
                                      Parameters parameters = Parameters::drawn);

std::shared_ptr<TextEncoder> make_text_encoder(const ModelConfig& config,
                                               Parameters parameters = Parameters::drawn);

std::shared_ptr<ImageEncoder> make_image_encoder(const ModelConfig& config,
                                                 Parameters parameters = Parameters::drawn);

/// A model as the contract that the caller needs: CausalLm, Seq2Seq, TextEncoder or ImageEncoder.
/// @param where names the model in messages  @throws ConfigError if it is of another kind
template <class Contract>
std::shared_ptr<Contract> as_kind(const std::shared_ptr<torch::nn::Module>& model,
                                  const std::string& where);

/// The tokens in the vocabulary of what the model writes; nothing for models without text.
std::optional<int64_t> vocab_size_of(const ModelConfig& config);

/// Fills what the tokenizers decide: vocab_size 0 becomes `vocab_size`, and source_vocab_size 0,
/// where the model has it, `source_vocab_size`.
/// @throws ConfigError if the config names another, smaller vocabulary
void fit_to_vocabulary(ModelConfig& config, int64_t vocab_size, int64_t source_vocab_size);

/// Whether a parameter of this name belongs to a model's head, which fine-tuning for another task
/// replaces.
bool is_of_head(std::string_view parameter);

/// The width that Noam's schedule goes by: of the residual stream, or of a recurrent state.
int64_t width_of(const ModelConfig& config);

/// All parameters, each storage once.
int64_t count_parameters(const torch::nn::Module& model);

}  // namespace zoo
