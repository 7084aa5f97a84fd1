#include "tokenizer/wordpiece_tokenizer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/unicode.h"

namespace zoo {

namespace {

/// Pieces that begin so stand behind the word before them without a blank.
constexpr const char* kHugging[] = {".", ",", "!", "?", "n't", "'m", "'s", "'ve", "'re"};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(WordPieceModel model)
    : model_(std::move(model)), added_(model_.added), special_(model_.pieces.size()) {
  for (const AddedToken& token : model_.added)
    special_[static_cast<size_t>(token.id)] = token.special;
  for (size_t id = 0; id < model_.pieces.size(); ++id) {
    const std::string_view piece = model_.pieces[id];
    if (piece.empty()) continue;
    ids_.emplace(piece, static_cast<int32_t>(id));
    if (special_[id]) continue;  // plain text never becomes one
    longest_ = std::max(longest_, piece.size());
    starts_.emplace(piece, static_cast<int32_t>(id));
    if (piece.starts_with(model_.prefix))
      goes_on_.emplace(piece.substr(model_.prefix.size()), static_cast<int32_t>(id));
  }
}

std::vector<int64_t> WordPieceTokenizer::encode(std::string_view text,
                                                const EncodeOptions& options) const {
  WordCaches::Borrowed cache(caches_);
  std::vector<int64_t> ids;
  added_.split(
      text, options.special, [&](std::string_view part) { encode_text(part, cache, ids); },
      [&](int64_t id) { ids.push_back(id); });
  return ids;
}

void WordPieceTokenizer::encode_text(std::string_view text, WordCaches::Borrowed& cache,
                                     std::vector<int64_t>& ids) const {
  const auto cut_up = [this](std::string_view part) {
    std::vector<int32_t> found;
    for_each_bert_word(part, model_.text, [&](std::string_view word) { cut_word(word, found); });
    return found;
  };
  // What stands between blanks is read by itself, so that it can be remembered.
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = std::find_if_not(at, text.end(), is_blank);
    at = std::find_if(begin, text.end(), is_blank);
    if (begin != at) cache.append(std::string_view(begin, at), cut_up, ids);
  }
}

void WordPieceTokenizer::cut_word(std::string_view word, std::vector<int32_t>& ids) const {
  const auto unknown = static_cast<int32_t>(*model_.roles.unk);
  int64_t characters = 0;
  for_each_code_point(word, [&](char32_t, std::string_view) { ++characters; });
  if (characters > model_.max_characters) return ids.push_back(unknown);

  const size_t before = ids.size();
  while (!word.empty()) {
    const auto& pieces = ids.size() == before ? starts_ : goes_on_;
    size_t length = std::min(word.size(), longest_);
    auto found = pieces.end();
    for (; length > 0; --length)
      if ((found = pieces.find(word.substr(0, length))) != pieces.end()) break;
    if (length == 0) {
      ids.resize(before);
      return ids.push_back(unknown);
    }
    ids.push_back(found->second);
    word.remove_prefix(length);
  }
}

class WordPieceTokenizer::Stream final : public StreamDecoder {
 public:
  Stream(const WordPieceTokenizer& tokenizer, const DecodeOptions& options)
      : tokenizer_(tokenizer), skip_special_(options.skip_special) {}

  std::string push(int64_t id) override {
    const size_t index = tokenizer_.index_of(id);
    if (skip_special_ && tokenizer_.special_[index]) return "";
    const std::string& piece = tokenizer_.model_.pieces[index];
    if (std::exchange(is_first_, false)) return piece;
    const std::string& prefix = tokenizer_.model_.prefix;
    if (piece.starts_with(prefix)) return piece.substr(prefix.size());
    const auto begins = [&](const char* start) { return piece.starts_with(start); };
    return std::any_of(std::begin(kHugging), std::end(kHugging), begins) ? piece : " " + piece;
  }

  std::string finish() override {
    is_first_ = true;
    return "";
  }

 private:
  const WordPieceTokenizer& tokenizer_;
  bool skip_special_, is_first_ = true;
};

std::unique_ptr<StreamDecoder> WordPieceTokenizer::stream(const DecodeOptions& options) const {
  return std::make_unique<Stream>(*this, options);
}

size_t WordPieceTokenizer::safe_cut(std::string_view text) const {
  if (added_.spans_space()) return 0;
  const auto last = std::find_if(text.rbegin(), text.rend(), is_blank);
  return static_cast<size_t>(text.rend() - last);
}

size_t WordPieceTokenizer::index_of(int64_t id) const {
  check_id(id, vocab_size());
  return static_cast<size_t>(id);
}

std::string WordPieceTokenizer::piece(int64_t id) const { return model_.pieces[index_of(id)]; }

std::optional<int64_t> WordPieceTokenizer::piece_id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

bool WordPieceTokenizer::is_special(int64_t id) const { return special_[index_of(id)]; }

bool WordPieceTokenizer::continues_word(int64_t id) const {
  return !is_special(id) && model_.pieces[index_of(id)].starts_with(model_.prefix);
}

}  // namespace zoo
