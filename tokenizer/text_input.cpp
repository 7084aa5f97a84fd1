#include "tokenizer/text_input.h"

#include <algorithm>

#include "core/error.h"

namespace zoo {

namespace {

int64_t require_id(std::optional<int64_t> bert, std::optional<int64_t> other, const char* name) {
  if (bert) return *bert;
  if (other) return *other;
  throw ConfigError(cat("tokenizer: has no token ", name,
                        ", which a text encoder reads around each text; use a tokenizer of type "
                        "wordpiece"));
}

/// Cuts both to `room` ids together: the longer one first, then both to a half.
/// @return whether anything was cut
bool cut_longest_first(std::vector<int64_t>& a, std::vector<int64_t>& b, int64_t room) {
  if (std::ssize(a) + std::ssize(b) <= room) return false;
  std::vector<int64_t>& shorter = a.size() > b.size() ? b : a;
  std::vector<int64_t>& longer = a.size() > b.size() ? a : b;
  if (std::ssize(shorter) > room / 2) shorter.resize(room / 2);
  longer.resize(room - std::ssize(shorter));
  return true;
}

}  // namespace

TextEncoding::TextEncoding(const Tokenizer& tokenizer, int64_t max_length)
    : tokenizer_(&tokenizer), max_length_(max_length) {
  const SpecialIds ids = tokenizer.special_ids();
  cls_ = require_id(ids.cls, ids.bos, "[CLS]");
  sep_ = require_id(ids.sep, ids.eos, "[SEP]");
  if (room(2) < 2)
    throw ConfigError(cat("model.max_length is ", max_length,
                          ", which leaves no room beside [CLS] and two [SEP]; allowed: at least "
                          "5"));
}

EncodedText TextEncoding::encode(std::string_view a, std::optional<std::string_view> b,
                                 const EncodeOptions& options) const {
  std::vector<int64_t> first = tokenizer_->encode(a, options), second;
  if (b) second = tokenizer_->encode(*b, options);
  const bool cut = cut_longest_first(first, second, room(b ? 2 : 1));
  EncodedText text = b ? frame(std::move(first), std::move(second)) : frame(std::move(first));
  text.cut = cut;
  return text;
}

EncodedText TextEncoding::frame(std::vector<int64_t> a,
                                const std::optional<std::vector<int64_t>>& b) const {
  EncodedText text{.ids = std::move(a)};
  text.ids.insert(text.ids.begin(), cls_);
  text.ids.push_back(sep_);
  text.first_length = std::ssize(text.ids);
  if (b) {
    text.ids.insert(text.ids.end(), b->begin(), b->end());
    text.ids.push_back(sep_);
  }
  if (std::ssize(text.ids) > max_length_)
    throw Error(
        cat("TextEncoding::frame: ", text.ids.size(), " ids, but max_length is ", max_length_));
  return text;
}

}  // namespace zoo
