#pragma once
// Marian's tokenizer for one side of a translation, as Hugging Face's MarianTokenizer: a
// SentencePiece model per side cuts text into pieces, vocab.json gives the pieces their ids.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/sentencepiece_tokenizer.h"

namespace zoo {

enum class TranslationSide { source, target };

/// What Hugging Face's library calls the files of both sides.
constexpr const char* kMarianModels[] = {"source.spm", "target.spm"};
constexpr const char* kMarianVocabularies[] = {"vocab.json", "target_vocab.json"};

class MarianTokenizer final : public Tokenizer {
 public:
  /// Opens one side: source.spm or target.spm, with vocab.json, or target_vocab.json if the target
  /// has a vocabulary of its own.
  /// @throws DataError, FormatError; the vocabulary must have "<unk>" and "</s>"
  static std::unique_ptr<MarianTokenizer> open(const fs::path& folder, TranslationSide side);
  /// The same tokenizer as a SentencePiece model, whose ids stay.
  /// @param separate the other side has another vocabulary
  MarianTokenizer(std::shared_ptr<const SentencePieceTokenizer> pieces, TranslationSide side,
                  bool separate);

  /// A language code at the beginning, ">>fra<<", is one token.
  std::vector<int64_t> encode(std::string_view text,
                              const EncodeOptions& options = {}) const override;
  std::unique_ptr<StreamDecoder> stream(const DecodeOptions& options = {}) const override;
  size_t safe_cut(std::string_view text) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(vocabulary_.size()); }
  std::string piece(int64_t id) const override;
  std::optional<int64_t> piece_id(std::string_view piece) const override;
  /// Without a bos, as Marian's own, a decoder begins with the padding token.
  SpecialIds special_ids() const override { return roles_; }
  bool is_special(int64_t id) const override;
  bool continues_word(int64_t id) const override;
  std::string_view type() const override { return pieces_->type(); }
  /// Writes the files of this side; those of both sides together make a folder that open() and
  /// Hugging Face's MarianTokenizer read.
  void save(const fs::path& folder) const override;

 private:
  class Stream;
  MarianTokenizer(std::shared_ptr<const SentencePieceTokenizer> pieces, TranslationSide side,
                  bool separate, std::vector<std::string> vocabulary, const SpecialIds& roles);
  int64_t id_of(std::string_view piece) const;

  std::shared_ptr<const SentencePieceTokenizer> pieces_;
  TranslationSide side_;
  bool separate_;
  std::vector<std::string> vocabulary_;                // by id, "" where there is none
  std::unordered_map<std::string_view, int64_t> ids_;  // views into vocabulary_
  SpecialIds roles_;
};

}  // namespace zoo
