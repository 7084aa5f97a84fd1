#pragma once
// The model that commands on configs are about: a folder, a config file, a preset, or -c.

#include "cli/command.h"
#include "core/files.h"
#include "models/model_config.h"
#include "training/config.h"

namespace zoo::cli {

struct ModelSubject {
  ModelConfig model;
  OptimizerConfig optimizer;
  std::string tokenizer;  ///< "char, 65 tokens", "" if unknown
  fs::path folder;        ///< with weights; empty: there are none
};

/// Numbers that the optimizer keeps of a parameter.
int64_t states_of(const OptimizerConfig& optimizer);

/// @param command names itself in messages  @param target a run, checkpoint or Hugging Face folder,
/// a config file or a preset; empty: the config of -c and --set
/// @throws ConfigError, DataError, FormatError
ModelSubject find_model(const GlobalOptions& globals, const std::string& command,
                        const std::string& target);

/// Says so, where the size of a vocabulary is still the tokenizer's.
void warn_of_open_vocabulary(const ModelConfig& model);

}  // namespace zoo::cli
