#pragma once
// Checkpoint folders. Ours and Hugging Face's are opened by the same call; ours of a shape that
// Hugging Face knows (GPT-2) open there as they are.
//
//   config.json  generation_config.json  model.safetensors     Hugging Face's names and content
//   tokenizer files                                             as the tokenizer writes them
//   zoo.json                                                    format version and our config,
//   resolved optimizer.safetensors  trainer.json                         training state (written by
//   training/)

#include <memory>
#include <optional>

#include "core/files.h"
#include "core/json.h"
#include "decoding/options.h"
#include "models/zoo.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

/// What a run or checkpoint folder resolves to: a run folder to `best`, else `last`; a folder with
/// zoo.json or config.json to itself. @throws DataError saying what was looked for
fs::path resolve_checkpoint(const fs::path& path);

struct LoadOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype dtype = torch::kFloat32;  ///< parameters are converted to it
  bool weights = true;  ///< false: read configs and tokenizer only; model stays null
};

/// A model with all that is needed to use it.
struct LoadedModel {
  std::shared_ptr<CausalLm> model;
  std::shared_ptr<Tokenizer> tokenizer;  ///< null if the folder holds none
  ModelConfig config;
  GenerationOptions generation;  ///< defaults from generation_config.json
  Json project;  ///< zoo.json's config (four sections); null in a Hugging Face folder
  fs::path folder;
};

/// Opens a run folder, a checkpoint folder or a Hugging Face GPT-2 folder.
/// @throws DataError, FormatError: a missing, unused or misshapen tensor is named with its file
LoadedModel load_model(const fs::path& path, const LoadOptions& options = {});

/// Copies the weights of a folder into `model`, whose config must fit. Strict: see load_model().
void load_weights(torch::nn::Module& model, const ModelConfig& config, const fs::path& folder);

/// Writes config.json, model.safetensors, generation_config.json, zoo.json and the tokenizer's
/// files into `folder`, which exists (see write_folder() for the atomic frame).
/// @param project the resolved four sections
void save_model(const fs::path& folder, torch::nn::Module& model, const ModelConfig& config,
                const Tokenizer* tokenizer, const GenerationOptions& generation,
                const Json& project);

}  // namespace zoo
