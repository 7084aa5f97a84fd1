#pragma once
// The config's section `model`. The alias is the registry of models. No torch in this header.

#include <string>
#include <variant>
#include <vector>

#include "models/bert_config.h"
#include "models/gpt_config.h"
#include "models/rnn_seq2seq_config.h"
#include "models/transformer_config.h"
#include "models/vit_config.h"

namespace zoo {

using ModelConfig =
    std::variant<GptConfig, TransformerConfig, RnnSeq2SeqConfig, BertConfig, VitConfig>;

/// The model's name in configs: "gpt".
std::string_view model_type(const ModelConfig& config);

/// Where a model's config names its classes; null if the model tells none.
std::vector<std::string>* class_names(ModelConfig& config);

/// A ready-made config: {"model": {"type": type, "preset": name}}.
struct ModelPreset {
  std::string_view type;
  std::string name;  ///< of one model only
  ModelConfig config;
};

/// The presets of every model.
std::vector<ModelPreset> model_presets();

}  // namespace zoo
