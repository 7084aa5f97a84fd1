#pragma once
// Texts and pairs of texts as BERT reads them (Devlin et al. 2019, section 3): [CLS] a [SEP], or
// [CLS] a [SEP] b [SEP].

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace zoo {

struct EncodedText {
  std::vector<int64_t> ids;
  int64_t first_length = 0;  ///< ids of the first segment, its [SEP] included; the rest are b's
  bool cut = false;          ///< an end was cut off
};

class TextEncoding {
 public:
  /// @param max_length of ids in all, the special ones included  @param tokenizer must outlive this
  /// @throws ConfigError if the tokenizer has no [CLS] and [SEP] (nor <s> and </s> in their
  /// places), or if max_length leaves no room beside them
  TextEncoding(const Tokenizer& tokenizer, int64_t max_length);

  /// What exceeds max_length is cut off at the end of the longer text, as Hugging Face's
  /// "longest_first" does.
  EncodedText encode(std::string_view a, std::optional<std::string_view> b = std::nullopt,
                     const EncodeOptions& options = {}) const;

  /// The same of ids: they must fit. @throws Error if they do not
  EncodedText frame(std::vector<int64_t> a,
                    const std::optional<std::vector<int64_t>>& b = std::nullopt) const;

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Ids that fit beside the special ones of `texts` (1 or 2) texts.
  int64_t room(int texts) const { return max_length_ - 1 - texts; }

 private:
  const Tokenizer* tokenizer_;
  int64_t max_length_, cls_, sep_;
};

}  // namespace zoo
