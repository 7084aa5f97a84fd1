#include "tokenizer/wordpiece_trainer.h"

#include <set>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "tokenizer/trained_pieces.h"

namespace zoo {

namespace {

class Trainer {
 public:
  explicit Trainer(const WordPieceTokenizerConfig& config) : config_(config) {
    model_.text = {.lowercase = config.lowercase,
                   .strip_accents = config.lowercase && !config.keep_accents};
  }

  WordPieceModel run(const std::vector<fs::path>& files) {
    add_special_tokens();
    const TextMap<int64_t> words = count_words(files, [&](std::string_view text, const auto& use) {
      for_each_line(text,
                    [&](std::string_view line) { for_each_bert_word(line, model_.text, use); });
    });
    add_characters(words);
    if (static_cast<int64_t>(pieces_.size()) > config_.vocab_size)
      throw DataError(cat("tokenizer training: vocab_size ", config_.vocab_size,
                          " is too small; at least ", pieces_.size(),
                          " is needed: ", config_.special_tokens.size(),
                          " special tokens and the text's characters; raise vocab_size"));
    pieces_.fill(config_.vocab_size, config_.min_frequency, rows_of(words),
                 [&](MergeLearner::Pair pair) { return merge(pair); });
    model_.pieces = pieces_.take();
    return std::move(model_);
  }

 private:
  void add_special_tokens() {
    check_special_tokens(config_.special_tokens);
    for (const std::string& token : config_.special_tokens)
      model_.added.push_back({.content = token, .id = pieces_.add(token)});
    model_.roles = conventional_roles([&](std::string_view name) { return pieces_.find(name); });
    if (!model_.roles.unk)
      throw ConfigError(
          "tokenizer/special_tokens: [UNK] is missing; WordPiece needs it for words that it cannot "
          "cut");
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
    for (const std::string& character : starts) pieces_.add(character);
    for (const std::string& character : going_on) pieces_.add(model_.prefix + character);
  }

  std::vector<MergeLearner::Word> rows_of(const TextMap<int64_t>& words) const {
    std::vector<MergeLearner::Word> rows;
    for (const auto& [word, count] : words) {
      rows.push_back({{}, count});
      for_each_character(word, [&](const std::string& character, bool is_first) {
        rows.back().symbols.push_back(
            pieces_.id_of(is_first ? character : model_.prefix + character));
      });
    }
    return rows;
  }

  /// The piece that replaces two; none if text would become a special token.
  std::optional<int32_t> merge(MergeLearner::Pair pair) {
    const std::string merged =
        pieces_[pair.first] + pieces_[pair.second].substr(model_.prefix.size());
    const auto known = pieces_.find(merged);
    if (known && *known < std::ssize(config_.special_tokens)) return std::nullopt;
    return pieces_.add(merged);
  }

  const WordPieceTokenizerConfig& config_;
  WordPieceModel model_;
  TrainedPieces pieces_;
};

}  // namespace

WordPieceModel train_wordpiece(const WordPieceTokenizerConfig& config,
                               const std::vector<fs::path>& files) {
  return Trainer(config).run(files);
}

}  // namespace zoo
