#pragma once
// Byte-level BPE: Radford et al. 2019, section 2.2; the merging is that of Sennrich et al. 2016,
// algorithm 1. Every byte is a token, so any text has ids, and decoding gives its bytes back.

#include <array>
#include <memory>
#include <unordered_map>

#include "tokenizer/bpe_model.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_cache.h"

namespace zoo {

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(BpeModel model);

  /// Words (word_split.h) are merged one by one and remembered; the ids of GPT-2, Llama 3 or Qwen
  /// on any bytes.
  std::vector<int64_t> encode(std::string_view text,
                              const EncodeOptions& options = {}) const override;
  std::unique_ptr<StreamDecoder> stream(const DecodeOptions& options = {}) const override;
  size_t safe_cut(std::string_view text) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(model_.pieces.size()); }
  std::string piece(int64_t id) const override;
  std::optional<int64_t> piece_id(std::string_view piece) const override;
  SpecialIds special_ids() const override { return model_.roles; }
  bool is_special(int64_t id) const override;
  bool continues_word(int64_t id) const override;
  std::string_view type() const override { return BpeTokenizerConfig::kType; }
  void save(const fs::path& folder) const override { write_bpe_files(model_, folder); }

  const BpeModel& model() const { return model_; }

 private:
  class Stream;
  struct Merge {
    int32_t rank, result;
  };

  void encode_words(std::string_view text, WordCaches::Borrowed& cache,
                    std::vector<int64_t>& ids) const;
  std::vector<int32_t> merge_word(std::string_view word) const;
  const Merge* find_merge(int32_t left, int32_t right) const;
  size_t index_of(int64_t id) const;  ///< the id, checked

  BpeModel model_;
  AddedTokens added_;
  std::vector<std::string> bytes_;  // by id: what the token decodes to
  std::vector<bool> special_;       // by id
  std::array<int32_t, 256> byte_ids_{};
  std::unordered_map<std::string_view, int32_t> ids_;  // by piece; views into model_
  std::unordered_map<uint64_t, Merge> merges_;         // by left id << 32 | right id

  mutable WordCaches caches_;
};

}  // namespace zoo
