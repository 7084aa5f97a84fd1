#include "checkpoint/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "checkpoint/generation_config.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/image_folder.h"
#include "checkpoint/sentence_folder.h"
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

bool writes_text(const torch::nn::Module& model) {
  return dynamic_cast<const CausalLm*>(&model) != nullptr ||
         dynamic_cast<const Seq2Seq*>(&model) != nullptr;
}

// ---- the same inputs for two models ------------------------------------------------------------

/// Inputs of a kind of model, drawn from a seed, and what the model makes of them.
class Probe {
 public:
  explicit Probe(uint64_t seed) : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

  /// Logits, or vectors of models without them, one after the other.
  Tensor operator()(torch::nn::Module& module) {
    const torch::InferenceMode inference;
    if (auto* model = dynamic_cast<CausalLm*>(&module)) return probe(*model);
    if (auto* model = dynamic_cast<Seq2Seq*>(&module)) return probe(*model);
    if (auto* model = dynamic_cast<TextEncoder*>(&module)) return probe(*model);
    return probe(dynamic_cast<ImageEncoder&>(module));
  }

 private:
  static constexpr int64_t kRows = 2, kLength = 16;

  Tensor ids(int64_t vocab_size, int64_t longest) {
    return at::randint(vocab_size, {kRows, std::min(kLength, longest)}, generator_, torch::kLong);
  }
  /// The second row is half padding.
  static Tensor lengths_of(const Tensor& tokens) {
    return torch::tensor({tokens.size(1), (tokens.size(1) + 1) / 2});
  }

  Tensor probe(CausalLm& model) {
    const Tensor tokens = ids(model.vocab_size(), model.max_length());
    const Tensor padding = torch::tensor({int64_t{0}, tokens.size(1) / 2});
    const Tensor real = torch::arange(tokens.size(1)).unsqueeze(0).ge(padding.unsqueeze(1));
    return model.forward(tokens, {.left_pad = padding}).index({real}).flatten();
  }
  Tensor probe(Seq2Seq& model) {
    const Tensor source = ids(model.source_vocab_size(), model.max_source_length());
    return model.forward(source, lengths_of(source), ids(model.vocab_size(), model.max_length()))
        .flatten();
  }
  Tensor probe(TextEncoder& model) {
    TextBatch batch{
        .tokens = ids(model.vocab_size(), model.max_length()), .segments = {}, .lengths = {}};
    batch.lengths = lengths_of(batch.tokens);
    const Tensor real =
        torch::arange(batch.tokens.size(1)).unsqueeze(0).lt(batch.lengths.unsqueeze(1));
    const Tensor hidden = model.encode(batch);
    const auto of_real = [&](const Tensor& x) {
      return x.dim() == 3 ? x.index({real}).flatten() : x.flatten();
    };
    if (std::holds_alternative<NoHeadConfig>(model.head()))
      return torch::cat({of_real(hidden), model.pool(hidden, batch.lengths).flatten()});
    Tensor all = of_real(model.logits(hidden, batch.lengths));
    const auto* masked_lm = std::get_if<MaskedLmHeadConfig>(&model.head());
    if (masked_lm != nullptr && masked_lm->next_sentence)
      all = torch::cat({all, model.next_sentence_logits(hidden, batch.lengths).flatten()});
    return all;
  }
  Tensor probe(ImageEncoder& model) {
    const ImageShape shape = model.image_shape();
    const Tensor images = at::randn({kRows, shape.channels, shape.height, shape.width}, generator_,
                                    torch::TensorOptions());
    return model.logits(model.encode(images)).flatten();
  }

  at::Generator generator_;
};

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
  SpecialIds ids = loaded.special_ids;
  if (dynamic_cast<const Seq2Seq*>(loaded.model.get()) != nullptr) ids.start = ids.decoder_start();
  save_network(output, *loaded.model, loaded.config, ids,
               {.dtype = converted.dtype, .max_file_bytes = options.max_file_bytes});
  if (const fs::path file = output / "generation_config.json";
      writes_text(*loaded.model) && !fs::exists(file)) {
    Json defaults = generation_to_hf(loaded.generation);
    write_special_ids(ids, defaults);
    write_json_file(file, defaults);
  }
  write_sentence_pooling(output, loaded.config);
  write_image_input(output, loaded.config);
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

Deviation compare_logits(const fs::path& first, const fs::path& second, uint64_t seed) {
  const LoadedModel one = load_model(first), other = load_model(second);
  if (one.config.index() != other.config.index())
    throw ConfigError(cat(utf8(first), " and ", utf8(second), " hold models of different kinds, ",
                          model_type(one.config), " and ", model_type(other.config),
                          "; compare two of one kind"));
  const Tensor a = Probe(seed)(*one.model), b = Probe(seed)(*other.model);
  if (a.numel() != b.numel())
    throw ConfigError(cat(utf8(first), " and ", utf8(second), " give ", a.numel(), " and ",
                          b.numel(), " logits for the same inputs; compare two of one shape"));
  return {.largest = (a - b).abs().max().item<double>(), .scale = a.abs().max().item<double>()};
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
