#pragma once
// Hugging Face's model families: their config.json and the names of their tensors. One file and one
// table per family; a new family is one such file and one entry in hf_families().

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "models/zoo.h"

namespace zoo {

/// A parameter of ours and where a Hugging Face file keeps it.
struct HfWeight {
  std::string ours;                 ///< "blocks.3.attention.qkv.weight"
  std::vector<std::string> theirs;  ///< several: ours is their rows, one below the other
  std::vector<int64_t> rows;        ///< of each of `theirs`, where there are several
  bool transposed = false;          ///< stored (in, out), as GPT-2's Conv1D does
  std::vector<int64_t> shape;       ///< in the file, of the same numbers; empty: as ours
  /// Ours may lack this parameter, a bias; then the file's must be 0, and is written as 0.
  bool zero_if_absent = false;
};

struct HfFamily {
  std::string_view model_type;  ///< config.json's "model_type"
  /// The class with the language-model head; write_config() may name another.
  std::string_view architecture;
  std::string_view prefix;  ///< of all names but the output's; files of the bare model lack it
  std::string_view embedding, output;  ///< the two names that may be tied
  /// Endings of names that may stand in a file without being parameters of the model.
  std::vector<std::string_view> buffers;
  /// @throws FormatError for values out of bounds, DataError for what our model cannot compute
  ModelConfig (*read_config)(const Json& json, const std::string& where);
  /// config.json without the special tokens' ids; nothing if the family has no such shape.
  std::optional<Json> (*write_config)(const ModelConfig& config);
  std::vector<HfWeight> (*weights)(const ModelConfig& config);
  /// Endings of names, and what older files have in their place.
  std::vector<std::pair<std::string_view, std::string_view>> old_endings = {};
  /// Names under which a file may hold `embedding` once more, where the config ties them.
  std::vector<std::string_view> copies = {};
  /// Where config.json has no model_type: whether it is of this family.
  bool (*owns)(const Json& json) = nullptr;
};

const std::vector<HfFamily>& hf_families();
/// The family of a config.json. @throws DataError naming the known ones
const HfFamily& hf_family_of(const Json& config, const std::string& where);
/// The family that can hold a model of ours, or null.
const HfFamily* hf_family_for(const ModelConfig& config);
/// Why there is none: the keys of the config that the nearest family has otherwise, with the values
/// found and needed.
std::string why_no_hf_family(const ModelConfig& config);

const HfFamily& hf_gpt2();
const HfFamily& hf_llama();
const HfFamily& hf_qwen3();
const HfFamily& hf_bert();
const HfFamily& hf_distilbert();
const HfFamily& hf_vit();
const HfFamily& hf_timm_vit();
const HfFamily& hf_marian();

/// @throws DataError unless `holds`, saying what the key may be
void refuse_unless(bool holds, const std::string& where, const char* key, const char* allowed);

/// Whether a block is that of the first Transformers, whatever its sizes: layer norms, a
/// feed-forward of two layers, a head for each query, biases everywhere.
bool is_plain_block(const BlockConfig& block, NormPlacement placement);

/// The names of the classes: id2label, or as many as num_labels says (Hugging Face's default: 2).
/// @throws FormatError if id2label has gaps
std::vector<std::string> labels_from_hf(const Json& json, const std::string& where);
/// Sets id2label and label2id.
void labels_to_hf(const std::vector<std::string>& labels, Json& json);

/// @throws DataError if config.json says that the weights are quantised
void refuse_quantised(const Json& json, const std::string& where);

/// A row of a family's table; "*" stands for the layer.
struct HfRow {
  std::string_view ours;
  std::vector<std::string_view> theirs;
  enum Layout { as_is, transposed, zero_if_absent } layout = as_is;
};

/// Gives each part of the weights that are put together `rows` rows.
void divide_rows(std::vector<HfWeight>& weights, int64_t rows);

/// The table with every layer written out.
std::vector<HfWeight> expand_table(const std::vector<HfRow>& table, int64_t num_layers);

/// Hugging Face's names of the activations. @throws DataError naming the known ones
Activation activation_from_hf(const std::string& name, const std::string& where);
std::string activation_to_hf(Activation activation);

}  // namespace zoo
