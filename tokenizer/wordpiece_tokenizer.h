#pragma once
// WordPiece as BERT uses it: Wu et al. 2016, section 4.1; Devlin et al. 2019, section 3. A word is
// cut from the left into the longest pieces that the vocabulary has; a word that cannot be cut so
// is the unknown token.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"
#include "tokenizer/word_cache.h"
#include "tokenizer/wordpiece_model.h"

namespace zoo {

class WordPieceTokenizer final : public Tokenizer {
 public:
  explicit WordPieceTokenizer(WordPieceModel model);

  /// The reference's ids, without [CLS] and [SEP].
  std::vector<int64_t> encode(std::string_view text,
                              const EncodeOptions& options = {}) const override;
  /// Pieces joined to words, words by blanks; none before . , ! and ?. The text's case, accents and
  /// white space are gone.
  std::unique_ptr<StreamDecoder> stream(const DecodeOptions& options = {}) const override;
  size_t safe_cut(std::string_view text) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(model_.pieces.size()); }
  std::string piece(int64_t id) const override;
  std::optional<int64_t> piece_id(std::string_view piece) const override;
  SpecialIds special_ids() const override { return model_.roles; }
  bool is_special(int64_t id) const override;
  bool continues_word(int64_t id) const override;
  std::string_view type() const override { return WordPieceTokenizerConfig::kType; }
  void save(const fs::path& folder) const override { write_wordpiece_files(model_, folder); }

  const WordPieceModel& model() const { return model_; }

 private:
  class Stream;

  void encode_text(std::string_view text, WordCaches::Borrowed& cache,
                   std::vector<int64_t>& ids) const;
  void cut_word(std::string_view word, std::vector<int32_t>& ids) const;
  size_t index_of(int64_t id) const;  ///< the id, checked

  WordPieceModel model_;
  AddedTokens added_;
  std::vector<bool> special_;                          // by id
  std::unordered_map<std::string_view, int32_t> ids_;  // by piece; views into model_
  // What words are cut into; those that go on with a word without their prefix.
  std::unordered_map<std::string_view, int32_t> starts_, goes_on_;
  size_t longest_ = 0;  // bytes of the longest piece
  mutable WordCaches caches_;
};

}  // namespace zoo
