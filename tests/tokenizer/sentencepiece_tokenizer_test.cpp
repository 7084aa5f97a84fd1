#include "tokenizer/sentencepiece_tokenizer.h"

#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::golden;
using testing::golden_json;
using testing::message_of;
using testing::TempFolder;

class SentencePieceTest : public ::testing::Test {
 protected:
  /// The 125 sentences of five subjects, verbs and objects.
  fs::path sentences() {
    std::string text;
    for (const char* subject : {"the baker", "a sailor", "my uncle", "the teacher", "one child"})
      for (const char* verb : {"carries", "finds", "paints", "sells", "hides"})
        for (const char* object : {"a lamp", "the bread", "two boats", "old books", "green apples"})
          text += cat(subject, ' ', verb, ' ', object, '\n');
    return file(text);
  }
  fs::path file(const std::string& text) {
    write_file(folder_ / "text", text);
    return folder_ / "text";
  }
  std::unique_ptr<Tokenizer> train(const fs::path& text, int64_t vocab_size,
                                   SentencePieceModel model = SentencePieceModel::unigram) {
    SentencePieceTokenizerConfig config;
    config.vocab_size = vocab_size;
    config.model = model;
    return train_tokenizer(config, {text});
  }
  TempFolder folder_;
};

TEST_F(SentencePieceTest, ids_and_texts_are_those_of_sentencepiece) {
  for (const std::string kind : {"unigram", "bpe"})
    testing::expect_golden(*load_tokenizer(golden("spm_" + kind + ".model")),
                           golden_json("spm_" + kind + ".json"));
}

TEST_F(SentencePieceTest, special_ids_are_the_models) {
  const SpecialIds ids = load_tokenizer(golden("spm_unigram.model"))->special_ids();
  EXPECT_EQ(ids.unk, 0);
  EXPECT_EQ(ids.bos, 1);
  EXPECT_EQ(ids.eos, 2);
  EXPECT_EQ(ids.pad, 3);
  EXPECT_EQ(load_tokenizer(golden("spm_bpe.model"))->special_ids().pad, std::nullopt);
}

TEST_F(SentencePieceTest, a_model_of_words_has_one_piece_a_word) {
  const auto all = train(file("3 17 42 17\n17  3\nHH AH0\n"), 100, SentencePieceModel::word);
  EXPECT_EQ(all->vocab_size(), 3 + 5);                            // <unk>, <s>, </s> and the words
  EXPECT_EQ(all->encode("17 3 "), (std::vector<int64_t>{3, 4}));  // the most frequent first
  EXPECT_EQ(all->decode(all->encode("42 HH AH0")), "42 HH AH0");
  // Two unknown words are two tokens.
  EXPECT_EQ(all->encode("17 x y 3"), (std::vector<int64_t>{3, 0, 0, 4}));
  const auto few = train(folder_ / "text", 5, SentencePieceModel::word);
  EXPECT_EQ(few->vocab_size(), 5);
  EXPECT_EQ(few->encode("3 42"), (std::vector<int64_t>{4, 0}));
  few->save(folder_ / "saved");
  EXPECT_EQ(load_tokenizer(folder_ / "saved")->encode("3 42"), few->encode("3 42"));
}

TEST_F(SentencePieceTest, special_tokens_are_plain_text_unless_asked_for) {
  const auto tokenizer = load_tokenizer(golden("spm_unigram.model"));
  const std::vector<int64_t> plain = tokenizer->encode("a</s>b");
  for (const int64_t id : plain) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->decode(plain), "a</s>b");
  const std::vector<int64_t> special = tokenizer->encode("a</s>b", {.special = true});
  EXPECT_EQ(std::count(special.begin(), special.end(), 2), 1);
  EXPECT_TRUE(tokenizer->is_special(2));
  EXPECT_EQ(tokenizer->decode(special), "a b");
  EXPECT_EQ(tokenizer->decode(special, {.skip_special = false}), "a</s> b");
}

TEST_F(SentencePieceTest, a_stream_joins_byte_pieces_to_characters) {
  const auto tokenizer = load_tokenizer(golden("spm_unigram.model"));
  const auto byte = [&](const char* piece) { return tokenizer->piece_id(piece).value(); };
  const std::vector<int64_t> fox = {byte("<0xF0>"), byte("<0x9F>"), byte("<0xA6>"), byte("<0x8A>")};
  std::vector<std::string> pieces;
  EXPECT_EQ(testing::stream_all(*tokenizer, fox, &pieces), "🦊");
  EXPECT_EQ(pieces, (std::vector<std::string>{"", "", "", "🦊"}));
  // Broken off: by the end, and by another piece.
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{fox[0], fox[1]}), "\uFFFD");
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{fox[0], byte("a")}), "\uFFFDa");
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{fox[0], byte("a")}, {.replace_invalid = false}),
            "\xF0"
            "a");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("🦊")), "🦊");
}

TEST_F(SentencePieceTest, a_vocabulary_that_cannot_be_filled_names_the_largest_size) {
  expect_contains(message_of<DataError>([&] { train(sentences(), 4000); }),
                  {"vocab_size 4000", "largest possible size is 43", "lower vocab_size"});
  EXPECT_EQ(train(sentences(), 43)->vocab_size(), 43);
  const std::string message =
      message_of<DataError>([&] { train(sentences(), 4000, SentencePieceModel::bpe); });
  expect_contains(message, {"vocab_size 4000", "largest possible size is 204"});
}

TEST_F(SentencePieceTest, a_vocabulary_too_small_for_the_characters_names_what_is_needed) {
  for (const auto model : {SentencePieceModel::unigram, SentencePieceModel::bpe})
    expect_contains(message_of<DataError>([&] { train(sentences(), 5, model); }),
                    {"vocab_size 5 is too small", "need 25", "raise vocab_size"});
}

TEST_F(SentencePieceTest, text_without_anything_to_learn_is_refused) {
  // The library would end the process on these.
  for (const char* text : {"", " \n\t\n", "\u3000\u200B\n", "a \u2585\n"})
    for (const auto model : {SentencePieceModel::unigram, SentencePieceModel::bpe})
      expect_contains(message_of<DataError>([&] { train(file(text), 100, model); }),
                      {"no letters, digits or signs"});
}

TEST_F(SentencePieceTest, training_is_silent_and_reproducible) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  for (const auto model : {SentencePieceModel::unigram, SentencePieceModel::bpe}) {
    train(sentences(), 40, model)->save(folder_ / "one");
    train(sentences(), 40, model)->save(folder_ / "two");
    EXPECT_EQ(read_file(folder_ / "one/spm.model"), read_file(folder_ / "two/spm.model"));
    EXPECT_THROW(train(sentences(), 4000, model), DataError);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(SentencePieceTest, text_is_normalised_and_comes_back) {
  const auto tokenizer = train(golden("corpus.txt"), 500);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("  The \n people\u3000of Rome ")),
            "The people of Rome");
  EXPECT_EQ(tokenizer->encode("ＲＯＭＥ"), tokenizer->encode("ROME"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("Rome 🐘")), "Rome  ⁇ ");
  EXPECT_EQ(tokenizer->encode(""), std::vector<int64_t>{});
}

TEST_F(SentencePieceTest, lowercase_folds_case) {
  SentencePieceTokenizerConfig config;
  config.vocab_size = 400;
  config.lowercase = true;
  const auto tokenizer = train_tokenizer(config, {golden("corpus.txt")});
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("The People OF Rome")), "the people of rome");
}

TEST_F(SentencePieceTest, lines_of_any_length_are_learnt_from) {
  // Longer than the library's own limit of 4,192 bytes for a sentence.
  std::string line;
  for (int i = 0; i < 3000; ++i) line += i % 2 == 0 ? "left " : "right ";
  const auto tokenizer = train(file(line), 12);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("right left")), "right left");
  // Without a line end at the file's end, and with two files.
  write_file(folder_ / "other", "zebra\r\nzoo");
  SentencePieceTokenizerConfig config;
  config.vocab_size = 22;
  config.model = SentencePieceModel::bpe;
  const auto both = train_tokenizer(config, {file(line), folder_ / "other"});
  EXPECT_EQ(both->decode(both->encode("zoo left")), "zoo left");
}

TEST_F(SentencePieceTest, parts_cut_at_safe_places_give_the_same_ids) {
  const std::string text = read_file(golden("corpus.txt"));
  for (const auto model : {SentencePieceModel::unigram, SentencePieceModel::bpe}) {
    const auto tokenizer = train(golden("corpus.txt"), 500, model);
    const std::vector<int64_t> ids = tokenizer->encode(text);
    for (const size_t size : {200, 997, 10000})
      EXPECT_EQ(testing::encode_in_parts(*tokenizer, text, size), ids);
  }
  // Line ends are characters like others where nothing is normalised.
  const auto identity = load_tokenizer(golden("spm_unigram.model"));
  EXPECT_EQ(identity->safe_cut("one two\nthree"), 3u);
  EXPECT_EQ(identity->safe_cut("one\ntwo"), 0u);
}

TEST_F(SentencePieceTest, a_saved_folder_opens_again) {
  for (const auto model : {SentencePieceModel::unigram, SentencePieceModel::bpe}) {
    const auto tokenizer = train(golden("corpus.txt"), 500, model);
    tokenizer->save(folder_ / "saved");
    const std::string text = read_file(golden("corpus.txt"));
    for (const char* form : {"saved", "saved/spm.model"}) {
      const auto again = load_tokenizer(folder_ / form);
      EXPECT_EQ(again->type(), "sentencepiece");
      EXPECT_EQ(again->encode(text), tokenizer->encode(text));
    }
    const auto json = nlohmann::json::parse(read_file(folder_ / "saved/tokenizer.json"));
    const bool unigram = model == SentencePieceModel::unigram;
    EXPECT_EQ(json["model"]["type"], unigram ? "Unigram" : "BPE");
    EXPECT_EQ(json["model"]["vocab"].size(), 500u);
    if (!unigram) {
      EXPECT_GT(json["model"]["merges"].size(), 300u);
    }
    const auto config = nlohmann::json::parse(read_file(folder_ / "saved/tokenizer_config.json"));
    EXPECT_EQ(config["eos_token"], "</s>");
    EXPECT_EQ(config["pad_token"], nullptr);
  }
}

TEST_F(SentencePieceTest, pieces_are_named_as_in_the_model) {
  const auto tokenizer = load_tokenizer(golden("spm_bpe.model"));
  EXPECT_EQ(tokenizer->vocab_size(), 600);
  for (int64_t id = 0; id < 600; ++id) EXPECT_EQ(tokenizer->piece_id(tokenizer->piece(id)), id);
  EXPECT_EQ(tokenizer->piece(1), "<s>");
  EXPECT_EQ(tokenizer->piece_id("no such piece"), std::nullopt);
  EXPECT_EQ(tokenizer->type(), "sentencepiece");
  for (const int64_t id : {int64_t{-1}, int64_t{600}}) {
    EXPECT_THROW(tokenizer->piece(id), DataError);
    EXPECT_THROW(tokenizer->is_special(id), DataError);
    expect_contains(message_of<DataError>([&] { tokenizer->decode(std::vector<int64_t>{id}); }),
                    {"ids are 0 to 599"});
  }
}

TEST_F(SentencePieceTest, a_file_that_is_no_model_is_refused) {
  const std::string model = read_file(golden("spm_bpe.model"));
  ::testing::internal::CaptureStderr();
  for (const std::string& bytes : {std::string(), std::string("plain text"), std::string(100, '\0'),
                                   std::string(50, '\xFF'), model.substr(0, 1000), "x" + model}) {
    write_file(folder_ / "bad.model", bytes);
    expect_contains(message_of<FormatError>([&] { load_tokenizer(folder_ / "bad.model"); }),
                    {utf8(folder_ / "bad.model"), "SentencePiece model"});
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace zoo
