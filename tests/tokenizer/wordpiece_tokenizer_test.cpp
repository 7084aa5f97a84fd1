// WordPiece against Hugging Face's tokenizers (tests/golden/tokenizer/generate.py).

#include "tokenizer/wordpiece_tokenizer.h"

#include <gtest/gtest.h>

#include "core/text.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"
#include "tokenizer/wordpiece_trainer.h"

namespace zoo {
namespace {

using testing::golden;
using testing::message_of;
using testing::TempFolder;
using Ids = std::vector<int64_t>;

WordPieceTokenizer with_text(const BertTextOptions& options) {
  WordPieceModel model = read_vocab_txt(golden("wordpiece/vocab.txt"));
  model.text = options;
  return WordPieceTokenizer(model);
}

/// The pieces of a text, joined by blanks.
std::string pieces_of(const WordPieceTokenizer& tokenizer, const std::string& text) {
  std::vector<std::string> pieces;
  for (const int64_t id : tokenizer.encode(text)) pieces.push_back(tokenizer.piece(id));
  return join(pieces, " ");
}

/// A tokenizer of these pieces, which stand between blanks.
WordPieceTokenizer of_pieces(const std::string& pieces, const BertTextOptions& options = {}) {
  const TempFolder folder;
  std::string lines = "[UNK]\n[MASK]\n";
  for (const char c : pieces) lines += c == ' ' ? '\n' : c;
  write_file(folder / "vocab.txt", lines + "\n");
  WordPieceModel model = read_vocab_txt(folder / "vocab.txt");
  model.text = options;
  return WordPieceTokenizer(model);
}

class WordPieceGolden : public ::testing::TestWithParam<std::pair<const char*, BertTextOptions>> {};

TEST_P(WordPieceGolden, IdsAndTextsEqualHuggingFaces) {
  const WordPieceTokenizer tokenizer = with_text(GetParam().second);
  const nlohmann::json cases = testing::golden_json("wordpiece.json")[GetParam().first];
  testing::expect_golden(tokenizer, cases);
  for (const auto& example : cases["encode"]) {
    const auto text = example["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text, {.special = true}), example["special_ids"].get<Ids>()) << text;
    for (const size_t size : {1, 3, 20}) {
      const auto cut = tokenizer.safe_cut(std::string_view(text).substr(0, size));
      Ids parts = tokenizer.encode(text.substr(0, cut));
      const Ids rest = tokenizer.encode(text.substr(cut));
      parts.insert(parts.end(), rest.begin(), rest.end());
      EXPECT_EQ(parts, example["ids"].get<Ids>()) << text << " cut at " << cut;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Readings, WordPieceGolden,
    ::testing::Values(std::pair("uncased", BertTextOptions{}),
                      std::pair("cased",
                                BertTextOptions{.lowercase = false, .strip_accents = false}),
                      std::pair("accents", BertTextOptions{.strip_accents = false})),
    [](const auto& info) { return std::string(info.param.first); });

TEST(WordPiece, AccentsGoWithTheCapitalsOnly) {  // TOK-5
  const auto read = [](const BertTextOptions& options, std::string_view text) {
    std::vector<std::string> words;
    for_each_bert_word(text, options, [&](std::string_view word) { words.emplace_back(word); });
    return join(words, " ");
  };
  const std::string text = "Crème Brûlée À Ñandú";
  EXPECT_EQ(read({}, text), "creme brulee a nandu");
  EXPECT_EQ(read({.lowercase = false, .strip_accents = false}, text), text);
  EXPECT_EQ(read({.strip_accents = false}, text), "crème brûlée à ñandú");
  EXPECT_EQ(read({}, std::string_view("a\x01\u200bb\0c\ufffdd\te\nf\xFFg", 18)), "abcd e fg");
}

TEST(WordPiece, CutsWordsAtTheLongestPieces) {  // TOK-7
  const WordPieceTokenizer tokenizer =
      of_pieces("un ##aff ##able cafe play ##ing ##ed hel ##lo ! , 中 文 test");
  EXPECT_EQ(pieces_of(tokenizer, "unaffable hello!"), "un ##aff ##able hel ##lo !");
  EXPECT_EQ(pieces_of(tokenizer, "helloo"), "[UNK]");
  EXPECT_EQ(pieces_of(tokenizer, "中文test"), "中 文 test");
  EXPECT_EQ(pieces_of(tokenizer, "中国test"), "中 [UNK] test");
  EXPECT_EQ(pieces_of(tokenizer, "Café playing"), "cafe play ##ing");
  EXPECT_EQ(pieces_of(tokenizer, "play,ed"), "play , [UNK]");
}

TEST(WordPiece, SpecialTokensArePlainTextUnlessAskedFor) {  // TOK-8
  const WordPieceTokenizer tokenizer = of_pieces("a b mask [ ] pad");
  EXPECT_EQ(pieces_of(tokenizer, "a [MASK] b"), "a [ mask ] b");
  const Ids ids = tokenizer.encode("a [MASK] b", {.special = true});
  EXPECT_EQ(ids, (Ids{2, 1, 3}));
  EXPECT_EQ(tokenizer.special_ids().mask, 1);
  EXPECT_TRUE(tokenizer.is_special(1));
  EXPECT_EQ(tokenizer.decode(ids), "a b");
  EXPECT_EQ(tokenizer.decode(ids, {.skip_special = false}), "a [MASK] b");
}

TEST(WordPiece, FilesAreReadAndWritten) {
  const auto from_vocab = load_tokenizer(golden("wordpiece/vocab.txt"));
  const auto from_json = load_tokenizer(golden("wordpiece/tokenizer.json"));
  const TempFolder folder;
  from_vocab->save(folder.path());
  const auto again = load_tokenizer(folder.path());
  EXPECT_EQ(again->type(), "wordpiece");
  for (const char* text : {"Speak, Coriolanus!", "café 中文"}) {
    EXPECT_EQ(from_vocab->encode(text), from_json->encode(text));
    EXPECT_EQ(from_vocab->encode(text), again->encode(text));
  }
  EXPECT_EQ(again->special_ids().cls, 2);
  EXPECT_EQ(again->special_ids().sep, 3);
  EXPECT_EQ(again->special_ids().pad, 0);
  EXPECT_EQ(again->special_ids().eos, std::nullopt);
  // How text is read is kept.
  with_text({.lowercase = false, .strip_accents = false}).save(folder.path());
  fs::remove(folder / "tokenizer.json");
  const auto cased = load_tokenizer(folder.path());
  EXPECT_FALSE(static_cast<const WordPieceTokenizer&>(*cased).model().text.lowercase);
}

TEST(WordPiece, RefusesFilesThatAreNone) {
  const TempFolder folder;
  const auto problem_of = [&](const std::string& text) {
    write_file(folder / "vocab.txt", text);
    return message_of<FormatError>([&] { load_tokenizer(folder / "vocab.txt"); });
  };
  EXPECT_NE(problem_of("").find("is empty"), std::string::npos);
  EXPECT_NE(problem_of("a\nb\n").find("no unknown token"), std::string::npos);
  EXPECT_NE(problem_of("[UNK]\na\na\n").find(":3: \"a\" stands in line 2 already"),
            std::string::npos);
}

TEST(WordPieceTrainer, LearnsWhatHuggingFaceLearns) {
  // Its ids vary from run to run, the pieces hardly: only pairs that are equally frequent may
  // differ.
  WordPieceTokenizerConfig config;
  config.vocab_size = 600;
  const TempFolder folder;
  write_file(folder / "text.txt", read_file(golden("corpus.txt")) + "\ncafé naïve Größe\n");
  const WordPieceModel model = train_wordpiece(config, {folder / "text.txt"});
  ASSERT_EQ(model.pieces.size(), 600U);
  EXPECT_EQ(std::vector(model.pieces.begin(), model.pieces.begin() + 5), config.special_tokens);
  const WordPieceModel theirs = read_vocab_txt(golden("wordpiece/vocab.txt"));
  int64_t shared = 0;
  for (const std::string& piece : model.pieces)
    shared += std::count(theirs.pieces.begin(), theirs.pieces.end(), piece);
  EXPECT_GE(shared, 590);
}

TEST(WordPieceTrainer, SaysWhichSizesArePossible) {  // TOK-10
  const TempFolder folder;
  write_file(folder / "text.txt", "aa ab aa ab\n");
  WordPieceTokenizerConfig config;
  const auto problem = [&](int64_t vocab_size) {
    config.vocab_size = vocab_size;
    return message_of<DataError>([&] { train_wordpiece(config, {folder / "text.txt"}); });
  };
  // [PAD] [UNK] [CLS] [SEP] [MASK], a b, ##a ##b, then aa ab.
  EXPECT_NE(problem(8).find("at least 9 is needed"), std::string::npos);
  EXPECT_NE(problem(12).find("the largest possible size is 11"), std::string::npos);
  config.vocab_size = 11;
  const WordPieceModel model = train_wordpiece(config, {folder / "text.txt"});
  EXPECT_EQ(model.pieces[5], "a");
  EXPECT_EQ(model.pieces[8], "##b");
  EXPECT_EQ(model.pieces[9], "aa");
  EXPECT_EQ(model.pieces[10], "ab");
  config.special_tokens = {"[PAD]"};
  EXPECT_NE(message_of<ConfigError>([&] {
              train_wordpiece(config, {folder / "text.txt"});
            }).find("[UNK] is missing"),
            std::string::npos);
}

}  // namespace
}  // namespace zoo
