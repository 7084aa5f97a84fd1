#pragma once
// The config's section `tokenizer`.

#include <string>
#include <variant>
#include <vector>

#include "core/fields.h"

namespace zoo {

struct CharTokenizerConfig {
  static constexpr std::string_view kType = "char";
  static constexpr std::string_view kAbout = "One token per Unicode character of the training text";
  std::string file;
  void fields(auto&& visit) {
    visit("file", file, "a trained tokenizer's folder or file; empty: train on the task's text");
  }
};

struct BpeTokenizerConfig {
  static constexpr std::string_view kType = "bpe";
  static constexpr std::string_view kAbout =
      "Byte-level BPE (Radford et al. 2019, section 2.2): GPT-2's scheme";
  std::string file;
  int64_t vocab_size = 8000;
  int64_t min_frequency = 2;
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
  void fields(auto&& visit) {
    visit("file", file, "a trained tokenizer's folder or file; empty: train on the task's text");
    visit("vocab_size", vocab_size, at_least(257),
          "tokens to train: 256 bytes, merges and special tokens");
    visit("min_frequency", min_frequency, at_least(1),
          "how often a pair of tokens must occur to be merged");
    visit("special_tokens", special_tokens,
          "tokens that training adds and text never produces by default");
  }
};

struct WordPieceTokenizerConfig {
  static constexpr std::string_view kType = "wordpiece";
  static constexpr std::string_view kAbout =
      "WordPiece (Wu et al. 2016, section 4.1) on words as BERT reads them (Devlin et al. 2019)";
  std::string file;
  int64_t vocab_size = 8000;
  int64_t min_frequency = 2;
  bool lowercase = true;
  bool keep_accents = false;
  std::vector<std::string> special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  void fields(auto&& visit) {
    visit(
        "file", file,
        "a trained tokenizer's folder or file, such as vocab.txt; empty: train on the task's text");
    visit("vocab_size", vocab_size, at_least(6),
          "pieces to train: special tokens, characters and merges");
    visit("min_frequency", min_frequency, at_least(1),
          "how often a pair of pieces must occur to be merged");
    visit("lowercase", lowercase, "text is read in lower case");
    visit("keep_accents", keep_accents, "with lowercase: accents stay");
    visit("special_tokens", special_tokens,
          "tokens that training adds and text never produces by default; [UNK] is needed");
  }
};

enum class SentencePieceModel { unigram, bpe, word };
template <>
struct EnumNames<SentencePieceModel> {
  static constexpr std::array values{std::pair{SentencePieceModel::unigram, "unigram"},
                                     std::pair{SentencePieceModel::bpe, "bpe"},
                                     std::pair{SentencePieceModel::word, "word"}};
};

struct SentencePieceTokenizerConfig {
  static constexpr std::string_view kType = "sentencepiece";
  static constexpr std::string_view kAbout = "SentencePiece (Kudo & Richardson 2018)";
  std::string file;
  SentencePieceModel model = SentencePieceModel::unigram;
  int64_t vocab_size = 8000;
  double character_coverage = 1.0;
  bool lowercase = false;
  void fields(auto&& visit) {
    visit("file", file, "a trained .model file or its folder; empty: train on the task's text");
    visit(
        "model", model,
        "the segmentation algorithm to train; word: what stands between blanks, each word that is "
        "not among the vocab_size most frequent is <unk>");
    visit("vocab_size", vocab_size, at_least(4),
          "pieces to train, with the special ones; word: at most so many");
    visit("character_coverage", character_coverage, between(0.5, 1),
          "share of the text's characters that get a piece");
    visit("lowercase", lowercase, "fold case before training and encoding (nmt_nfkc_cf)");
  }
};

/// One tokenizer.
using TokenizerConfig = std::variant<CharTokenizerConfig, BpeTokenizerConfig,
                                     WordPieceTokenizerConfig, SentencePieceTokenizerConfig>;

struct SeparateTokenizersConfig {
  static constexpr std::string_view kType = "separate";
  static constexpr std::string_view kAbout =
      "One tokenizer for the sources and another for the targets of a translation";
  TokenizerConfig source = SentencePieceTokenizerConfig{}, target = SentencePieceTokenizerConfig{};
  void fields(auto&& visit) {
    visit("source", source, "the sources' tokenizer, trained on them alone");
    visit("target", target, "the targets' tokenizer, trained on them alone");
  }
};

struct NoTokenizerConfig {
  static constexpr std::string_view kType = "none";
  static constexpr std::string_view kAbout = "For models that read no text: pictures";
  void fields(auto&&) {}
};

/// The section `tokenizer`: one tokenizer, joint for both sides of a translation, two, or none.
using TokenizersConfig =
    std::variant<CharTokenizerConfig, BpeTokenizerConfig, WordPieceTokenizerConfig,
                 SentencePieceTokenizerConfig, SeparateTokenizersConfig, NoTokenizerConfig>;

}  // namespace zoo
