#include "models/zoo.h"

#include <set>

#include "models/bert.h"
#include "models/gpt.h"
#include "models/rnn_seq2seq.h"
#include "models/transformer.h"
#include "models/vit.h"
#include "nn/init.h"

namespace zoo {

namespace {

std::shared_ptr<torch::nn::Module> build(const GptConfig& config, Parameters parameters) {
  auto model = std::make_shared<Gpt>(config);
  // Each block writes twice into the residual stream; a decoder's three times.
  if (parameters == Parameters::drawn) init_parameters(*model, config.init, 2 * config.num_layers);
  return model;
}

std::shared_ptr<torch::nn::Module> build(const TransformerConfig& config, Parameters parameters) {
  auto model = std::make_shared<Transformer>(config);
  if (parameters == Parameters::drawn) {
    init_parameters(*model, config.init, 2 * config.encoder_layers);
    init_parameters(*model->decoder_blocks, config.init, 3 * config.decoder_layers);
  }
  return model;
}

std::shared_ptr<torch::nn::Module> build(const RnnSeq2SeqConfig& config, Parameters parameters) {
  auto model = std::make_shared<RnnSeq2Seq>(config);
  if (parameters == Parameters::drawn) init_parameters(*model, config.init, /*residual_writes=*/1);
  return model;
}

std::shared_ptr<torch::nn::Module> build(const BertConfig& config, Parameters parameters) {
  auto model = std::make_shared<Bert>(config);
  // BERT draws all projections alike.
  if (parameters == Parameters::drawn) init_parameters(*model, config.init, /*residual_writes=*/1);
  return model;
}

std::shared_ptr<torch::nn::Module> build(const VitConfig& config, Parameters parameters) {
  auto model = std::make_shared<Vit>(config);
  if (parameters == Parameters::drawn) init_parameters(*model, config.init, /*residual_writes=*/1);
  return model;
}

std::string_view kind_of(const torch::nn::Module& model) {
  if (dynamic_cast<const Seq2Seq*>(&model) != nullptr) return Seq2Seq::kKind;
  if (dynamic_cast<const TextEncoder*>(&model) != nullptr) return TextEncoder::kKind;
  if (dynamic_cast<const ImageEncoder*>(&model) != nullptr) return ImageEncoder::kKind;
  return CausalLm::kKind;
}

std::string name_in_messages(const ModelConfig& config) {
  return cat("model \"", model_type(config), "\"");
}

}  // namespace

std::shared_ptr<torch::nn::Module> make_model(const ModelConfig& config, Parameters parameters) {
  return std::visit([&](const auto& model) { return build(model, parameters); }, config);
}

std::shared_ptr<CausalLm> make_causal_lm(const ModelConfig& config, Parameters parameters) {
  return as_kind<CausalLm>(make_model(config, parameters), name_in_messages(config));
}

std::shared_ptr<Seq2Seq> make_seq2seq(const ModelConfig& config, Parameters parameters) {
  return as_kind<Seq2Seq>(make_model(config, parameters), name_in_messages(config));
}

std::shared_ptr<TextEncoder> make_text_encoder(const ModelConfig& config, Parameters parameters) {
  return as_kind<TextEncoder>(make_model(config, parameters), name_in_messages(config));
}

std::shared_ptr<ImageEncoder> make_image_encoder(const ModelConfig& config, Parameters parameters) {
  return as_kind<ImageEncoder>(make_model(config, parameters), name_in_messages(config));
}

template <class Contract>
std::shared_ptr<Contract> as_kind(const std::shared_ptr<torch::nn::Module>& model,
                                  const std::string& where) {
  if (auto found = std::dynamic_pointer_cast<Contract>(model)) return found;
  throw ConfigError(cat(where, ": is a ", kind_of(*model), ", but a ", Contract::kKind,
                        " is needed here; give one of that kind"));
}
template std::shared_ptr<CausalLm> as_kind(const std::shared_ptr<torch::nn::Module>&,
                                           const std::string&);
template std::shared_ptr<Seq2Seq> as_kind(const std::shared_ptr<torch::nn::Module>&,
                                          const std::string&);
template std::shared_ptr<TextEncoder> as_kind(const std::shared_ptr<torch::nn::Module>&,
                                              const std::string&);

template std::shared_ptr<ImageEncoder> as_kind(const std::shared_ptr<torch::nn::Module>&,
                                               const std::string&);

std::optional<int64_t> vocab_size_of(const ModelConfig& config) {
  return std::visit(
      [](const auto& model) -> std::optional<int64_t> {
        if constexpr (requires { model.vocab_size; }) return model.vocab_size;
        return std::nullopt;
      },
      config);
}

void fit_to_vocabulary(ModelConfig& config, int64_t vocab_size, int64_t source_vocab_size) {
  const auto fit = [](const char* name, int64_t& size, int64_t wanted) {
    if (size == 0) size = wanted;
    if (size < wanted)
      throw ConfigError(cat("model.", name, " is ", size, ", but the tokenizer has ", wanted,
                            " tokens; set it to 0 to take the tokenizer's"));
  };
  std::visit(
      [&](auto& model) {
        if constexpr (requires { model.vocab_size; })
          fit("vocab_size", model.vocab_size, vocab_size);
        if constexpr (requires { model.source_vocab_size; })
          fit("source_vocab_size", model.source_vocab_size, source_vocab_size);
      },
      config);
}

bool is_of_head(std::string_view parameter) {
  for (const std::string_view part : {"pooler.", "transform.", "transform_norm.", "output.",
                                      "output_bias", "next_sentence.", "classifier."})
    if (parameter.starts_with(part)) return true;
  return false;
}

int64_t width_of(const ModelConfig& config) {
  return std::visit(
      [](const auto& model) {
        if constexpr (requires { model.d_model; })
          return model.d_model;
        else
          return model.d_hidden;
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
