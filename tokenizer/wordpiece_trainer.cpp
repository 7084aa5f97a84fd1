#include "tokenizer/wordpiece_trainer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "tokenizer/merge_learner.h"
#include "tokenizer/special_roles.h"
#include "tokenizer/word_cache.h"

namespace zoo {

namespace {

class Trainer {
 public:
  Trainer(const WordPieceTokenizerConfig& config, const std::vector<fs::path>& files)
      : config_(config) {
    model_.text = {.lowercase = config.lowercase,
                   .strip_accents = config.lowercase && !config.keep_accents};
    add_special_tokens();
    const TextMap<int64_t> words = count_words(files);
    add_characters(words);
    learner_.emplace(rows_of(words));
  }

  WordPieceModel run() {
    const auto wanted = static_cast<size_t>(config_.vocab_size);
    if (model_.pieces.size() > wanted)
      throw DataError(cat("tokenizer training: vocab_size ", config_.vocab_size,
                          " is too small; at least ", model_.pieces.size(),
                          " is needed: ", config_.special_tokens.size(),
                          " special tokens and the text's characters; raise vocab_size"));
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
    for (const std::string& token : config_.special_tokens)
      model_.added.push_back({.content = token, .id = add_piece(token)});
    model_.roles = conventional_roles([&](std::string_view name) -> std::optional<int64_t> {
      const auto found = ids_.find(name);
      return found == ids_.end() ? std::nullopt : std::optional<int64_t>(found->second);
    });
    if (!model_.roles.unk)
      throw ConfigError(
          "tokenizer/special_tokens: [UNK] is missing; WordPiece needs it for words that it cannot "
          "cut");
  }

  /// The id of `piece`, which is added if it is new.
  int32_t add_piece(const std::string& piece) {
    const auto [entry, is_new] = ids_.emplace(piece, static_cast<int32_t>(model_.pieces.size()));
    if (is_new) model_.pieces.push_back(piece);
    return entry->second;
  }

  TextMap<int64_t> count_words(const std::vector<fs::path>& files) const {
    TextMap<int64_t> counts;
    for (const fs::path& path : files) {
      const MappedFile file(path);
      for_each_line(file.text(), [&](std::string_view line) {
        for_each_bert_word(line, model_.text, [&](std::string_view word) {
          const auto entry = counts.find(word);
          if (entry == counts.end())
            counts.emplace(word, 1);
          else
            ++entry->second;
        });
      });
    }
    return counts;
  }

  /// Calls use(character, whether it is the word's first).
  static void for_each_character(std::string_view word, const auto& use) {
    for (bool is_first = true; !word.empty(); is_first = false) {
      const size_t length = next_utf8(word).length;
      use(std::string(word.substr(0, length)), is_first);
      word.remove_prefix(length);
    }
  }

  void add_characters(const TextMap<int64_t>& words) {
    std::set<std::string> starts, going_on;  // UTF-8 sorts as its code points do
    for (const auto& [word, count] : words)
      for_each_character(word, [&](const std::string& character, bool is_first) {
        starts.insert(character);
        if (!is_first) going_on.insert(character);
      });
    for (const std::string& character : starts) add_piece(character);
    for (const std::string& character : going_on) add_piece(model_.prefix + character);
  }

  std::vector<MergeLearner::Word> rows_of(const TextMap<int64_t>& words) const {
    std::vector<MergeLearner::Word> rows;
    for (const auto& [word, count] : words) {
      rows.push_back({{}, count});
      for_each_character(word, [&](const std::string& character, bool is_first) {
        rows.back().symbols.push_back(ids_.at(is_first ? character : model_.prefix + character));
      });
    }
    return rows;
  }

  /// The piece that replaces two.
  std::optional<int32_t> merge(MergeLearner::Pair pair) {
    const auto piece = [&](int32_t id) { return model_.pieces[static_cast<size_t>(id)]; };
    const std::string merged = piece(pair.first) + piece(pair.second).substr(model_.prefix.size());
    const auto known = ids_.find(merged);
    const bool is_special =
        known != ids_.end() && known->second < std::ssize(config_.special_tokens);
    return is_special ? std::nullopt : std::optional(add_piece(merged));
  }

  const WordPieceTokenizerConfig& config_;
  WordPieceModel model_;
  TextMap<int32_t> ids_;
  std::optional<MergeLearner> learner_;
};

}  // namespace

WordPieceModel train_wordpiece(const WordPieceTokenizerConfig& config,
                               const std::vector<fs::path>& files) {
  return Trainer(config, files).run();
}

}  // namespace zoo
