#include "tokenizer/marian_tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/utf8.h"
#include "tokenizer/hf_json.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/special_roles.h"

namespace zoo {

namespace {

constexpr const char* kConfig = "tokenizer_config.json";

size_t index_of(TranslationSide side) { return side == TranslationSide::source ? 0 : 1; }

/// Where a language code at the beginning ends, ">>fra<<"; 0 if there is none.
size_t language_code_end(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const size_t close = text.find("<<");
  return close == std::string_view::npos ? 0 : close + 2;
}

}  // namespace

std::unique_ptr<MarianTokenizer> MarianTokenizer::open(const fs::path& folder,
                                                       TranslationSide side) {
  const bool separate = fs::exists(folder / kMarianVocabularies[1]);
  const fs::path file =
      folder / kMarianVocabularies[side == TranslationSide::target && separate ? 1 : 0];
  std::shared_ptr<const SentencePieceTokenizer> pieces =
      SentencePieceTokenizer::open(folder / kMarianModels[index_of(side)]);
  auto vocabulary = read_vocabulary(parse_large_json(read_file(file), utf8(file)), utf8(file));
  const auto id_of = [&](std::string_view piece) -> std::optional<int64_t> {
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), piece);
    if (found == vocabulary.end()) return std::nullopt;
    return found - vocabulary.begin();
  };
  SpecialIds roles = read_roles(folder, id_of);
  // What the files leave out has Marian's names, among which is no bos.
  const SpecialIds usual = conventional_roles(id_of);
  if (!fs::exists(folder / kConfig)) roles.bos.reset();
  if (!roles.unk) roles.unk = usual.unk;
  if (!roles.eos) roles.eos = usual.eos;
  if (!roles.pad) roles.pad = usual.pad;
  if (!roles.unk || !roles.eos)
    throw FormatError(cat(utf8(file), ": has no ", roles.unk ? "\"</s>\"" : "\"<unk>\"",
                          ", which a vocabulary of Marian's needs"));
  if (!roles.bos) roles.start = roles.pad;
  return std::unique_ptr<MarianTokenizer>(
      new MarianTokenizer(std::move(pieces), side, separate, std::move(vocabulary), roles));
}

MarianTokenizer::MarianTokenizer(std::shared_ptr<const SentencePieceTokenizer> pieces,
                                 TranslationSide side, bool separate,
                                 std::vector<std::string> vocabulary, const SpecialIds& roles)
    : pieces_(std::move(pieces)),
      side_(side),
      separate_(separate),
      vocabulary_(std::move(vocabulary)),
      roles_(roles) {
  for (size_t id = 0; id < vocabulary_.size(); ++id)
    if (!vocabulary_[id].empty()) ids_.emplace(vocabulary_[id], static_cast<int64_t>(id));
}

namespace {

std::vector<std::string> all_pieces(const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (int64_t id = 0; id < tokenizer.vocab_size(); ++id) pieces.push_back(tokenizer.piece(id));
  return pieces;
}

}  // namespace

MarianTokenizer::MarianTokenizer(std::shared_ptr<const SentencePieceTokenizer> pieces,
                                 TranslationSide side, bool separate)
    : MarianTokenizer(pieces, side, separate, all_pieces(*pieces), pieces->special_ids()) {}

int64_t MarianTokenizer::id_of(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? *roles_.unk : found->second;
}

std::vector<int64_t> MarianTokenizer::encode(std::string_view text,
                                             const EncodeOptions& options) const {
  if (options.special) {
    // Only the tokens with a role stand for themselves in text.
    std::vector<AddedToken> tokens;
    for (const auto& id : {roles_.bos, roles_.eos, roles_.pad, roles_.unk})
      if (id) tokens.push_back({.content = piece(*id), .id = *id});
    std::vector<int64_t> ids;
    AddedTokens(tokens).split(
        text, true,
        [&](std::string_view part) {
          const auto found = encode(part);
          ids.insert(ids.end(), found.begin(), found.end());
        },
        [&](int64_t id) { ids.push_back(id); });
    return ids;
  }
  std::vector<int64_t> ids;
  if (const size_t end = language_code_end(text); end > 0) {
    ids.push_back(id_of(text.substr(0, end)));
    text.remove_prefix(end);
  }
  for (const std::string& piece : pieces_->pieces_of(text)) ids.push_back(id_of(piece));
  return ids;
}

/// Pieces joined, "▁" as a blank, blanks at the ends left out.
class MarianTokenizer::Stream final : public StreamDecoder {
 public:
  Stream(const MarianTokenizer& tokenizer, const DecodeOptions& options)
      : tokenizer_(tokenizer), skip_special_(options.skip_special) {}

  std::string push(int64_t id) override {
    const std::string piece = tokenizer_.piece(id);
    if (!tokenizer_.is_special(id)) return write(piece);
    if (skip_special_) return "";
    // A special token stands apart from what follows.
    std::string text = write(piece);
    held_blanks_ = " ";
    at_start_ = true;
    return text;
  }

  std::string finish() override {
    held_blanks_.clear();
    at_start_ = true;
    begun_ = false;
    return "";
  }

 private:
  /// Blanks are held back until something follows them.
  std::string write(std::string_view piece) {
    // Text begins with the blank that encoding put there.
    if (at_start_ && piece.starts_with(kBlankMark)) piece.remove_prefix(kBlankMark.size());
    at_start_ = false;
    std::string text;
    while (!piece.empty()) {
      const bool blank = piece.starts_with(kBlankMark) || piece[0] == ' ';
      if (blank) {
        if (begun_) held_blanks_ += ' ';
        piece.remove_prefix(piece[0] == ' ' ? 1 : kBlankMark.size());
        continue;
      }
      text += std::exchange(held_blanks_, "");
      text += piece[0];
      begun_ = true;
      piece.remove_prefix(1);
    }
    return text;
  }

  const MarianTokenizer& tokenizer_;
  bool skip_special_, at_start_ = true, begun_ = false;
  std::string held_blanks_;
};

std::unique_ptr<StreamDecoder> MarianTokenizer::stream(const DecodeOptions& options) const {
  return std::make_unique<Stream>(*this, options);
}

size_t MarianTokenizer::safe_cut(std::string_view text) const {
  const size_t cut = pieces_->safe_cut(text);
  return cut < language_code_end(text) ? 0 : cut;
}

std::string MarianTokenizer::piece(int64_t id) const {
  check_id(id, vocab_size());
  return vocabulary_[static_cast<size_t>(id)];
}

std::optional<int64_t> MarianTokenizer::piece_id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

bool MarianTokenizer::is_special(int64_t id) const {
  check_id(id, vocab_size());
  return id == roles_.bos || id == roles_.eos || id == roles_.pad || id == roles_.unk;
}

bool MarianTokenizer::continues_word(int64_t id) const {
  return !is_special(id) && !piece(id).starts_with(kBlankMark);
}

void MarianTokenizer::save(const fs::path& folder) const {
  write_file(folder / kMarianModels[index_of(side_)], pieces_->model_bytes());
  const size_t vocabulary = separate_ ? index_of(side_) : 0;
  write_file(folder / kMarianVocabularies[vocabulary],
             [&](std::ostream& out) { write_vocabulary(vocabulary_, out); });
  Json config = {{"tokenizer_class", "MarianTokenizer"}, {"separate_vocabs", separate_}};
  // Something must pad batches; no model looks at what stands there.
  SpecialIds roles = roles_;
  if (!roles.pad) roles.pad = roles.eos;
  write_roles(
      roles, [this](int64_t id) { return piece(id); }, config);
  write_json_file(folder / kConfig, config);
}

}  // namespace zoo
