#pragma once
// Checkpoint folders. Ours and Hugging Face's are opened by the same call; ours of a shape that
// Hugging Face knows (hf_families()) open there as they are.
//
//   config.json  generation_config.json  model.safetensors     Hugging Face's names and content
//   tokenizer files                                             as the tokenizer writes them
//   source_tokenizer/                                           that of sources, if it is another
//   zoo.json                                                    format version and our config,
//   resolved optimizer.safetensors  trainer.json                         training state (written by
//   training/)
//
// A model of a shape that no family has is written under our own parameter names, with a
// config.json that says so.

#include <memory>

#include "core/files.h"
#include "core/json.h"
#include "decoding/options.h"
#include "models/zoo.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

/// The folder with the weights that `path` leads to: a run folder to its `best`, else its `last`; a
/// folder with config.json or zoo.json to itself; a .safetensors file to its folder.
/// @throws DataError saying what was looked for
fs::path resolve_checkpoint(const fs::path& path);

struct LoadOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype dtype = torch::kFloat32;  ///< parameters are converted to it
  bool weights = true;  ///< false: read configs and tokenizer only; the model stays null
};

/// A model with all that is needed to use it.
struct LoadedModel {
  std::shared_ptr<torch::nn::Module> model;     ///< in evaluation mode
  std::shared_ptr<Tokenizer> tokenizer;         ///< null if the folder holds none
  std::shared_ptr<Tokenizer> source_tokenizer;  ///< of what an encoder reads; often the same one
  ModelConfig config;
  GenerationOptions generation;  ///< defaults from generation_config.json
  SpecialIds
      special_ids;  ///< as generation_config.json or config.json name them, else the tokenizer
  Json project;     ///< zoo.json's config (four sections); null in a Hugging Face folder
  fs::path folder;

  /// The model as the contract that the caller needs: CausalLm or Seq2Seq.
  /// @throws ConfigError if the folder holds another kind
  template <class Contract>
  std::shared_ptr<Contract> as() const {
    return as_kind<Contract>(model, utf8(folder));
  }
};

/// Opens a run folder, a checkpoint folder or a Hugging Face folder of a known family. Weights of
/// the wanted dtype on the CPU are not copied: the parameters are views of the mapped file, of
/// which a page is copied when it is first written to. The vocabulary may be larger than the
/// tokenizer's.
/// @throws DataError, FormatError: every missing, unused or misshapen tensor is named
LoadedModel load_model(const fs::path& path, const LoadOptions& options = {});

/// The config alone of what load_model() opens. @throws as load_model()
ModelConfig load_config(const fs::path& path);

/// Copies the weights that `path` leads to into the parameters of `model`, whatever their dtype and
/// device. @param config of `model`; dropout and initialisation may differ from the folder's
/// @throws ConfigError if the folder holds another architecture; and as load_model()
void load_weights(torch::nn::Module& model, const ModelConfig& config, const fs::path& path);

/// The same for fine-tuning: the head, and how the text's vector is pooled, may differ from the
/// folder's. Parameters of the head that the folder lacks, or has for other labels, stay as they
/// are; a vision model's positions are resized to its own pictures' size.
/// @return their names
std::vector<std::string> load_body(torch::nn::Module& model, const ModelConfig& config,
                                   const fs::path& path);

/// Writes config.json, model.safetensors, generation_config.json (not of encoders, which write no
/// text), zoo.json and the tokenizer's files into `folder`, which exists (write_folder() gives the
/// atomic frame).
/// @param tokenizer null: none  @param project the resolved four sections; null: only the model's
/// @param source_tokenizer null, or the same: `tokenizer` is for both sides
void save_model(const fs::path& folder, const torch::nn::Module& model, const ModelConfig& config,
                const Tokenizer* tokenizer, const GenerationOptions& generation,
                const Json& project, const Tokenizer* source_tokenizer = nullptr);

/// How weights are written.
struct WeightFormat {
  std::optional<torch::Dtype> dtype;   ///< unset: that of the parameters
  int64_t max_file_bytes = INT64_MAX;  ///< of tensors; more go into several files with an index
};

/// Whether the model writes text, so that its folder has a generation_config.json.
bool writes_text(const torch::nn::Module& model);

/// The ids as a folder's configs name them: of a Seq2Seq with what its decoder reads first.
SpecialIds ids_to_write(const torch::nn::Module& model, SpecialIds ids);

/// The part of save_model() that Hugging Face's library makes a model of: config.json, the weights,
/// one parameter at a time in memory, and how texts are pooled or pictures read. @param ids for
/// config.json
void save_network(const fs::path& folder, const torch::nn::Module& model, const ModelConfig& config,
                  const SpecialIds& ids, const WeightFormat& format = {});

/// zoo.json of a run or checkpoint folder: the project's config under a format version.
void write_zoo_json(const fs::path& folder, const Json& project);
/// @throws DataError if there is none, FormatError if it was written by a newer version
Json read_zoo_json(const fs::path& folder);

}  // namespace zoo
