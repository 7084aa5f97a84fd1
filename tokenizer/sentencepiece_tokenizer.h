#pragma once
// SentencePiece: Kudo & Richardson 2018; unigram segmentation Kudo 2018, section 3.2. The library
// of that name trains and encodes; blanks are part of the pieces, written "▁".

#include <memory>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace zoo {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  /// @throws FormatError if the file is no SentencePiece model
  static std::unique_ptr<SentencePieceTokenizer> open(const fs::path& path);
  /// The same from the file's content. @param where names it in messages
  static std::unique_ptr<SentencePieceTokenizer> from_model(std::string bytes,
                                                            const fs::path& where);
  /// Trains on the lines of some text files; the same text gives the same model.
  /// @throws DataError if the text cannot fill vocab_size or has more characters than it
  static std::unique_ptr<SentencePieceTokenizer> train(const SentencePieceTokenizerConfig& config,
                                                       const std::vector<fs::path>& files);
  ~SentencePieceTokenizer() override;

  /// Text is normalised as the model says: usually NFKC, white space as single blanks, none at the
  /// ends. Characters the model does not know become <unk>, or bytes if it has byte pieces.
  std::vector<int64_t> encode(std::string_view text,
                              const EncodeOptions& options = {}) const override;
  std::unique_ptr<StreamDecoder> stream(const DecodeOptions& options = {}) const override;
  size_t safe_cut(std::string_view text) const override;
  int64_t vocab_size() const override;
  std::string piece(int64_t id) const override;
  std::optional<int64_t> piece_id(std::string_view piece) const override;
  SpecialIds special_ids() const override;
  bool is_special(int64_t id) const override;
  bool continues_word(int64_t id) const override;
  std::string_view type() const override { return SentencePieceTokenizerConfig::kType; }
  /// The text in pieces, those that the model does not know as they stand in the text.
  std::vector<std::string> pieces_of(std::string_view text) const;
  const std::string& model_bytes() const;  ///< the .model file
  /// Writes spm.model, which sentencepiece reads, and for Hugging Face the same as tokenizer.json
  /// with tokenizer_config.json (unigram and BPE models; there is no such form of the other kinds).
  void save(const fs::path& folder) const override;

 private:
  class Stream;
  struct Model;
  explicit SentencePieceTokenizer(std::unique_ptr<Model> model);

  std::unique_ptr<Model> model_;
};

}  // namespace zoo
