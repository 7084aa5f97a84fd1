#include "tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/utf8.h"

namespace zoo {

namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
    return a.content.size() > b.content.size();
  });
  for (const AddedToken& token : tokens_) {
    const auto first = static_cast<unsigned char>(token.content.at(0));
    starts_any_.set(first);
    if (!token.special) starts_plain_.set(first);
  }
}

void AddedTokens::split(std::string_view text, bool special,
                        const std::function<void(std::string_view)>& use_text,
                        const std::function<void(int64_t)>& use_token) const {
  const std::bitset<256>& starts = special ? starts_any_ : starts_plain_;
  size_t done = 0;
  for (size_t at = 0; starts.any() && at < text.size(); ++at) {
    if (!starts[static_cast<unsigned char>(text[at])]) continue;
    const auto token = std::find_if(tokens_.begin(), tokens_.end(), [&](const AddedToken& t) {
      return (special || !t.special) && text.substr(at, t.content.size()) == t.content;
    });
    if (token == tokens_.end()) continue;
    std::string_view before = text.substr(done, at - done);
    if (token->lstrip) before = before.substr(0, before.find_last_not_of(kSpace) + 1);
    if (!before.empty()) use_text(before);
    use_token(token->id);
    done = at + token->content.size();
    if (token->rstrip) done = std::min(text.find_first_not_of(kSpace, done), text.size());
    at = done - 1;
  }
  if (done < text.size()) use_text(text.substr(done));
}

bool AddedTokens::spans_space() const {
  return std::any_of(tokens_.begin(), tokens_.end(), [](const AddedToken& token) {
    return !token.special &&
           (token.rstrip || token.content.find_first_of(kSpace) != std::string::npos);
  });
}

void check_special_tokens(const std::vector<std::string>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    const auto earlier = tokens.begin() + static_cast<std::ptrdiff_t>(i);
    if (token.empty() || std::find(tokens.begin(), earlier, token) != earlier)
      throw ConfigError(cat("tokenizer/special_tokens: found ",
                            token.empty() ? "an empty token" : "\"" + token + "\" twice",
                            "; special tokens are distinct texts"));
    for (std::string_view rest = token; !rest.empty(); rest.remove_prefix(next_utf8(rest).length))
      if (!next_utf8(rest).valid)
        throw ConfigError("tokenizer/special_tokens: a token is not UTF-8; write it in UTF-8");
  }
}

}  // namespace zoo
