#include "tokenizer/bpe_trainer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/gpt2_split.h"
#include "tokenizer/word_cache.h"

namespace zoo {

namespace {

struct Word {
  std::vector<int32_t> symbols;
  int64_t count;
};

using Pair = std::pair<int32_t, int32_t>;

uint64_t key_of(Pair pair) {
  return uint64_t{static_cast<uint32_t>(pair.first)} << 32 | static_cast<uint32_t>(pair.second);
}

/// A pair that waits to be merged, in the words where it newly came up.
struct Candidate {
  Pair pair;
  int64_t count;
  std::vector<size_t> words;
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

/// What became of the pairs of one word in a merge: (pair, +1 or -1).
using Changes = std::vector<std::pair<Pair, int>>;

/// Replaces each `pair` in the word by `result`, from the left, and notes the neighbours' changes.
void merge_in_word(std::vector<int32_t>& symbols, Pair pair, int32_t result, Changes& changes) {
  size_t kept = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] != pair.first || i + 1 == symbols.size() || symbols[i + 1] != pair.second) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      changes.push_back({{symbols[kept - 1], pair.first}, -1});
      changes.push_back({{symbols[kept - 1], result}, +1});
    }
    if (i + 2 < symbols.size()) {
      changes.push_back({{pair.second, symbols[i + 2]}, -1});
      changes.push_back({{result, symbols[i + 2]}, +1});
    }
    symbols[kept++] = result;
    ++i;
  }
  symbols.resize(kept);
}

class Trainer {
 public:
  Trainer(const BpeTokenizerConfig& config, const std::vector<fs::path>& files) : config_(config) {
    add_special_tokens();
    for (const std::string& character : byte_alphabet()) byte_order_.push_back(character);
    // Hugging Face orders the alphabet by code point, which is the order of its UTF-8.
    std::sort(byte_order_.begin(), byte_order_.end());
    for (const std::string& character : byte_order_) add_piece(character);
    count_words(files);
    count_pairs();
  }

  BpeModel run() {
    const auto wanted = static_cast<size_t>(config_.vocab_size);
    while (model_.pieces.size() < wanted && merge_best()) {
    }
    if (model_.pieces.size() < wanted)
      throw DataError(cat("tokenizer training: vocab_size ", config_.vocab_size,
                          " is more than the text can fill; the largest possible size is ",
                          model_.pieces.size(), " (with min_frequency ", config_.min_frequency,
                          "); lower vocab_size or train on more text"));
    return std::move(model_);
  }

 private:
  void add_special_tokens() {
    for (const std::string& token : config_.special_tokens) {
      if (token.empty() || ids_.contains(token))
        throw ConfigError(cat("tokenizer/special_tokens: found ",
                              token.empty() ? "an empty token" : "\"" + token + "\" twice",
                              "; special tokens are distinct texts"));
      for (std::string_view rest = token; !rest.empty(); rest.remove_prefix(next_utf8(rest).length))
        if (!next_utf8(rest).valid)
          throw ConfigError("tokenizer/special_tokens: a token is not UTF-8; write it in UTF-8");
      if (const auto bytes = bytes_of_piece(token); bytes && bytes->size() == 1)
        throw ConfigError(cat("tokenizer/special_tokens: \"", token,
                              "\" is the token of a byte; use a longer text such as \"<|", token,
                              "|>\""));
      special_.insert(add_piece(token));
      model_.added.push_back({.content = token, .id = ids_.at(token)});
    }
    const auto least = static_cast<int64_t>(256 + config_.special_tokens.size());
    if (config_.vocab_size < least)
      throw ConfigError(cat("tokenizer/vocab_size: found ", config_.vocab_size, "; at least ",
                            least, " is needed: 256 bytes and ", config_.special_tokens.size(),
                            " special tokens"));
    model_.roles = conventional_roles([&](std::string_view name) -> std::optional<int64_t> {
      const auto found = ids_.find(name);
      return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
    });
  }

  /// The id of `piece`, which is added if it is new.
  int32_t add_piece(const std::string& piece) {
    const auto [entry, is_new] = ids_.emplace(piece, static_cast<int32_t>(model_.pieces.size()));
    if (is_new) model_.pieces.push_back(piece);
    return entry->second;
  }

  void count_words(const std::vector<fs::path>& files) {
    TextMap<int64_t> counts;
    for (const fs::path& path : files) {
      const MappedFile file(path);
      for_each_gpt2_word(file.text(), [&](std::string_view word) {
        const auto entry = counts.find(word);
        if (entry == counts.end())
          counts.emplace(word, 1);
        else
          ++entry->second;
      });
    }
    words_.reserve(counts.size());
    for (const auto& [text, count] : counts) {
      Word word{{}, count};
      word.symbols.reserve(text.size());
      for (const char c : text)
        word.symbols.push_back(ids_.at(byte_alphabet()[static_cast<unsigned char>(c)]));
      words_.push_back(std::move(word));
    }
  }

  void count_pairs() {
    for (size_t i = 0; i < words_.size(); ++i)
      for (size_t j = 0; j + 1 < words_[i].symbols.size(); ++j)
        change_count({words_[i].symbols[j], words_[i].symbols[j + 1]}, +1, i);
    queue_new();
  }

  void change_count(Pair pair, int change, size_t word) {
    counts_[key_of(pair)] += change * words_[word].count;
    if (change < 0) return;
    std::vector<size_t>& places = new_places_[key_of(pair)];
    if (places.empty() || places.back() != word) places.push_back(word);
  }

  void queue_new() {
    for (auto& [key, places] : new_places_) {
      const Pair pair = {static_cast<int32_t>(key >> 32), static_cast<int32_t>(key & 0xFFFFFFFF)};
      if (const int64_t count = counts_[key]; count > 0) push({pair, count, std::move(places)});
    }
    new_places_.clear();
  }

  void push(Candidate candidate) {
    queue_.push_back(std::move(candidate));
    std::push_heap(queue_.begin(), queue_.end());
  }

  /// Does the next merge. False if no pair is frequent enough.
  bool merge_best() {
    while (!queue_.empty()) {
      std::pop_heap(queue_.begin(), queue_.end());
      Candidate best = std::move(queue_.back());
      queue_.pop_back();
      // Other merges have taken some of its places since it was queued: queue it again with the
      // count of today.
      if (const int64_t count = counts_[key_of(best.pair)]; count != best.count) {
        best.count = count;
        push(std::move(best));
        continue;
      }
      if (best.count < config_.min_frequency) return false;
      const auto piece = [&](int32_t id) { return model_.pieces[static_cast<size_t>(id)]; };
      const std::string merged = piece(best.pair.first) + piece(best.pair.second);
      // A merge must not make text into a special token.
      if (const auto known = ids_.find(merged);
          known != ids_.end() && special_.contains(known->second))
        continue;
      const int32_t result = add_piece(merged);
      model_.merges.push_back({best.pair.first, best.pair.second, result});
      Changes changes;
      for (const size_t word : best.words) {
        changes.clear();
        merge_in_word(words_[word].symbols, best.pair, result, changes);
        for (const auto& [pair, change] : changes) change_count(pair, change, word);
      }
      queue_new();
      return true;
    }
    return false;
  }

  const BpeTokenizerConfig& config_;
  BpeModel model_;
  std::vector<std::string> byte_order_;
  TextMap<int32_t> ids_;
  std::unordered_set<int32_t> special_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, int64_t> counts_;  // of pairs, by key_of
  std::unordered_map<uint64_t, std::vector<size_t>>
      new_places_;                // words with a pair that is not queued
  std::vector<Candidate> queue_;  // a heap
};

}  // namespace

BpeModel train_bpe(const BpeTokenizerConfig& config, const std::vector<fs::path>& files) {
  return Trainer(config, files).run();
}

}  // namespace zoo
