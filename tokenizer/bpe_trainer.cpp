#include "tokenizer/bpe_trainer.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/trained_pieces.h"
#include "tokenizer/word_split.h"

namespace zoo {

namespace {

class Trainer {
 public:
  explicit Trainer(const BpeTokenizerConfig& config) : config_(config) {}

  BpeModel run(const std::vector<fs::path>& files) {
    add_special_tokens();
    std::vector<std::string> alphabet(byte_alphabet().begin(), byte_alphabet().end());
    // Hugging Face orders the alphabet by code point, which is the order of its UTF-8.
    std::sort(alphabet.begin(), alphabet.end());
    for (const std::string& character : alphabet) pieces_.add(character);
    pieces_.fill(config_.vocab_size, config_.min_frequency, rows_of(files),
                 [&](MergeLearner::Pair pair) { return merge(pair); });
    model_.pieces = pieces_.take();
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
      model_.added.push_back({.content = token, .id = pieces_.add(token)});
    }
    const auto least = static_cast<int64_t>(256 + config_.special_tokens.size());
    if (config_.vocab_size < least)
      throw ConfigError(cat("tokenizer/vocab_size: found ", config_.vocab_size, "; at least ",
                            least, " is needed: 256 bytes and ", config_.special_tokens.size(),
                            " special tokens"));
    model_.roles = conventional_roles([&](std::string_view name) { return pieces_.find(name); });
  }

  std::vector<MergeLearner::Word> rows_of(const std::vector<fs::path>& files) const {
    std::vector<MergeLearner::Word> rows;
    for (const auto& [text, count] : count_words(files, [](std::string_view part, const auto&use) {
           for_each_word(WordSplit::gpt2, part, use);
         })) {
      MergeLearner::Word word{{}, count};
      word.symbols.reserve(text.size());
      for (const char c : text)
        word.symbols.push_back(pieces_.id_of(byte_alphabet()[static_cast<unsigned char>(c)]));
      rows.push_back(std::move(word));
    }
    return rows;
  }

  /// The token that replaces two; none if text would become a special token.
  std::optional<int32_t> merge(MergeLearner::Pair pair) {
    const std::string merged = pieces_[pair.first] + pieces_[pair.second];
    const auto known = pieces_.find(merged);
    if (known && *known < std::ssize(config_.special_tokens)) return std::nullopt;
    const int32_t result = pieces_.add(merged);
    model_.merges.push_back({pair.first, pair.second, result});
    return result;
  }

  const BpeTokenizerConfig& config_;
  BpeModel model_;
  TrainedPieces pieces_;
};

}  // namespace

BpeModel train_bpe(const BpeTokenizerConfig& config, const std::vector<fs::path>& files) {
  return Trainer(config).run(files);
}

}  // namespace zoo
