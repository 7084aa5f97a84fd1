#include "tokenizer/char_tokenizer.h"

#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::message_of;
using testing::TempFolder;

class CharTokenizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tokenizer> train(const std::string& text) {
    write_file(folder_ / "text", text);
    return train_tokenizer(CharTokenizerConfig{}, {folder_ / "text"});
  }
  TempFolder folder_;
};

TEST_F(CharTokenizerTest, ids_follow_the_code_points) {
  const auto tokenizer = train("héllo 🦊\nZ");
  EXPECT_EQ(tokenizer->vocab_size(), 8);
  EXPECT_EQ(tokenizer->encode("\n Zhloé🦊"), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(CharTokenizerTest, text_comes_back_at_once_and_as_a_stream) {
  const auto tokenizer = train("héllo 🦊\n");
  const std::vector<int64_t> ids = tokenizer->encode("🦊 é\nhé");
  EXPECT_EQ(tokenizer->decode(ids), "🦊 é\nhé");
  std::vector<std::string> pieces;
  EXPECT_EQ(testing::stream_all(*tokenizer, ids, &pieces), "🦊 é\nhé");
  EXPECT_EQ(pieces[0], "🦊");
}

TEST_F(CharTokenizerTest, an_unknown_character_is_named_with_its_place) {
  const auto tokenizer = train("abc\n");
  expect_contains(message_of<DataError>([&] { tokenizer->encode("ab\ncé"); }),
                  {"U+00E9", "\"é\"", "offset 4 (line 2)", "none of the 4", "bpe tokenizer"});
  expect_contains(message_of<DataError>([&] { tokenizer->encode("ab\xFF"); }),
                  {"the byte 255 at offset 2 (line 1)", "not UTF-8"});
}

TEST_F(CharTokenizerTest, training_text_must_be_utf8_and_not_empty) {
  expect_contains(
      message_of<DataError>([&] { train("ok\n\xC3"); }),
      {utf8(folder_ / "text"), "the byte 195 at offset 3 (line 2)", "convert the text"});
  expect_contains(message_of<DataError>([&] { train(""); }), {"the text is empty"});
}

TEST_F(CharTokenizerTest, pieces_are_characters) {
  const auto tokenizer = train("aé");
  EXPECT_EQ(tokenizer->piece(1), "é");
  EXPECT_EQ(tokenizer->piece_id("é"), 1);
  EXPECT_EQ(tokenizer->piece_id("b"), std::nullopt);
  EXPECT_EQ(tokenizer->piece_id("aé"), std::nullopt);
  EXPECT_EQ(tokenizer->piece_id(""), std::nullopt);
  EXPECT_EQ(tokenizer->special_ids().eos, std::nullopt);
  EXPECT_FALSE(tokenizer->is_special(0));
  EXPECT_EQ(tokenizer->type(), "char");
  for (const int64_t id : {int64_t{-1}, int64_t{2}}) {
    EXPECT_THROW(tokenizer->decode(std::vector<int64_t>{id}), DataError);
    EXPECT_THROW(tokenizer->piece(id), DataError);
    EXPECT_THROW(tokenizer->is_special(id), DataError);
  }
}

TEST_F(CharTokenizerTest, a_saved_folder_opens_again) {
  const std::string text = "\"\\\b\n\t\x01 aé\u2028🦊{}";
  const auto tokenizer = train(text);
  tokenizer->save(folder_ / "saved");
  const auto again = load_tokenizer(folder_ / "saved");
  EXPECT_EQ(again->type(), "char");
  EXPECT_EQ(again->encode(text), tokenizer->encode(text));
  // The form that Hugging Face's tokenizers reads: one word for each character, joined without
  // blanks.
  const auto json = nlohmann::json::parse(read_file(folder_ / "saved/tokenizer.json"));
  EXPECT_EQ(json["model"]["type"], "WordLevel");
  EXPECT_EQ(json["model"]["vocab"]["é"], again->encode("é")[0]);
  EXPECT_EQ(json["pre_tokenizer"]["pattern"]["Regex"], "[\\s\\S]");
  EXPECT_EQ(json["decoder"]["type"], "Fuse");
}

TEST_F(CharTokenizerTest, a_vocabulary_of_words_is_refused) {
  write_file(folder_ / "tokenizer.json",
             R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "word": 1}}})");
  expect_contains(
      message_of<FormatError>([&] { load_tokenizer(folder_.path()); }),
      {"#/model/vocab", "the id 1 has the token \"word\"", "one character for each id"});
  write_file(folder_ / "tokenizer.json",
             R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 2}}})");
  expect_contains(message_of<FormatError>([&] { load_tokenizer(folder_.path()); }),
                  {"the id 1 has no token"});
}

TEST_F(CharTokenizerTest, a_text_may_be_cut_between_characters) {
  const auto tokenizer = train("aé🦊");
  EXPECT_EQ(tokenizer->safe_cut("aé"), 3u);
  EXPECT_EQ(tokenizer->safe_cut("a\xC3"), 1u);
  EXPECT_EQ(tokenizer->safe_cut("a\xF0\x9F\xA6"), 1u);
  EXPECT_EQ(tokenizer->safe_cut("\xF0"), 0u);
  EXPECT_EQ(tokenizer->safe_cut(""), 0u);
  const std::string text = "a🦊é🦊aaéaé🦊";
  for (size_t size = 4; size < 12; ++size)
    EXPECT_EQ(testing::encode_in_parts(*tokenizer, text, size), tokenizer->encode(text));
}

}  // namespace
}  // namespace zoo
