// tokenizer.json of SentencePiece's kind without a .model file
// (tests/golden/tokenizer/make_metaspace_goldens.py).

#include "core/json.h"
#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::golden;
using testing::golden_json;
using testing::message_of;
using testing::TempFolder;

class MetaspaceJson : public ::testing::TestWithParam<const char*> {};

TEST_P(MetaspaceJson, gives_the_ids_and_texts_of_hugging_face) {
  const auto tokenizer = load_tokenizer(golden(std::string("metaspace_") + GetParam()));
  EXPECT_EQ(tokenizer->type(), "sentencepiece");
  testing::expect_golden(*tokenizer, golden_json("metaspace.json")[GetParam()]);
  const SpecialIds ids = tokenizer->special_ids();
  EXPECT_EQ(ids.unk, 0);
  EXPECT_EQ(ids.bos, 1);
  EXPECT_EQ(ids.eos, 2);
}

TEST_P(MetaspaceJson, is_saved_as_a_model_that_gives_the_same) {
  const TempFolder folder;
  load_tokenizer(golden(std::string("metaspace_") + GetParam()))->save(folder.path());
  testing::expect_golden(*load_tokenizer(folder / "spm.model"),
                         golden_json("metaspace.json")[GetParam()]);
}

INSTANTIATE_TEST_SUITE_P(Goldens, MetaspaceJson, ::testing::Values("unigram", "bpe", "bpe_prepend"),
                         [](const auto& info) { return std::string(info.param); });

// The normaliser's compiled rules go through base64.
TEST(SentencePieceJson, what_we_write_is_read_as_the_same_model) {
  const TempFolder folder;
  write_file(folder / "text.txt", "one two three\nfour ﬁve Six\n");
  for (const auto kind : {SentencePieceModel::unigram, SentencePieceModel::bpe}) {
    SentencePieceTokenizerConfig config;
    config.model = kind;
    config.vocab_size = 18;
    const auto trained = train_tokenizer(config, {folder / "text.txt"});
    trained->save(folder / "saved");
    const auto read = load_tokenizer(folder / "saved/tokenizer.json");
    for (const char* text : {"one  two", "ﬁve ①", " three ", "x\ny", "§"})
      EXPECT_EQ(read->encode(text), trained->encode(text)) << text;
    EXPECT_EQ(read->special_ids().eos, trained->special_ids().eos);
    fs::remove_all(folder / "saved");
  }
}

TEST(SentencePieceJson, names_the_roles_of_its_folder) {
  const TempFolder folder;
  fs::copy_file(golden("metaspace_unigram/tokenizer.json"), folder / "tokenizer.json");
  write_file(folder / "tokenizer_config.json", R"({"eos_token": "<s>", "pad_token": "<pad>"})");
  const SpecialIds ids = load_tokenizer(folder.path())->special_ids();
  EXPECT_EQ(ids.eos, 1);
  EXPECT_EQ(ids.pad, 3);
}

TEST(SentencePieceJson, refuses_what_sentencepiece_does_not_have) {
  const TempFolder folder;
  const auto problem = [&](const std::string& name, const std::function<void(Json&)>& edit) {
    Json json = read_json_file(golden("metaspace_" + name) / "tokenizer.json");
    edit(json);
    write_json_file(folder / "tokenizer.json", json);
    return message_of<DataError>([&] { load_tokenizer(folder.path()); });
  };
  expect_contains(problem("unigram",
                          [](Json& json) {
                            json["normalizer"] = {{"type", "NFD"}};
                          }),
                  {"tokenizer.json#/normalizer", "NFD", "Precompiled", "SentencePiece's kind"});
  expect_contains(problem("unigram",
                          [](Json& json) {
                            json["pre_tokenizer"] = {{"type", "Digits"}};
                          }),
                  {"tokenizer.json#/pre_tokenizer", "Digits", "Metaspace and WhitespaceSplit"});
  expect_contains(problem("unigram", [](Json& json) { json["model"]["unk_id"] = nullptr; }),
                  {"#/model", "expected vocab, a list of [piece, score], and unk_id"});
  expect_contains(problem("bpe", [](Json& json) { json["model"]["merges"] = 3; }),
                  {"#/model/merges", "expected a list of pairs"});
  expect_contains(problem("bpe", [](Json& json) { json["model"]["unk_token"] = nullptr; }),
                  {"names no unknown token"});
}

}  // namespace
}  // namespace zoo
