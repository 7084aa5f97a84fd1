// transformer-cli train-tokenizer: a vocabulary from text files.

#include "cli/command.h"
#include "cli/project.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "tokenizer/tokenizer.h"

namespace zoo::cli {
namespace {

struct TrainTokenizer {
  std::string type, output;
  std::optional<int64_t> vocab_size;
  std::vector<std::string> inputs, special;
  std::optional<double> character_coverage;
  bool lowercase = false, keep_accents = false, overwrite = false;

  void declare(Flags& flags) {
    flags.describe(
        "Trains a tokenizer on UTF-8 text files and writes it in the files that Hugging Face's "
        "libraries\n"
        "and this program read. The vocabulary size counts tokens, special ones and bytes "
        "included.");
    flags.example(
        "byte-level BPE, GPT-2's kind",
        "transformer-cli train-tokenizer --type bpe --vocab-size 300 -i README.md -o my-bpe");
    flags.choice("--type", type,
                 {"char", "bpe", "wordpiece", "unigram", "sentencepiece-bpe", "word"},
                 "char: one token a character; bpe: byte-level; wordpiece: BERT's; unigram, "
                 "sentencepiece-bpe, word: SentencePiece's");
    flags.number("--vocab-size", vocab_size, at_least(4),
                 "tokens to train; default: 8000; word: at most so many; char: those of the text");
    flags.texts("-i,--input", inputs, "FILE", "text to train on; repeatable");
    flags.text("-o,--output", output, "DIR", "folder to write");
    flags.flag("--overwrite", overwrite, "replace a folder that is not empty");
    flags.texts(
        "--special", special, "TOKEN",
        "bpe, wordpiece: a special token; repeatable; default: <|endoftext|>, or [PAD] [UNK] "
        "[CLS] [SEP] [MASK]");
    flags.flag("--lowercase", lowercase,
               "SentencePiece and wordpiece: fold case before training and encoding");
    flags.flag("--keep-accents", keep_accents, "wordpiece with --lowercase: accents stay");
    flags.number("--character-coverage", character_coverage, between(.5, 1),
                 "SentencePiece: share of the text's characters that get a piece; default: 1");
  }

  int run(const GlobalOptions& globals) {
    if (type.empty())
      throw ConfigError(
          "train-tokenizer: no --type is given; allowed: char, bpe, wordpiece, unigram, "
          "sentencepiece-bpe, word");
    if (inputs.empty())
      throw ConfigError("train-tokenizer: no text is given; name files with -i FILE");
    if (output.empty())
      throw ConfigError("train-tokenizer: no output folder is given; name one with -o DIR");
    const TokenizerConfig tokenizer_config = config();
    const fs::path folder = output_folder(output, overwrite);
    require_writable_folder(folder);

    std::vector<fs::path> files;
    for (const std::string& path : inputs) files.push_back(utf8_path(path));
    const auto tokenizer = train_tokenizer(tokenizer_config, files);
    write_folder(folder, [&](const fs::path& fresh) { tokenizer->save(fresh); });
    if (globals.json)
      out() << Json{{"type", tokenizer->type()},
                    {"vocab_size", tokenizer->vocab_size()},
                    {"path", output}}
                   .dump()
            << '\n';
    else
      out() << tokenizer->type() << " tokenizer with " << with_thousands(tokenizer->vocab_size())
            << " tokens in " << output << '\n';
    return kDone;
  }

 private:
  TokenizerConfig config() const {
    const bool is_bpe = type == "bpe", is_wordpiece = type == "wordpiece",
               is_piece = type == "unigram" || type == "sentencepiece-bpe" || type == "word";
    const auto only_for = [&](bool given, bool fits, const char* flag, const char* types) {
      if (given && !fits)
        throw ConfigError(
            cat(flag, ": has no meaning with --type ", type, "; it belongs to ", types));
    };
    only_for(vocab_size.has_value(), type != "char", "--vocab-size", "all others");
    only_for(!special.empty(), is_bpe || is_wordpiece, "--special", "bpe and wordpiece");
    only_for(lowercase, is_piece || is_wordpiece, "--lowercase",
             "wordpiece, unigram, sentencepiece-bpe and word");
    only_for(keep_accents, is_wordpiece && lowercase, "--keep-accents",
             "wordpiece with --lowercase");
    only_for(character_coverage.has_value(), is_piece, "--character-coverage",
             "unigram, sentencepiece-bpe and word");
    if (is_bpe) {
      BpeTokenizerConfig bpe;
      bpe.vocab_size = vocab_size.value_or(bpe.vocab_size);
      if (!special.empty()) bpe.special_tokens = special;
      if (const int64_t least = 256 + std::ssize(bpe.special_tokens); bpe.vocab_size < least)
        throw ConfigError(cat("--vocab-size: ", bpe.vocab_size, " is refused; allowed: at least ",
                              least, ", the 256 bytes and the special tokens"));
      return bpe;
    }
    if (is_wordpiece) {
      WordPieceTokenizerConfig wordpiece;
      wordpiece.vocab_size = vocab_size.value_or(wordpiece.vocab_size);
      if (!special.empty()) wordpiece.special_tokens = special;
      wordpiece.lowercase = lowercase;
      wordpiece.keep_accents = keep_accents;
      return wordpiece;
    }
    if (is_piece) {
      SentencePieceTokenizerConfig piece;
      piece.model = type == "unigram" ? SentencePieceModel::unigram
                    : type == "word"  ? SentencePieceModel::word
                                      : SentencePieceModel::bpe;
      piece.vocab_size = vocab_size.value_or(piece.vocab_size);
      piece.character_coverage = character_coverage.value_or(piece.character_coverage);
      piece.lowercase = lowercase;
      return piece;
    }
    return CharTokenizerConfig{};
  }
};

}  // namespace

Command train_tokenizer_command() {
  return make_command<TrainTokenizer>("train-tokenizer", "Make a vocabulary from text files");
}

}  // namespace zoo::cli
