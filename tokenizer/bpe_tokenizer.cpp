#include "tokenizer/bpe_tokenizer.h"

#include <queue>
#include <utility>

#include "core/error.h"
#include "core/unicode.h"
#include "core/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/word_split.h"

namespace zoo {

namespace {

uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

BpeTokenizer::BpeTokenizer(BpeModel model) : model_(std::move(model)), added_(model_.added) {
  const size_t count = model_.pieces.size();
  ids_.reserve(count);
  bytes_.reserve(count);
  for (size_t id = 0; id < count; ++id) {
    const std::string& piece = model_.pieces[id];
    if (!piece.empty()) ids_.emplace(piece, static_cast<int32_t>(id));
    bytes_.push_back(bytes_of_piece(piece).value_or(piece));
  }
  special_.resize(count);
  for (const AddedToken& token : model_.added) {
    const auto id = static_cast<size_t>(token.id);
    bytes_[id] = token.content;
    special_[id] = token.special;
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    const auto found = ids_.find(byte_alphabet()[byte]);
    byte_ids_[byte] = found == ids_.end() ? -1 : found->second;
  }
  merges_.reserve(model_.merges.size());
  for (size_t rank = 0; rank < model_.merges.size(); ++rank) {
    const auto& [left, right, result] = model_.merges[rank];
    // Plain text never becomes a special token, not even by a merge that spells one.
    if (special_[static_cast<size_t>(result)]) continue;
    merges_[pair_key(left, right)] = {static_cast<int32_t>(rank), result};
  }
}

std::vector<int64_t> BpeTokenizer::encode(std::string_view text,
                                          const EncodeOptions& options) const {
  WordCaches::Borrowed cache(caches_);
  std::vector<int64_t> ids;
  ids.reserve(text.size() / 3);
  added_.split(
      text, options.special, [&](std::string_view part) { encode_words(part, cache, ids); },
      [&](int64_t id) { ids.push_back(id); });
  return ids;
}

void BpeTokenizer::encode_words(std::string_view text, WordCaches::Borrowed& cache,
                                std::vector<int64_t>& ids) const {
  std::string prefixed, normalized;
  if (model_.add_prefix_space && !text.starts_with(' ')) {
    prefixed = cat(' ', text);
    text = prefixed;
  }
  if (model_.composes) {
    normalized = composed(text);
    text = normalized;
  }
  for_each_word(model_.split, text, [&](std::string_view word) {
    cache.append(
        word, [this](std::string_view unknown) { return merge_word(unknown); }, ids);
  });
}

const BpeTokenizer::Merge* BpeTokenizer::find_merge(int32_t left, int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

std::vector<int32_t> BpeTokenizer::merge_word(std::string_view word) const {
  // The tokens so far as a linked list; a merge keeps the left place and drops the right one.
  struct Symbol {
    int32_t id;
    size_t previous, next;
  };
  constexpr size_t kNone = static_cast<size_t>(-1);
  constexpr int32_t kDropped = -1;
  if (model_.whole_words_first)
    if (const auto whole = ids_.find(piece_of_bytes(word));
        whole != ids_.end() && !special_[static_cast<size_t>(whole->second)])
      return {whole->second};
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    const auto byte = static_cast<unsigned char>(word[i]);
    if (byte_ids_[byte] < 0)
      throw DataError(cat("encode: the byte ", static_cast<int>(byte),
                          " has no token in this vocabulary; use a vocabulary with all 256 bytes"));
    symbols.push_back({byte_ids_[byte], i - 1, i + 1 < word.size() ? i + 1 : kNone});
  }

  // The merge of the lowest rank comes first, of equal ones the leftmost.
  struct Candidate {
    int32_t rank;
    size_t left;
    int32_t result;
    bool operator<(const Candidate& other) const {
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };
  std::priority_queue<Candidate> queue;
  const auto consider = [&](size_t left) {
    if (left == kNone || symbols[left].next == kNone) return;
    if (const Merge* merge = find_merge(symbols[left].id, symbols[symbols[left].next].id))
      queue.push({merge->rank, left, merge->result});
  };
  for (size_t i = 0; i < symbols.size(); ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.left];
    if (left.id == kDropped || left.next == kNone) continue;
    Symbol& right = symbols[left.next];
    const Merge* merge = find_merge(left.id, right.id);
    if (merge == nullptr || merge->rank != best.rank) continue;  // one of the two has changed since
    left.id = best.result;
    left.next = right.next;
    if (right.next != kNone) symbols[right.next].previous = best.left;
    right.id = kDropped;
    consider(left.previous);
    consider(best.left);
  }

  std::vector<int32_t> ids;
  for (const Symbol& symbol : symbols)
    if (symbol.id != kDropped) ids.push_back(symbol.id);
  return ids;
}

/// Joins the bytes of the tokens and cuts them at whole characters.
class BpeTokenizer::Stream final : public StreamDecoder {
 public:
  Stream(const BpeTokenizer& tokenizer, const DecodeOptions& options)
      : tokenizer_(tokenizer), options_(options), buffer_(options.replace_invalid) {}

  std::string push(int64_t id) override {
    const size_t index = tokenizer_.index_of(id);
    if (options_.skip_special && tokenizer_.special_[index]) return "";
    return buffer_.push(tokenizer_.bytes_[index]);
  }
  std::string finish() override { return buffer_.finish(); }

 private:
  const BpeTokenizer& tokenizer_;
  DecodeOptions options_;
  Utf8Buffer buffer_;
};

std::unique_ptr<StreamDecoder> BpeTokenizer::stream(const DecodeOptions& options) const {
  return std::make_unique<Stream>(*this, options);
}

size_t BpeTokenizer::safe_cut(std::string_view text) const {
  if (model_.add_prefix_space || added_.spans_space()) return 0;
  return safe_word_cut(model_.split, text);
}

size_t BpeTokenizer::index_of(int64_t id) const {
  check_id(id, vocab_size());
  return static_cast<size_t>(id);
}

std::string BpeTokenizer::piece(int64_t id) const { return model_.pieces[index_of(id)]; }

std::optional<int64_t> BpeTokenizer::piece_id(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
}

bool BpeTokenizer::is_special(int64_t id) const { return special_[index_of(id)]; }

bool BpeTokenizer::continues_word(int64_t id) const {
  // Letters and digits without the blank that begins a word.
  const std::string text = piece(id);
  const auto first = static_cast<unsigned char>(text[0]);
  return !is_special(id) && !text.starts_with("Ġ") && !text.starts_with("Ċ") &&
         (std::isalnum(first) != 0 || first >= 0x80);
}

}  // namespace zoo
