#include "checkpoint/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "checkpoint/generation_config.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/weight_files.h"
#include "core/config.h"

namespace zoo {

namespace {

/// Whether a file of a model's folder belongs to the model in every form: tokenizers, generation
/// and pooling configs, cards; not weights, and not what is written anew.
bool comes_along(const fs::path& file) {
  constexpr std::array kEndings{".json", ".txt", ".model", ".spm", ".bpe", ".jinja", ".md"};
  for (const fs::path& part : file)
    if (utf8(part).starts_with('.')) return false;
  const std::string name = utf8(file);
  if (name == "config.json" || name == "zoo.json" || name == "trainer.json" ||
      name.ends_with(".index.json"))
    return false;
  return std::find(kEndings.begin(), kEndings.end(), utf8(file.extension())) != kEndings.end();
}

void copy_small_files(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path file = entry.path().lexically_relative(from);
    if (entry.is_regular_file() && comes_along(file))
      write_file(to / file, read_file(entry.path()));
  }
}

/// Hugging Face's library opens a Marian model with a MarianTokenizer only.
void write_marian_tokenizers(const fs::path& output, const LoadedModel& loaded) {
  const bool there = fs::exists(output / "source.spm");  // it came along
  if (there || !save_as_marian(output, loaded.tokenizer, loaded.source_tokenizer)) return;
  for (const char* ours : {"spm.model", "tokenizer.json", "source_tokenizer"})
    fs::remove_all(output / ours);
}

}  // namespace

Converted convert_model(const fs::path& model, const fs::path& output,
                        const ConvertOptions& options) {
  const fs::path folder = resolve_checkpoint(model);
  Converted converted;
  converted.from = WeightFiles(folder).dtype();
  converted.dtype = options.dtype.value_or(converted.from);
  const LoadedModel loaded = load_model(folder, {.dtype = converted.from});
  const HfFamily* family = hf_family_for(loaded.config);
  if (options.to == FolderKind::hf && family == nullptr)
    throw ConfigError(
        cat(utf8(folder), ": ", why_no_hf_family(loaded.config), "; only --to zoo can write it"));

  copy_small_files(folder, output);
  const SpecialIds ids = ids_to_write(*loaded.model, loaded.special_ids);
  save_network(output, *loaded.model, loaded.config, ids,
               {.dtype = converted.dtype, .max_file_bytes = options.max_file_bytes});
  if (writes_text(*loaded.model) && !fs::exists(output / "generation_config.json"))
    write_generation_config(output, loaded.generation, ids);
  if (options.to == FolderKind::zoo) {
    Json project = loaded.project.is_null() ? Json::object() : loaded.project;
    project["model"] = config_to_json(loaded.config);
    write_zoo_json(output, project);
  } else if (family->model_type == hf_marian().model_type && loaded.tokenizer != nullptr) {
    write_marian_tokenizers(output, loaded);
  }

  converted.family =
      family == nullptr ? std::string(model_type(loaded.config)) : std::string(family->model_type);
  converted.parameters = count_parameters(*loaded.model);
  for (const auto& entry : fs::directory_iterator(output))
    if (entry.path().extension() == ".safetensors") {
      ++converted.files;
      converted.bytes += static_cast<int64_t>(entry.file_size());
    }
  return converted;
}

double allowed_deviation(torch::Dtype from, torch::Dtype to) {
  if (c10::promoteTypes(from, to) == to) return 0;
  // Each weight is rounded once; the roundings add up over layers like a random walk.
  const int bits = to == torch::kBFloat16  ? std::numeric_limits<c10::BFloat16>::digits
                   : to == torch::kFloat16 ? std::numeric_limits<c10::Half>::digits
                                           : std::numeric_limits<float>::digits;
  return 8 * std::ldexp(1, 1 - bits);
}

}  // namespace zoo
