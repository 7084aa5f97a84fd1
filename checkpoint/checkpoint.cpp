#include "checkpoint/checkpoint.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>

#include "checkpoint/generation_config.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/image_folder.h"
#include "checkpoint/sentence_folder.h"
#include "checkpoint/weight_files.h"
#include "core/config.h"
#include "core/text.h"
#include "models/vit.h"

namespace zoo {

namespace {

constexpr int64_t kFormatVersion = 1;
/// config.json's model_type of models that no Hugging Face family has; a model's own name follows.
constexpr const char* kOwnType = "transformer_zoo_";

// ---- configs ---------------------------------------------------------------------------------

/// What the config files of a folder say.
struct FolderConfig {
  ModelConfig model;
  Json project;                      ///< null without a zoo.json
  Json hf;                           ///< config.json
  const HfFamily* family = nullptr;  ///< whose names the weights have; null: our own
};

std::string message_of(const std::vector<ConfigDifference>& differences, const std::string& first,
                       const std::string& second) {
  std::vector<std::string> parts;
  for (const auto& difference : differences)
    parts.push_back(cat(difference.path, " (", first, " ", difference.first, ", ", second, " ",
                        difference.second, ")"));
  return join(parts, ", ");
}

/// config.json may have been edited since: then it is not ours to guess which of the two files
/// holds.
void require_agreement(const FolderConfig& found, const fs::path& folder) {
  const std::string file = utf8(folder / "config.json");
  std::vector<ConfigDifference> differences;
  if (const auto written = found.family->write_config(found.model); written)
    differences = compare_json(config_to_json(found.family->read_config(found.hf, file + "#")),
                               config_to_json(found.family->read_config(*written, file + "#")));
  else
    differences = {{"model_type", std::string(found.family->model_type), "another"}};
  if (!differences.empty())
    throw FormatError(cat(file, " and zoo.json beside it disagree: ",
                          message_of(differences, "config.json", "zoo.json"),
                          "; make them equal, or remove zoo.json to go by config.json"));
}

FolderConfig read_folder_config(const fs::path& folder) {
  FolderConfig found;
  found.hf = read_json_file(folder / "config.json");
  const std::string where = utf8(folder / "config.json") + "#";
  const bool own_names = found.hf.is_object() && found.hf.contains("model_type") &&
                         found.hf["model_type"].is_string() &&
                         found.hf["model_type"].get<std::string>().starts_with(kOwnType);
  if (!own_names) found.family = &hf_family_of(found.hf, where);
  if (fs::exists(folder / "zoo.json")) {
    found.project = read_zoo_json(folder);
    read_config(found.project["model"], found.model, utf8(folder / "zoo.json") + "#/config/model");
    if (found.family != nullptr) require_agreement(found, folder);
  } else if (found.family != nullptr) {
    found.model = found.family->read_config(found.hf, where);
    read_sentence_pooling(folder, found.model);
    read_image_input(folder, found.model);
  } else {
    throw DataError(cat(utf8(folder / "zoo.json"), ": missing; config.json says that this is a ",
                        "checkpoint of transformer-zoo, whose config stands there"));
  }
  return found;
}

/// Writes out what follows from other values, so that two ways of saying the same are equal.
void write_out(BlockConfig& block, int64_t d_model) {
  block.attention.num_kv_heads = block.attention.kv_heads();
  std::visit([&](auto& part) { part.d_ff = part.inner_width(d_model); }, block.feed_forward);
}
void write_out(GptConfig& config) { write_out(config.block, config.d_model); }
void write_out(TransformerConfig& config) { write_out(config.block, config.d_model); }
void write_out(BertConfig& config) { write_out(config.block, config.d_model); }
void write_out(VitConfig& config) { write_out(config.block, config.d_model); }
void write_out(RnnSeq2SeqConfig& config) {
  config.d_encoder = config.encoder_width();
  config.d_readout = config.readout_width();
  if (auto* additive = std::get_if<BahdanauAttentionConfig>(&config.attention))
    additive->d_attention = additive->width(config.d_hidden);
}

/// The config as far as it decides what the weights mean. Shapes are not part of it: tensors tell.
Json meaning_of(ModelConfig config) {
  std::visit([](auto& model) { write_out(model); }, config);
  Json json = config_to_json(config);
  for (const char* key : {"dropout", "init", "orthogonal", "forget_bias", "source_vocab_size",
                          "vocab_size", "max_source_length", "max_length", "tie_embeddings",
                          "image_height", "image_width", "input"})
    json.erase(key);
  return json;
}

/// The same without the head.
Json body_of(const ModelConfig& config) {
  Json json = meaning_of(config);
  for (const char* key : {"head", "labels", "pooling", "pooler"}) json.erase(key);
  return json;
}

void require_same_meaning(const Json& theirs, const Json& ours, const fs::path& folder) {
  if (const auto differences = compare_json(theirs, ours, "model"); !differences.empty())
    throw ConfigError(cat(utf8(folder), ": holds a model of another architecture: ",
                          message_of(differences, "folder", "config")));
}

/// Where a family's model says that its output is tied to its embedding; null without an output.
bool* tying_of(ModelConfig& config) {
  if (auto* gpt = std::get_if<GptConfig>(&config)) return &gpt->tie_embeddings;
  if (auto* bert = std::get_if<BertConfig>(&config))
    if (auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&bert->head))
      return &masked_lm->tie_embeddings;
  return nullptr;
}

bool ties_embeddings(ModelConfig config) {
  const bool* tying = tying_of(config);
  return tying != nullptr && *tying;
}

// ---- weights ---------------------------------------------------------------------------------

/// The table of names for the weights of `model`: the family's, or our own names.
std::vector<HfWeight> weight_table(const torch::nn::Module& model, const ModelConfig& config,
                                   const HfFamily* family) {
  if (family != nullptr) return family->weights(config);
  std::vector<HfWeight> table;
  for (const auto& item : model.named_parameters())
    table.push_back({.ours = item.key(), .theirs = {item.key()}});
  return table;
}

/// `name` as the files have it: files of a bare model leave the family's prefix out, older ones
/// have other endings. "" if they lack it.
std::string name_in_files(const WeightFiles& files, const HfFamily* family, std::string_view name) {
  if (files.contains(std::string(name))) return std::string(name);
  if (family == nullptr) return "";
  std::vector<std::string> others;
  for (const auto& [ending, old] : family->old_endings)
    if (name.ends_with(ending))
      others.push_back(cat(name.substr(0, name.size() - ending.size()), old));
  others.emplace_back(name);
  for (const std::string& other : others) {
    if (files.contains(other)) return other;
    if (!other.starts_with(family->prefix)) continue;
    std::string bare = other.substr(family->prefix.size());
    if (files.contains(bare)) return bare;
  }
  return "";
}

/// Files may hold an output projection although the config ties it to the embedding. An equal one
/// says nothing; another one is the model's, as Hugging Face reads it too.
void untie_if_output_differs(ModelConfig& config, const WeightFiles& files,
                             const HfFamily* family) {
  if (family == nullptr || !ties_embeddings(config)) return;
  const std::string embedding = name_in_files(files, family, family->embedding);
  const std::string output = name_in_files(files, family, family->output);
  if (embedding.empty() || output.empty()) return;
  if (!at::equal(files.tensor(embedding), files.tensor(output))) *tying_of(config) = false;
}

/// Whether a tensor is the tied embedding once more, as older files and other tools write it.
bool repeats_embedding(const WeightFiles& files, const HfFamily& family, const std::string& name) {
  if (std::find(family.copies.begin(), family.copies.end(), name) == family.copies.end())
    return false;
  const std::string embedding = name_in_files(files, &family, family.embedding);
  return !embedding.empty() && at::equal(files.tensor(embedding), files.tensor(name));
}

/// One parameter and the tensors it is made of.
struct Assignment {
  Tensor parameter;
  std::vector<Tensor> parts;  ///< one, or several to stack
  bool transposed = false;

  Tensor value() const {
    const Tensor stacked = parts.size() == 1 ? parts[0] : torch::cat(parts, 0);
    return (transposed ? stacked.t() : stacked).reshape(parameter.sizes());
  }
};

/// The shape that part `index` of a parameter has in the file.
std::vector<int64_t> shape_in_file(const Tensor& parameter, const HfWeight& weight, size_t index) {
  if (!weight.shape.empty()) return weight.shape;
  std::vector<int64_t> shape = parameter.sizes().vec();
  if (!weight.rows.empty()) shape[0] = weight.rows[index];
  if (weight.transposed) std::swap(shape[0], shape[1]);
  return shape;
}

std::string first_few(const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  if (names.size() <= kShown) return join(names, ", ");
  return cat(join({names.begin(), names.begin() + kShown}, ", "), " and ", names.size() - kShown,
             " more");
}

/// Finds the tensors of every parameter. @throws FormatError naming all that do not fit
std::vector<Assignment> match_weights(torch::nn::Module& model, const ModelConfig& config,
                                      const WeightFiles& files, const HfFamily* family) {
  const auto parameters = model.named_parameters();
  std::vector<Assignment> assignments;
  std::vector<std::string> missing, not_used, misshapen;
  const std::vector<std::string> names = files.names();
  std::set<std::string> unused(names.begin(), names.end());
  std::set<std::string> unset;
  for (const std::string& key : parameters.keys()) unset.insert(key);

  for (const HfWeight& weight : weight_table(model, config, family)) {
    const Tensor* parameter = parameters.find(weight.ours);
    if (parameter == nullptr && !weight.zero_if_absent)
      throw Error(cat("the table of names lists ", weight.ours, ", which the model does not have"));
    unset.erase(weight.ours);
    Assignment assignment{parameter == nullptr ? Tensor() : *parameter, {}, weight.transposed};
    for (size_t i = 0; i < weight.theirs.size(); ++i) {
      const std::string name = name_in_files(files, family, weight.theirs[i]);
      if (name.empty()) {
        if (parameter != nullptr) missing.push_back(weight.theirs[i]);
        continue;
      }
      unused.erase(name);
      const Tensor tensor = files.tensor(name);
      if (parameter == nullptr) {
        if (tensor.any().item<bool>())
          not_used.push_back(name + " (the config has no such bias, and it is not 0)");
        continue;
      }
      if (const auto wanted = shape_in_file(*parameter, weight, i); tensor.sizes() != wanted)
        misshapen.push_back(cat(name, " ", shape_text(tensor), " instead of ", shape_text(wanted)));
      assignment.parts.push_back(tensor);
    }
    if (parameter != nullptr) assignments.push_back(std::move(assignment));
  }
  missing.insert(missing.end(), unset.begin(), unset.end());
  for (const std::string& name : unused) {
    const bool buffer =
        family != nullptr && std::any_of(family->buffers.begin(), family->buffers.end(),
                                         [&](auto ending) { return name.ends_with(ending); });
    const bool tied_copy = family != nullptr && ties_embeddings(config) &&
                           name == name_in_files(files, family, family->output);
    const bool copy = family != nullptr && repeats_embedding(files, *family, name);
    if (!buffer && !tied_copy && !copy) not_used.push_back(name);
  }

  std::vector<std::string> problems;
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) problems.push_back(cat(what, ": ", first_few(names)));
  };
  list("missing", missing);
  list("not used", not_used);
  list("other shape", misshapen);
  if (!problems.empty())
    throw FormatError(cat(utf8(files.path()),
                          ": the weights are not those of the model in config.json; ",
                          join(problems, "; ")));
  return assignments;
}

enum class Transfer {
  adopt,  ///< the parameter becomes the tensor of the file, converted only if it must be
  copy,   ///< the parameter keeps its storage
};

void transfer(const std::vector<Assignment>& assignments, Transfer how, torch::Device device,
              torch::Dtype dtype) {
  // Transposing and converting is bound by memory latency: one tensor per thread at a time.
  at::parallel_for(0, static_cast<int64_t>(assignments.size()), 1, [&](int64_t begin, int64_t end) {
    const torch::NoGradGuard no_grad;
    for (int64_t i = begin; i < end; ++i) {
      const Assignment& assignment = assignments[static_cast<size_t>(i)];
      Tensor parameter = assignment.parameter;
      if (how == Transfer::copy)
        parameter.copy_(assignment.value());
      else
        parameter.set_data(assignment.value().to(device, dtype).contiguous());
    }
  });
}

// ---- writing ---------------------------------------------------------------------------------

/// @throws NumericError if finite numbers would become infinite
Tensor in_dtype(const std::string& name, const Tensor& tensor, torch::Dtype dtype) {
  const Tensor converted = tensor.to(dtype);
  if (dtype == torch::kFloat16 && !converted.isfinite().all().item<bool>() &&
      tensor.isfinite().all().item<bool>())
    throw NumericError(cat(name, ": holds ", tensor.abs().max().item<double>(),
                           ", but float16 ends at 65504; choose bfloat16 or float32"));
  return converted;
}

/// The tensors of a model under the names of its family, or under ours.
std::vector<LazyTensor> tensors_to_write(const torch::nn::Module& model, const ModelConfig& config,
                                         const HfFamily* family,
                                         std::optional<torch::Dtype> format) {
  std::vector<LazyTensor> tensors;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    const torch::Dtype dtype = format.value_or(tensor.scalar_type());
    tensors.push_back({name, dtype, tensor.sizes().vec(),
                       [name, tensor, dtype] { return in_dtype(name, tensor, dtype); }});
  };
  const auto parameters = model.named_parameters();
  for (const HfWeight& weight : weight_table(model, config, family)) {
    const Tensor* parameter = parameters.find(weight.ours);
    if (parameter == nullptr) {
      // A bias that Hugging Face's model has and ours lacks: one 0 for each row of its matrix.
      const Tensor zero = torch::zeros({1}, parameters.begin()->value().options());
      for (size_t i = 0; i < weight.theirs.size(); ++i) {
        std::vector<int64_t> shape = weight.shape;
        if (shape.empty() && !weight.rows.empty()) shape = {weight.rows[i]};
        if (shape.empty())
          shape = {parameters[weight.ours.substr(0, weight.ours.rfind('.')) + ".weight"].size(0)};
        add(weight.theirs[i], zero.detach().expand(shape));
      }
      continue;
    }
    int64_t row = 0;
    for (size_t i = 0; i < weight.theirs.size(); ++i) {
      const int64_t rows = weight.rows.empty() ? parameter->size(0) : weight.rows[i];
      const Tensor part = parameter->detach().narrow(0, row, rows);
      add(weight.theirs[i], weight.transposed      ? part.t()
                            : weight.shape.empty() ? part
                                                   : part.reshape(weight.shape));
      row += rows;
    }
  }
  return tensors;
}

// ---- tokenizer -------------------------------------------------------------------------------

/// @param model_vocab_size of the model, for that side
std::shared_ptr<Tokenizer> open_tokenizer(const fs::path& path, int64_t model_vocab_size) {
  std::shared_ptr<Tokenizer> tokenizer = load_tokenizer(path);
  if (tokenizer->vocab_size() > model_vocab_size)
    throw DataError(cat(utf8(path), ": the tokenizer has ", tokenizer->vocab_size(),
                        " tokens, the model only ", model_vocab_size,
                        "; they do not belong together"));
  return tokenizer;
}

void open_tokenizers(LoadedModel& loaded) {
  if (!holds_tokenizer(loaded.folder)) return;
  std::visit(
      [&](const auto& model) {
        if constexpr (requires { model.vocab_size; })
          loaded.tokenizer = open_tokenizer(loaded.folder, model.vocab_size);
        if constexpr (requires { model.source_vocab_size; })
          if (const fs::path source = source_tokenizer_in(loaded.folder); !source.empty())
            loaded.source_tokenizer = open_tokenizer(source, model.source_vocab_size);
      },
      loaded.config);
  if (loaded.source_tokenizer == nullptr) loaded.source_tokenizer = loaded.tokenizer;
}

}  // namespace

fs::path resolve_checkpoint(const fs::path& path) {
  if (!fs::exists(path))
    throw DataError(utf8(path) +
                    ": there is no such folder; give a run folder, a checkpoint folder or "
                    "a Hugging Face model folder");
  if (!fs::is_directory(path)) {
    if (path.extension() == ".safetensors")
      return resolve_checkpoint(path.has_parent_path() ? path.parent_path() : fs::path("."));
    throw DataError(utf8(path) +
                    ": is a file; a model is a folder with config.json and model.safetensors");
  }
  if (fs::exists(path / "config.json")) return path;
  // The link's target, so that a training run that goes on cannot change the folder while it is
  // read.
  for (const char* link : {"best", "last"})
    if (fs::exists(path / link / "config.json")) return fs::canonical(path / link);
  throw DataError(
      utf8(path) +
      ": no model here; looked for config.json, best/config.json and "
      "last/config.json (a training run writes the last two with its first checkpoint)");
}

void write_zoo_json(const fs::path& folder, const Json& project) {
  write_json_file(folder / "zoo.json", {{"format_version", kFormatVersion}, {"config", project}});
}

Json read_zoo_json(const fs::path& folder) {
  const fs::path path = folder / "zoo.json";
  const Json json = read_json_file(path);
  const bool has_version = json.is_object() && json.contains("format_version") &&
                           json["format_version"].is_number_integer();
  if (!has_version || !json.contains("config") || !json["config"].is_object())
    throw FormatError(utf8(path) + ": expected {\"format_version\": integer, \"config\": {…}}");
  if (const auto version = json["format_version"].get<int64_t>(); version > kFormatVersion)
    throw FormatError(cat(utf8(path), "#/format_version: ", version,
                          "; this transformer-zoo reads up to ", kFormatVersion, ": update it"));
  return json["config"];
}

LoadedModel load_model(const fs::path& path, const LoadOptions& options) {
  LoadedModel loaded;
  loaded.folder = resolve_checkpoint(path);
  FolderConfig found = read_folder_config(loaded.folder);
  loaded.config = found.model;
  loaded.project = found.project;
  open_tokenizers(loaded);
  if (loaded.tokenizer != nullptr) loaded.special_ids = loaded.tokenizer->special_ids();
  read_special_ids(found.hf, loaded.special_ids, utf8(loaded.folder / "config.json") + "#");
  if (const fs::path file = loaded.folder / "generation_config.json"; fs::exists(file)) {
    const Json generation = read_json_file(file);
    loaded.generation = generation_from_hf(generation, utf8(file) + "#");
    read_special_ids(generation, loaded.special_ids, utf8(file) + "#");
  } else if (found.hf.contains("is_encoder_decoder") && found.hf["is_encoder_decoder"] == true) {
    // Translation models of before generation_config.json.
    loaded.generation = generation_from_hf(found.hf, utf8(loaded.folder / "config.json") + "#");
  }
  if (!options.weights) return loaded;

  const WeightFiles files(loaded.folder);
  untie_if_output_differs(loaded.config, files, found.family);
  loaded.model = make_model(loaded.config, Parameters::allocated);
  const auto assignments = match_weights(*loaded.model, loaded.config, files, found.family);
  transfer(assignments, Transfer::adopt, options.device, options.dtype);
  loaded.model->to(options.device, options.dtype);  // the buffers
  loaded.model->eval();
  return loaded;
}

ModelConfig load_config(const fs::path& path) {
  return read_folder_config(resolve_checkpoint(path)).model;
}

void load_weights(torch::nn::Module& model, const ModelConfig& config, const fs::path& path) {
  const fs::path folder = resolve_checkpoint(path);
  FolderConfig found = read_folder_config(folder);
  require_same_meaning(meaning_of(found.model), meaning_of(config), folder);
  const WeightFiles files(folder);
  transfer(match_weights(model, config, files, found.family), Transfer::copy, torch::kCPU,
           torch::kFloat32);
}

namespace {

/// Whether a parameter holds the places of a vision model's patches, which fit pictures of any
/// size.
bool is_learned_grid(std::string_view parameter, const ModelConfig& config) {
  return parameter == "position.weight" && std::holds_alternative<VitConfig>(config);
}

}  // namespace

std::vector<std::string> load_body(torch::nn::Module& model, const ModelConfig& config,
                                   const fs::path& path) {
  const LoadedModel loaded = load_model(path);
  require_same_meaning(body_of(loaded.config), body_of(config), loaded.folder);
  const bool same_head = compare_json(meaning_of(loaded.config), meaning_of(config)).empty();
  const auto theirs = loaded.model->named_parameters();
  const torch::NoGradGuard no_grad;
  std::vector<std::string> left;
  for (auto& item : model.named_parameters()) {
    const Tensor* found = theirs.find(item.key());
    const bool of_head = is_of_head(item.key());
    // A classifier of other labels may have the same shape.
    const bool usable = found != nullptr && found->sizes() == item->sizes() &&
                        (same_head || !item.key().starts_with("classifier."));
    if (usable)
      item->copy_(*found);
    else if (found != nullptr && is_learned_grid(item.key(), config))
      item->copy_(resize_positions(*found, std::get<VitConfig>(loaded.config),
                                   std::get<VitConfig>(config)));
    else if (of_head)
      left.push_back(item.key());
    else
      throw ConfigError(cat(utf8(loaded.folder), ": its ", item.key(), " has the shape ",
                            found == nullptr ? "nothing" : shape_text(*found), ", the config's ",
                            shape_text(*item),
                            "; leave the model's sizes out of the config to "
                            "take the folder's"));
  }
  return left;
}

bool writes_text(const torch::nn::Module& model) {
  return dynamic_cast<const CausalLm*>(&model) != nullptr ||
         dynamic_cast<const Seq2Seq*>(&model) != nullptr;
}

SpecialIds ids_to_write(const torch::nn::Module& model, SpecialIds ids) {
  if (dynamic_cast<const Seq2Seq*>(&model) != nullptr) ids.start = ids.decoder_start();
  return ids;
}

void save_network(const fs::path& folder, const torch::nn::Module& model, const ModelConfig& config,
                  const SpecialIds& ids, const WeightFormat& format) {
  const HfFamily* family = hf_family_for(config);
  const auto tensors = tensors_to_write(model, config, family, format.dtype);
  Json hf;
  if (family != nullptr) {
    hf["model_type"] = family->model_type;
    hf["architectures"] = Json::array({std::string(family->architecture)});
    hf.update(*family->write_config(config));
    hf["dtype"] = dtype_name(tensors.front().dtype);
  } else {
    hf["model_type"] = kOwnType + std::string(model_type(config));
    hf["comment"] =
        "A shape that no model of Hugging Face's library has: only transformer-zoo opens this "
        "folder; "
        "the config is in zoo.json, the weights have transformer-zoo's names.";
  }
  write_special_ids(ids, hf);
  write_json_file(folder / "config.json", hf);
  write_weight_files(folder, tensors, format.max_file_bytes);
  write_sentence_pooling(folder, config);
  write_image_input(folder, config);
}

void save_model(const fs::path& folder, const torch::nn::Module& model, const ModelConfig& config,
                const Tokenizer* tokenizer, const GenerationOptions& generation,
                const Json& project, const Tokenizer* source_tokenizer) {
  const SpecialIds ids =
      ids_to_write(model, tokenizer == nullptr ? SpecialIds{} : tokenizer->special_ids());
  save_network(folder, model, config, ids);
  if (writes_text(model)) write_generation_config(folder, generation, ids);
  Json sections = project.is_null() ? Json::object() : project;
  sections["model"] = config_to_json(config);
  write_zoo_json(folder, sections);
  if (tokenizer != nullptr) save_tokenizers(folder, *tokenizer, source_tokenizer);
}

}  // namespace zoo
