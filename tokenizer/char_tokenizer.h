#pragma once
// One token per Unicode character, ids in the order of the code points.

#include <nlohmann/json_fwd.hpp>
#include <unordered_map>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace zoo {

class CharTokenizer final : public Tokenizer {
 public:
  /// @param alphabet by id, each character once
  explicit CharTokenizer(std::vector<char32_t> alphabet);

  /// The characters of some text files.  @throws DataError if a file is not UTF-8 or all are empty
  static std::unique_ptr<CharTokenizer> train(const std::vector<fs::path>& files);
  /// A tokenizer.json as save() writes it: model WordLevel of single characters.
  static std::unique_ptr<CharTokenizer> from_json(const nlohmann::json& json, const fs::path& path);

  /// @throws DataError naming the first character or byte that has no id, and where it stands
  std::vector<int64_t> encode(std::string_view text,
                              const EncodeOptions& options = {}) const override;
  std::unique_ptr<StreamDecoder> stream(const DecodeOptions& options = {}) const override;
  size_t safe_cut(std::string_view text) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(alphabet_.size()); }
  std::string piece(int64_t id) const override;
  std::optional<int64_t> piece_id(std::string_view piece) const override;
  SpecialIds special_ids() const override { return {}; }
  bool is_special(int64_t id) const override;
  std::string_view type() const override { return CharTokenizerConfig::kType; }
  void save(const fs::path& folder) const override;

 private:
  std::vector<char32_t> alphabet_;
  std::unordered_map<char32_t, int64_t> ids_;
};

}  // namespace zoo
