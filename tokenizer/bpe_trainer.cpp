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
#include "tokenizer/merge_learner.h"
#include "tokenizer/word_cache.h"

namespace zoo {

namespace {

class Trainer {
 public:
  Trainer(const BpeTokenizerConfig& config, const std::vector<fs::path>& files) : config_(config) {
    add_special_tokens();
    for (const std::string& character : byte_alphabet()) byte_order_.push_back(character);
    // Hugging Face orders the alphabet by code point, which is the order of its UTF-8.
    std::sort(byte_order_.begin(), byte_order_.end());
    for (const std::string& character : byte_order_) add_piece(character);
    learner_.emplace(count_words(files));
  }

  BpeModel run() {
    const auto wanted = static_cast<size_t>(config_.vocab_size);
    while (model_.pieces.size() < wanted &&
           learner_->merge_best(config_.min_frequency,
                                [&](MergeLearner::Pair pair) { return merge(pair); })) {
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
    check_special_tokens(config_.special_tokens);
    for (const std::string& token : config_.special_tokens) {
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

  std::vector<MergeLearner::Word> count_words(const std::vector<fs::path>& files) const {
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
    std::vector<MergeLearner::Word> words;
    words.reserve(counts.size());
    for (const auto& [text, count] : counts) {
      MergeLearner::Word word{{}, count};
      word.symbols.reserve(text.size());
      for (const char c : text)
        word.symbols.push_back(ids_.at(byte_alphabet()[static_cast<unsigned char>(c)]));
      words.push_back(std::move(word));
    }
    return words;
  }

  /// The token that replaces two; none if text would become a special token.
  std::optional<int32_t> merge(MergeLearner::Pair pair) {
    const auto piece = [&](int32_t id) { return model_.pieces[static_cast<size_t>(id)]; };
    const std::string merged = piece(pair.first) + piece(pair.second);
    if (const auto known = ids_.find(merged);
        known != ids_.end() && special_.contains(known->second))
      return std::nullopt;
    const int32_t result = add_piece(merged);
    model_.merges.push_back({pair.first, pair.second, result});
    return result;
  }

  const BpeTokenizerConfig& config_;
  BpeModel model_;
  std::vector<std::string> byte_order_;
  TextMap<int32_t> ids_;
  std::unordered_set<int32_t> special_;
  std::optional<MergeLearner> learner_;
};

}  // namespace

BpeModel train_bpe(const BpeTokenizerConfig& config, const std::vector<fs::path>& files) {
  return Trainer(config, files).run();
}

}  // namespace zoo
