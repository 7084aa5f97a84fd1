#pragma once
// A model folder written anew: for Hugging Face's library or for this one, in another number
// format, in several files.

#include <cstdint>
#include <optional>
#include <string>

#include "core/files.h"
#include "core/shape.h"

namespace zoo {

/// Whose folder is written: hf has what Hugging Face's library reads and nothing else, zoo our
/// zoo.json beside it.
enum class FolderKind { hf, zoo };

struct ConvertOptions {
  FolderKind to = FolderKind::hf;
  std::optional<torch::Dtype> dtype;       ///< of the weights; unset: as they are
  int64_t max_file_bytes = 5'000'000'000;  ///< larger weights go into several files
};

/// What was written.
struct Converted {
  std::string family;  ///< model_type in config.json
  int64_t parameters = 0;
  torch::Dtype from = torch::kFloat32, dtype = torch::kFloat32;
  int64_t files = 0, bytes = 0;  ///< of weights
};

/// Fills `output`, a folder that exists, with the model that `model` leads to. Tokenizer,
/// generation config and the other small files of its folder come along.
/// @throws ConfigError if no family of Hugging Face's can hold the model and `to` is hf, naming the
/// keys that do not fit; NumericError for numbers that the dtype cannot hold; and as load_model()
Converted convert_model(const fs::path& model, const fs::path& output,
                        const ConvertOptions& options);

/// What converting may change logits by, as a share of the largest: nothing in the same dtype or a
/// wider one; else 8 times the distance of two neighbouring numbers at 1.
double allowed_deviation(torch::Dtype from, torch::Dtype to);

}  // namespace zoo
