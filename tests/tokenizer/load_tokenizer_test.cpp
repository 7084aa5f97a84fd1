#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::golden;
using testing::message_of;
using testing::TempFolder;

TEST(LoadTokenizer, the_names_of_openai_and_of_other_models_are_known) {
  const TempFolder folder;
  fs::create_directory(folder / "openai");
  fs::copy_file(golden("bpe/vocab.json"), folder / "openai/encoder.json");
  fs::copy_file(golden("bpe/merges.txt"), folder / "openai/vocab.bpe");
  const auto expected = load_tokenizer(golden("bpe"))->encode("hello world");
  for (const char* form : {"openai", "openai/encoder.json", "openai/vocab.bpe"})
    EXPECT_EQ(load_tokenizer(folder / form)->encode("hello world"), expected) << form;
  for (const char* name : {"tokenizer.model", "spiece.model", "other.model"}) {
    const fs::path place = folder / (std::string("of-") + name);
    fs::create_directory(place);
    fs::copy_file(golden("spm_bpe.model"), place / name);
    EXPECT_EQ(load_tokenizer(place)->type(), "sentencepiece") << name;
  }
}

TEST(LoadTokenizer, what_was_looked_for_is_named) {
  const TempFolder folder;
  expect_contains(message_of<DataError>([&] { load_tokenizer(folder.path()); }),
                  {utf8(folder.path()), "no tokenizer in this folder", "tokenizer.json",
                   "vocab.json with merges.txt", "*.model"});
  expect_contains(message_of<DataError>([&] { load_tokenizer(folder / "nothing"); }),
                  {"nothing", "no such file or folder"});
  write_file(folder / "vocab.json", "{}");
  expect_contains(message_of<DataError>([&] { load_tokenizer(folder / "vocab.json"); }),
                  {"vocab.json", "merges.txt is missing beside it"});
}

TEST(LoadTokenizer, a_tokenizer_json_of_another_model_is_refused) {
  const TempFolder folder;
  const auto refuse = [&](const char* json) {
    write_file(folder / "tokenizer.json", json);
    return message_of<DataError>([&] { load_tokenizer(folder.path()); });
  };
  expect_contains(
      refuse(R"({"model": {"type": "Trie"}})"),
      {"tokenizer.json#/model/type", "found \"Trie\"", "BPE", "Unigram", "WordPiece", "WordLevel"});
  expect_contains(refuse("[]"), {"no tokenizer model"});
  expect_contains(refuse("{"), {"not valid JSON"});
}

TEST(TrainTokenizer, a_file_in_the_config_is_opened) {
  BpeTokenizerConfig config;
  config.file = utf8(golden("bpe"));
  EXPECT_EQ(train_tokenizer(config, {})->vocab_size(), 700);
  SentencePieceTokenizerConfig other;
  other.file = config.file;
  expect_contains(message_of<ConfigError>([&] { train_tokenizer(other, {}); }),
                  {"tokenizer/file", "type \"bpe\"", "\"sentencepiece\""});
  expect_contains(message_of<ConfigError>([&] { train_tokenizer(CharTokenizerConfig{}, {}); }),
                  {"no text to train on"});
}

}  // namespace
}  // namespace zoo
