#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tokenizer/bpe_tokenizer.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/char_tokenizer.h"
#include "tokenizer/hf_json.h"
#include "tokenizer/marian_tokenizer.h"
#include "tokenizer/sentencepiece_json.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/wordpiece_tokenizer.h"
#include "tokenizer/wordpiece_trainer.h"

namespace zoo {

namespace {

std::unique_ptr<Tokenizer> open_tokenizer_json(const fs::path& path) {
  const nlohmann::json json = parse_large_json(read_file(path), utf8(path));
  std::string type;
  if (json.is_object() && json.contains("model") && json["model"].is_object()) {
    const nlohmann::json& model = json["model"];
    // Files of older releases do not say the type of a BPE model.
    if (model.contains("merges")) type = "BPE";
    if (model.contains("type") && model["type"].is_string()) type = model["type"];
  }
  if (type == "Unigram" || (type == "BPE" && marks_blanks(json)))
    return SentencePieceTokenizer::from_model(sentencepiece_model_from_json(json, path), path);
  if (type == "BPE") return std::make_unique<BpeTokenizer>(bpe_model_from_json(json, path));
  if (type == "WordPiece")
    return std::make_unique<WordPieceTokenizer>(wordpiece_model_from_json(json, path));
  if (type == "WordLevel") return CharTokenizer::from_json(json, path);
  throw DataError(cat(
      utf8(path), "#/model/type: found ", type.empty() ? "no tokenizer model" : "\"" + type + "\"",
      "; read are \"BPE\" (byte-level, as GPT-2's, or SentencePiece's), \"Unigram\" "
      "(SentencePiece's), \"WordPiece\" (as BERT's) and \"WordLevel\" (of single characters)"));
}

/// The .model file of a folder: under one of the usual names, else the only one there is.
std::optional<fs::path> find_sentencepiece_model(const fs::path& folder) {
  for (const char* name :
       {"spm.model", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"})
    if (fs::exists(folder / name)) return folder / name;
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".model" && entry.is_regular_file())
      models.push_back(entry.path());
  return models.size() == 1 ? std::optional(models[0]) : std::nullopt;
}

/// The folder in a checkpoint for the sources' tokenizer.
constexpr const char* kSourceTokenizer = "source_tokenizer";

bool holds_marian(const fs::path& folder, TranslationSide side) {
  return fs::exists(folder / kMarianModels[side == TranslationSide::source ? 0 : 1]) &&
         fs::exists(folder / kMarianVocabularies[0]);
}

/// The names of the two files of a GPT-2 vocabulary, as Hugging Face and as OpenAI have them.
constexpr std::array<std::pair<const char*, const char*>, 2> kGpt2Files = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};

std::unique_ptr<Tokenizer> open_gpt2_files(const fs::path& vocab, const fs::path& merges) {
  return std::make_unique<BpeTokenizer>(read_gpt2_files(vocab, merges));
}

}  // namespace

std::string Tokenizer::decode(std::span<const int64_t> ids, const DecodeOptions& options) const {
  const auto decoder = stream(options);
  std::string text;
  for (const int64_t id : ids) text += decoder->push(id);
  return text + decoder->finish();
}

std::vector<int64_t> encode_sentence(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int64_t> ids = tokenizer.encode(text);
  if (const auto end = tokenizer.special_ids().eos) ids.push_back(*end);
  return ids;
}

void check_id(int64_t id, int64_t vocab_size) {
  if (id < 0 || id >= vocab_size)
    throw DataError(cat("tokenizer: found the id ", id, "; ids are 0 to ", vocab_size - 1,
                        "; do the ids come from another tokenizer?"));
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  if (!fs::exists(path))
    throw DataError(utf8(path) +
                    ": there is no such file or folder; give a tokenizer's folder or file");
  if (fs::is_directory(path)) {
    if (holds_marian(path, TranslationSide::target))
      return MarianTokenizer::open(path, TranslationSide::target);
    if (const auto model = find_sentencepiece_model(path))
      return SentencePieceTokenizer::open(*model);
    if (fs::exists(path / "tokenizer.json")) return open_tokenizer_json(path / "tokenizer.json");
    for (const auto& [vocab, merges] : kGpt2Files)
      if (fs::exists(path / vocab) && fs::exists(path / merges))
        return open_gpt2_files(path / vocab, path / merges);
    if (fs::exists(path / "vocab.txt"))
      return std::make_unique<WordPieceTokenizer>(read_vocab_txt(path / "vocab.txt"));
    throw DataError(
        utf8(path) +
        ": no tokenizer in this folder; looked for spm.model, tokenizer.model, spiece.model "
        "or a single *.model, tokenizer.json, vocab.json with merges.txt, encoder.json "
        "with vocab.bpe, vocab.txt, target.spm with vocab.json");
  }
  const std::string name = utf8(path.filename());
  for (const auto& [vocab, merges] : kGpt2Files)
    if (name == vocab || name == merges) {
      const fs::path folder = path.parent_path();
      const fs::path& other = folder / (name == vocab ? merges : vocab);
      if (!fs::exists(other))
        throw DataError(cat(utf8(path), ": ", utf8(other.filename()),
                            " is missing beside it; a GPT-2 "
                            "vocabulary is both files"));
      return open_gpt2_files(folder / vocab, folder / merges);
    }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const auto side : {TranslationSide::source, TranslationSide::target})
    if (name == kMarianModels[side == TranslationSide::source ? 0 : 1] &&
        holds_marian(folder, side))
      return MarianTokenizer::open(folder, side);
  if (path.extension() == ".txt") return std::make_unique<WordPieceTokenizer>(read_vocab_txt(path));
  if (path.extension() == ".json") return open_tokenizer_json(path);
  return SentencePieceTokenizer::open(path);
}

bool holds_tokenizer(const fs::path& folder) {
  return find_sentencepiece_model(folder) || fs::exists(folder / "tokenizer.json") ||
         fs::exists(folder / "vocab.txt") || holds_marian(folder, TranslationSide::target) ||
         std::any_of(kGpt2Files.begin(), kGpt2Files.end(), [&](const auto& names) {
           return fs::exists(folder / names.first) && fs::exists(folder / names.second);
         });
}

fs::path source_tokenizer_in(const fs::path& folder) {
  if (fs::is_directory(folder / kSourceTokenizer) && holds_tokenizer(folder / kSourceTokenizer))
    return folder / kSourceTokenizer;
  if (holds_marian(folder, TranslationSide::source)) return folder / kMarianModels[0];
  return "";
}

void save_tokenizers(const fs::path& folder, const Tokenizer& target, const Tokenizer* source) {
  target.save(folder);
  if (source == nullptr || source == &target) return;
  // Marian's two sides are one folder's.
  const bool beside = dynamic_cast<const MarianTokenizer*>(source) != nullptr &&
                      dynamic_cast<const MarianTokenizer*>(&target) != nullptr;
  if (!beside) fs::create_directory(folder / kSourceTokenizer);
  source->save(beside ? folder : folder / kSourceTokenizer);
}

bool save_as_marian(const fs::path& folder, const std::shared_ptr<const Tokenizer>& target,
                    const std::shared_ptr<const Tokenizer>& source) {
  std::vector<std::shared_ptr<const Tokenizer>> sides;
  for (const auto side : {TranslationSide::source, TranslationSide::target}) {
    const auto& tokenizer = side == TranslationSide::source ? source : target;
    if (const auto pieces = std::dynamic_pointer_cast<const SentencePieceTokenizer>(tokenizer))
      sides.push_back(std::make_shared<MarianTokenizer>(pieces, side, source != target));
    else if (std::dynamic_pointer_cast<const MarianTokenizer>(tokenizer))
      sides.push_back(tokenizer);
    else
      return false;
  }
  for (const auto& side : sides) side->save(folder);
  return true;
}

std::unique_ptr<Tokenizer> train_tokenizer(const TokenizerConfig& config,
                                           const std::vector<fs::path>& files) {
  return std::visit(
      [&](const auto& chosen) -> std::unique_ptr<Tokenizer> {
        using Config = std::decay_t<decltype(chosen)>;
        if (!chosen.file.empty()) {
          auto tokenizer = load_tokenizer(utf8_path(chosen.file));
          if (tokenizer->type() != Config::kType)
            throw ConfigError(cat("tokenizer/file: ", chosen.file, " holds a tokenizer of type \"",
                                  tokenizer->type(), "\", the config says \"", Config::kType,
                                  "\"; set tokenizer/type to the former"));
          return tokenizer;
        }
        if (files.empty())
          throw ConfigError("tokenizer: no file to open and no text to train on; give one of them");
        if constexpr (std::is_same_v<Config, CharTokenizerConfig>)
          return CharTokenizer::train(files);
        else if constexpr (std::is_same_v<Config, BpeTokenizerConfig>)
          return std::make_unique<BpeTokenizer>(train_bpe(chosen, files));
        else if constexpr (std::is_same_v<Config, WordPieceTokenizerConfig>)
          return std::make_unique<WordPieceTokenizer>(train_wordpiece(chosen, files));
        else
          return SentencePieceTokenizer::train(chosen, files);
      },
      config);
}

}  // namespace zoo
