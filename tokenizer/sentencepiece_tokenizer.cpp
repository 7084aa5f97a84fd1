#include "tokenizer/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/special_roles.h"
#include "tokenizer/word_cache.h"

namespace zoo {

namespace {

using PieceType = SentencePieceModelFile::PieceType;

/// Lines of text files, for the trainer.
class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<fs::path>& files) {
    for (const fs::path& path : files) files_.emplace_back(path);
    if (!files_.empty()) rest_ = files_[0].text();
    Next();
  }
  bool done() const override { return done_; }
  void Next() override {
    while (rest_.empty()) {
      if (file_ + 1 >= files_.size()) {
        done_ = true;
        return;
      }
      rest_ = files_[++file_].text();
    }
    const size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<MappedFile> files_;
  size_t file_ = 0;
  std::string_view rest_;
  std::string line_;
  bool done_ = false;
};

/// Whether the trainer will find a character to learn in this line. Without any in the whole text
/// it would end the process. It passes over lines with U+2585, which it uses itself.
bool has_learnable_character(std::string_view line) {
  constexpr std::string_view kReserved = "\xE2\x96\x85";
  if (line.find(kReserved) != std::string_view::npos) return false;
  while (!line.empty()) {
    const Utf8Step step = next_utf8(line);
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(step.code_point))) {
      case UTF8PROC_CATEGORY_CN:
      case UTF8PROC_CATEGORY_CC:
      case UTF8PROC_CATEGORY_CF:
      case UTF8PROC_CATEGORY_CS:
      case UTF8PROC_CATEGORY_CO:
      case UTF8PROC_CATEGORY_ZS:
      case UTF8PROC_CATEGORY_ZL:
      case UTF8PROC_CATEGORY_ZP:
        break;
      default:
        if (step.code_point != 0xFFFD && step.code_point != 0x2581) return true;
    }
    line.remove_prefix(step.length);
  }
  return false;
}

/// The number that follows `before` in `message`, if both are there.
std::optional<int64_t> number_after(std::string_view message, std::string_view before) {
  const size_t at = message.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  message.remove_prefix(at + before.size());
  int64_t number = 0;
  const auto [end, error] =
      std::from_chars(message.data(), message.data() + message.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

[[noreturn]] void fail_training(const SentencePieceTokenizerConfig& config,
                                const std::string& message) {
  // The library says these two in words that are the same in its releases since 0.1.9.
  if (const auto largest = number_after(message, "Please set it to a value <= "))
    throw DataError(cat("tokenizer training: vocab_size ", config.vocab_size,
                        " is more than the text can fill; the largest possible size is ", *largest,
                        "; lower vocab_size or train on more text"));
  if (const auto needed = number_after(message, cat("required_chars. ", config.vocab_size, " vs ")))
    throw DataError(cat("tokenizer training: vocab_size ", config.vocab_size,
                        " is too small: the text's characters and the special pieces alone need ",
                        *needed, "; raise vocab_size or lower character_coverage"));
  throw DataError(cat("tokenizer training: sentencepiece refuses this text or config: ", message));
}

}  // namespace

struct SentencePieceTokenizer::Model {
  std::string bytes;  // the .model file
  SentencePieceModelFile file;
  sentencepiece::SentencePieceProcessor processor;
  AddedTokens control;           // read only if asked for
  std::string_view word_starts;  // characters before which text falls apart; empty: not known
  mutable WordCaches caches;
  std::unordered_map<std::string_view, int64_t> ids;  // by piece; views into file

  Model(std::string serialized, const std::string& where)
      : bytes(std::move(serialized)), file(read_sentencepiece_model(bytes, where)) {
    if (const auto status = processor.LoadFromSerializedProto(bytes); !status.ok())
      throw FormatError(cat(where, ": sentencepiece cannot read this model: ", status.message()));
    std::vector<AddedToken> tokens;
    for (size_t id = 0; id < file.pieces.size(); ++id) {
      const auto& [text, score, type] = file.pieces[id];
      ids.emplace(text, static_cast<int64_t>(id));
      if (type == PieceType::control)
        tokens.push_back({.content = text, .id = static_cast<int64_t>(id)});
    }
    control = AddedTokens(std::move(tokens));

    // Where blanks begin pieces, and those at the ends of a text do not count, what stands before a
    // blank and what begins with it are encoded alike alone and joined.
    const auto spans_blank = [](const SentencePieceModelFile::Piece& piece) {
      return piece.type != PieceType::control &&
             piece.text.find(kBlankMark, 1) != std::string::npos;
    };
    // (A model of words takes what it does not know together, several words as one: each is a word
    // here.)
    if (!file.add_dummy_prefix || !file.remove_extra_whitespaces || file.whitespace_as_suffix ||
        !(ids.contains(kBlankMark) || file.algorithm == SentencePieceModelFile::Algorithm::word) ||
        std::any_of(file.pieces.begin(), file.pieces.end(), spans_blank))
      return;
    // NFKC with the library's additions makes line ends blanks, too.
    const bool lines = file.normalizer == "nmt_nfkc" || file.normalizer == "nmt_nfkc_cf";
    word_starts = lines ? " \n" : " ";
  }

  std::vector<int32_t> segment(std::string_view text) const {
    std::vector<int> found;
    if (const auto status = processor.Encode(text, &found); !status.ok())
      throw DataError(cat("encode: sentencepiece: ", status.message()));
    return {found.begin(), found.end()};
  }

  /// Word by word where that is possible: it can be remembered, and a long text's scores would not
  /// add up well in the library's 32-bit numbers.
  void encode(std::string_view text, std::vector<int64_t>& out) const {
    const auto cut_up = [this](std::string_view part) { return segment(part); };
    WordCaches::Borrowed cache(caches);
    for (;;) {
      text.remove_prefix(std::min(text.find_first_not_of(word_starts), text.size()));
      if (text.empty()) return;
      const size_t end = std::min(text.find_first_of(word_starts), text.size());
      cache.append(text.substr(0, end), cut_up, out);
      text.remove_prefix(end);
    }
  }

  const SentencePieceModelFile::Piece& piece(int64_t id) const {
    check_id(id, static_cast<int64_t>(file.pieces.size()));
    return file.pieces[static_cast<size_t>(id)];
  }
};

SentencePieceTokenizer::SentencePieceTokenizer(std::unique_ptr<Model> model)
    : model_(std::move(model)) {}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::unique_ptr<SentencePieceTokenizer> SentencePieceTokenizer::open(const fs::path& path) {
  return from_model(read_file(path), path);
}

std::unique_ptr<SentencePieceTokenizer> SentencePieceTokenizer::from_model(std::string bytes,
                                                                           const fs::path& where) {
  return std::unique_ptr<SentencePieceTokenizer>(
      new SentencePieceTokenizer(std::make_unique<Model>(std::move(bytes), utf8(where))));
}

std::unique_ptr<SentencePieceTokenizer> SentencePieceTokenizer::train(
    const SentencePieceTokenizerConfig& config, const std::vector<fs::path>& files) {
  const std::unordered_map<std::string, std::string> options = {
      {"model_type", std::string(enum_name(config.model))},
      {"vocab_size", std::to_string(config.vocab_size)},
      {"character_coverage", cat(config.character_coverage)},
      {"normalization_rule_name", config.lowercase ? "nmt_nfkc_cf" : "nmt_nfkc"},
      {"max_sentence_length", std::to_string(1 << 30)},  // by default longer lines are left out
      {"minloglevel", "3"},                              // nothing on standard error
      // A text has as many words as it has.
      {"hard_vocab_limit", config.model == SentencePieceModel::word ? "false" : "true"},
  };
  LineIterator probe(files);
  while (!probe.done() && !has_learnable_character(probe.value())) probe.Next();
  if (probe.done())
    throw DataError(
        "tokenizer training: the text has no letters, digits or signs to learn; give a text that "
        "has");
  LineIterator lines(files);
  std::string serialized;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &serialized);
  if (!status.ok()) fail_training(config, std::string(status.message()));
  return from_model(std::move(serialized), "tokenizer training");
}

std::vector<int64_t> SentencePieceTokenizer::encode(std::string_view text,
                                                    const EncodeOptions& options) const {
  std::vector<int64_t> ids;
  model_->control.split(
      text, options.special, [&](std::string_view part) { model_->encode(part, ids); },
      [&](int64_t id) { ids.push_back(id); });
  return ids;
}

std::vector<std::string> SentencePieceTokenizer::pieces_of(std::string_view text) const {
  std::vector<std::string> pieces;
  if (const auto status = model_->processor.Encode(text, &pieces); !status.ok())
    throw DataError(cat("encode: sentencepiece: ", status.message()));
  return pieces;
}

const std::string& SentencePieceTokenizer::model_bytes() const { return model_->bytes; }

/// Pieces joined, "▁" as a blank, byte pieces as their bytes; the blank that encoding put before
/// the text is taken away again.
class SentencePieceTokenizer::Stream final : public StreamDecoder {
 public:
  Stream(const Model& model, const DecodeOptions& options)
      : model_(model), options_(options), buffer_(options.replace_invalid) {}

  std::string push(int64_t id) override {
    const auto& [text, score, type] = model_.piece(id);
    if (type == PieceType::byte) {
      at_start_ = false;
      return buffer_.push(byte_of(text));
    }
    std::string out = buffer_.finish();
    if (type == PieceType::control) {
      if (!options_.skip_special) out += text;
    } else if (type == PieceType::unknown) {
      out += model_.file.unknown_surface;
    } else {
      out += plain(text);
    }
    at_start_ = at_start_ && out.empty();
    return out;
  }

  std::string finish() override {
    at_start_ = true;
    return buffer_.finish();
  }

 private:
  /// "<0xE2>" as its byte.
  static std::string byte_of(std::string_view piece) {
    int byte = 0;
    if (piece.size() == 6) std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    return std::string(1, static_cast<char>(byte));
  }

  std::string plain(std::string_view piece) {
    const SentencePieceModelFile& file = model_.file;
    if (at_start_ && (file.add_dummy_prefix || file.remove_extra_whitespaces) &&
        piece.starts_with(kBlankMark)) {
      piece.remove_prefix(kBlankMark.size());
      // With no white space kept at the start, the next blank goes as well.
      if (!file.remove_extra_whitespaces) at_start_ = false;
    }
    std::string text;
    while (!piece.empty()) {
      const bool blank = piece.starts_with(kBlankMark);
      text += blank ? ' ' : piece[0];
      piece.remove_prefix(blank ? kBlankMark.size() : 1);
    }
    return text;
  }

  const Model& model_;
  DecodeOptions options_;
  Utf8Buffer buffer_;
  bool at_start_ = true;
};

std::unique_ptr<StreamDecoder> SentencePieceTokenizer::stream(const DecodeOptions& options) const {
  return std::make_unique<Stream>(*model_, options);
}

size_t SentencePieceTokenizer::safe_cut(std::string_view text) const {
  const size_t cut = text.find_last_of(model_->word_starts);
  return cut == std::string_view::npos ? 0 : cut;
}

int64_t SentencePieceTokenizer::vocab_size() const {
  return static_cast<int64_t>(model_->file.pieces.size());
}

std::string SentencePieceTokenizer::piece(int64_t id) const { return model_->piece(id).text; }

std::optional<int64_t> SentencePieceTokenizer::piece_id(std::string_view piece) const {
  const auto found = model_->ids.find(piece);
  return found == model_->ids.end() ? std::nullopt : std::optional(found->second);
}

SpecialIds SentencePieceTokenizer::special_ids() const {
  const auto role = [](int id) { return id < 0 ? std::nullopt : std::optional<int64_t>(id); };
  const auto& processor = model_->processor;
  return {role(processor.bos_id()), role(processor.eos_id()), role(processor.pad_id()),
          role(processor.unk_id())};
}

bool SentencePieceTokenizer::is_special(int64_t id) const {
  return model_->piece(id).type == PieceType::control;
}

bool SentencePieceTokenizer::continues_word(int64_t id) const {
  return !is_special(id) && !piece(id).starts_with("▁");
}

void SentencePieceTokenizer::save(const fs::path& folder) const {
  write_file(folder / "spm.model", model_->bytes);
  using Algorithm = SentencePieceModelFile::Algorithm;
  if (model_->file.algorithm != Algorithm::unigram && model_->file.algorithm != Algorithm::bpe)
    return;
  write_file(folder / "tokenizer.json",
             [&](std::ostream& out) { write_sentencepiece_json(model_->file, out); });
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false}};
  write_roles(
      special_ids(), [&](int64_t id) { return piece(id); }, config);
  write_json_file(folder / "tokenizer_config.json", config);
}

}  // namespace zoo
