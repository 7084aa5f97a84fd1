// Marian's tokenizers (tests/golden/checkpoint/make_marian_goldens.py).

#include "tokenizer/marian_tokenizer.h"

#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::message_of;
using testing::TempFolder;

fs::path folder_of(const std::string& name) {
  return fs::path(ZOO_SOURCE_DIR) / "tests/golden/checkpoint" / name;
}

void expect_golden_sides(const fs::path& folder, const fs::path& golden_folder) {
  const auto json = nlohmann::json::parse(read_file(golden_folder / "expected.json"));
  const auto source = load_tokenizer(source_tokenizer_in(folder)), target = load_tokenizer(folder);
  for (const auto& [side, tokenizer] : {std::pair{"source", &source}, {"target", &target}})
    for (const auto& example : json[side]) {
      const auto text = example["text"].get<std::string>();
      EXPECT_EQ(encode_sentence(**tokenizer, text), example["ids"].get<std::vector<int64_t>>())
          << side << ": " << text;
    }
  for (const auto& example : json["decode"]) {
    const auto ids = example["ids"].get<std::vector<int64_t>>();
    EXPECT_EQ(target->decode(ids), example["text"].get<std::string>()) << example;
    EXPECT_EQ(testing::stream_all(*target, ids), example["text"].get<std::string>()) << example;
    EXPECT_EQ(target->decode(ids, {.skip_special = false}),
              example["with_special"].get<std::string>())
        << example;
  }
}

class MarianFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(MarianFiles, give_the_ids_and_texts_of_hugging_face) {
  expect_golden_sides(folder_of(GetParam()), folder_of(GetParam()));
}

TEST_P(MarianFiles, are_written_and_read_again) {
  const TempFolder folder;
  const fs::path golden = folder_of(GetParam());
  save_tokenizers(folder.path(), *load_tokenizer(golden),
                  load_tokenizer(source_tokenizer_in(golden)).get());
  expect_golden_sides(folder.path(), golden);
}

INSTANTIATE_TEST_SUITE_P(Goldens, MarianFiles,
                         ::testing::Values("marian_shared", "marian_separate"),
                         [](const auto& info) { return std::string(info.param); });

TEST(MarianTokenizer, has_its_roles) {
  const auto tokenizer = load_tokenizer(folder_of("marian_shared"));
  const SpecialIds ids = tokenizer->special_ids();
  EXPECT_EQ(ids.eos, 0);
  EXPECT_EQ(ids.unk, 1);
  EXPECT_EQ(ids.pad, tokenizer->vocab_size() - 1);
  EXPECT_EQ(ids.bos, std::nullopt);
  EXPECT_EQ(ids.decoder_start(), ids.pad) << "Marian's decoders begin with the padding token";
  EXPECT_TRUE(tokenizer->is_special(*ids.pad));
  EXPECT_EQ(tokenizer->piece(2), ">>deu<<");
  EXPECT_EQ(tokenizer->piece_id(">>deu<<"), 2);
}

TEST(MarianTokenizer, reads_special_tokens_only_if_asked) {
  const auto tokenizer = load_tokenizer(folder_of("marian_shared"));
  EXPECT_EQ(tokenizer->encode("</s>", {.special = true}), std::vector<int64_t>{0});
  const auto plain = tokenizer->encode("</s>");
  EXPECT_EQ(std::count(plain.begin(), plain.end(), 0), 0);
}

TEST(MarianTokenizer, text_is_cut_where_its_parts_give_the_same) {
  const auto tokenizer = load_tokenizer(source_tokenizer_in(folder_of("marian_shared")));
  const std::string text = ">>deu<< the old baker finds books";
  EXPECT_EQ(testing::encode_in_parts(*tokenizer, text, 16), tokenizer->encode(text));
}

TEST(MarianTokenizer, sentencepiece_tokenizers_become_marians) {
  const TempFolder folder;
  write_file(folder / "text.txt", "one two three\nfour five six\n");
  SentencePieceTokenizerConfig config;
  config.vocab_size = 18;
  const std::shared_ptr<const Tokenizer> joint = train_tokenizer(config, {folder / "text.txt"});
  fs::create_directory(folder / "joint");
  ASSERT_TRUE(save_as_marian(folder / "joint", joint, joint));
  const auto read = load_tokenizer(folder / "joint");
  for (const char* text : {"one two", "six§ five", ""})
    EXPECT_EQ(read->encode(text), joint->encode(text)) << text;
  EXPECT_EQ(read->special_ids().eos, joint->special_ids().eos);
  EXPECT_FALSE(fs::exists(folder / "joint/target_vocab.json"));

  const std::shared_ptr<const Tokenizer> other = train_tokenizer(config, {folder / "text.txt"});
  fs::create_directory(folder / "two");
  ASSERT_TRUE(save_as_marian(folder / "two", joint, other));
  EXPECT_TRUE(fs::exists(folder / "two/target_vocab.json"));
  const std::shared_ptr<const Tokenizer> letters =
      train_tokenizer(CharTokenizerConfig{}, {folder / "text.txt"});
  EXPECT_FALSE(save_as_marian(folder / "two", joint, letters));
}

TEST(MarianTokenizer, a_vocabulary_without_its_tokens_is_refused) {
  const TempFolder folder;
  fs::copy(folder_of("marian_shared"), folder / "m", fs::copy_options::recursive);
  fs::remove(folder / "m/tokenizer_config.json");
  write_file(folder / "m/vocab.json", R"({"<unk>": 0, "a": 1})");
  expect_contains(message_of<FormatError>([&] { load_tokenizer(folder / "m"); }),
                  {"vocab.json", "has no \"</s>\""});
}

}  // namespace
}  // namespace zoo
