#pragma once
// Tokens that are read from the text as a whole, before it is cut into words.

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo {

/// One entry of `added_tokens` in a Hugging Face tokenizer.json.
struct AddedToken {
  std::string content;
  int64_t id = 0;
  bool special = true;  ///< only read where EncodeOptions.special asks for it; else always
  bool lstrip = false;  ///< takes the white space before it along
  bool rstrip = false;  ///< takes the white space after it along
};

/// Refuses empty and repeated special tokens, and those that are not UTF-8. @throws ConfigError
void check_special_tokens(const std::vector<std::string>& tokens);

/// Finds added tokens in text: the leftmost first, of those the longest.
class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  const std::vector<AddedToken>& all() const { return tokens_; }

  /// Calls use_text(part) for the text between the tokens and use_token(id) for each token, in
  /// order.
  /// @param special look for the special ones too
  void split(std::string_view text, bool special,
             const std::function<void(std::string_view)>& use_text,
             const std::function<void(int64_t)>& use_token) const;

  /// Whether a token that is always read may reach over white space, so that text cannot be cut
  /// there.
  bool spans_space() const;

 private:
  std::vector<AddedToken> tokens_;  // the longest first
  std::bitset<256> starts_any_;     // first bytes of all tokens
  std::bitset<256> starts_plain_;   // first bytes of those that are not special
};

}  // namespace zoo
