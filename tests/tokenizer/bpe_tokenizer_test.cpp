#include "tokenizer/bpe_tokenizer.h"

#include <thread>

#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/byte_alphabet.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::golden;
using testing::golden_json;
using testing::message_of;
using testing::TempFolder;

/// The 256 bytes and the config's special tokens, no merges.
std::unique_ptr<Tokenizer> bytes_only(const TempFolder& folder) {
  write_file(folder / "text", "a");
  BpeTokenizerConfig config;
  config.vocab_size = 257;
  return train_tokenizer(config, {folder / "text"});
}

/// A vocabulary of "a", "b", " " and what `more` adds, in the form of a tokenizer.json.
nlohmann::json small_json() {
  return nlohmann::json::parse(R"({
    "added_tokens": [{"id": 5, "content": "<end>", "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4},
              "merges": ["a b", "Ġ ab"]}})");
}

std::unique_ptr<BpeTokenizer> open_json(const nlohmann::json& json) {
  return std::make_unique<BpeTokenizer>(bpe_model_from_json(json, "some/tokenizer.json"));
}

TEST(BpeTokenizer, ids_and_texts_are_those_of_hugging_face) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  const nlohmann::json json = golden_json("bpe.json");
  testing::expect_golden(*tokenizer, json);
  for (const auto& example : json["encode"]) {
    const auto text = example["text"].get<std::string>();
    EXPECT_EQ(tokenizer->encode(text, {.special = true}),
              example["special_ids"].get<std::vector<int64_t>>())
        << text;
  }
}

TEST(BpeTokenizer, vocab_json_and_merges_txt_are_the_same_tokenizer_as_tokenizer_json) {
  const BpeTokenizer from_files(
      read_gpt2_files(golden("bpe/vocab.json"), golden("bpe/merges.txt")));
  for (const auto& example : golden_json("bpe.json")["encode"])
    EXPECT_EQ(from_files.encode(example["text"].get<std::string>()),
              example["ids"].get<std::vector<int64_t>>());
  EXPECT_EQ(from_files.special_ids().eos, 0);
  EXPECT_EQ(from_files.special_ids().pad, 1);
  EXPECT_TRUE(from_files.is_special(0));
}

TEST(BpeTokenizer, any_bytes_come_back) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  uint32_t state = 7;
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (int i = 0; i < round; ++i) {
      state = state * 1664525 + 1013904223;
      bytes += static_cast<char>(state >> 24);
    }
    const std::vector<int64_t> ids = tokenizer->encode(bytes);
    EXPECT_EQ(tokenizer->decode(ids, {.replace_invalid = false}), bytes);
    EXPECT_EQ(testing::stream_all(*tokenizer, ids), tokenizer->decode(ids));
  }
}

TEST(BpeTokenizer, a_stream_holds_back_bytes_until_a_character_is_whole) {
  const TempFolder folder;
  const auto tokenizer = bytes_only(folder);
  const std::vector<int64_t> ids = tokenizer->encode("hat 🦊é");
  ASSERT_EQ(ids.size(), 10u);
  std::vector<std::string> pieces;
  EXPECT_EQ(testing::stream_all(*tokenizer, ids, &pieces), "hat 🦊é");
  EXPECT_EQ(pieces, (std::vector<std::string>{"h", "a", "t", " ", "", "", "", "🦊", "", "é"}));
}

TEST(BpeTokenizer, special_tokens_are_plain_text_unless_asked_for) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  const std::string text = "a<|endoftext|>b";
  const std::vector<int64_t> plain = tokenizer->encode(text);
  for (const int64_t id : plain) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->decode(plain), text);

  const std::vector<int64_t> special = tokenizer->encode(text, {.special = true});
  ASSERT_EQ(special.size(), 3u);
  EXPECT_EQ(special[1], tokenizer->special_ids().eos);
  EXPECT_EQ(tokenizer->decode(special), "ab");
  EXPECT_EQ(tokenizer->decode(special, {.skip_special = false}), text);
}

TEST(BpeTokenizer, no_merge_makes_text_into_a_special_token) {
  nlohmann::json json = small_json();
  json["added_tokens"] = {{{"id", 3}, {"content", "ab"}, {"special", true}}};
  EXPECT_EQ(open_json(json)->encode("ab"), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(open_json(json)->encode("ab", {.special = true}), (std::vector<int64_t>{3}));
}

TEST(BpeTokenizer, added_tokens_that_are_not_special_are_always_read) {
  nlohmann::json json = small_json();
  json["added_tokens"] = {{{"id", 5}, {"content", "<b>"}, {"special", false}},
                          {{"id", 6}, {"content", "<b><b>"}, {"special", false}},
                          {{"id", 7}, {"content", "<m>"}, {"special", true}, {"lstrip", true}},
                          {{"id", 8}, {"content", "<r>"}, {"special", true}, {"rstrip", true}}};
  const auto tokenizer = open_json(json);
  EXPECT_EQ(tokenizer->encode("a<b>b<b><b>"), (std::vector<int64_t>{0, 5, 1, 6}));
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{0, 5, 1}), "a<b>b");
  EXPECT_EQ(tokenizer->encode("a  <m> b", {.special = true}), (std::vector<int64_t>{0, 7, 2, 1}));
  EXPECT_EQ(tokenizer->encode("a <r>  b", {.special = true}), (std::vector<int64_t>{0, 2, 8, 1}));
}

TEST(BpeTokenizer, a_blank_before_the_text_where_the_file_says_so) {
  nlohmann::json json = small_json();
  json["pre_tokenizer"]["add_prefix_space"] = true;
  const auto tokenizer = open_json(json);
  EXPECT_EQ(tokenizer->encode("ab"), (std::vector<int64_t>{4}));
  EXPECT_EQ(tokenizer->encode(" ab"), (std::vector<int64_t>{4}));
  EXPECT_EQ(tokenizer->safe_cut("ab ab"), 0u);
}

TEST(BpeTokenizer, merges_may_be_pairs_or_text) {
  nlohmann::json json = small_json();
  json["model"]["merges"] = nlohmann::json::parse(R"([["a", "b"], ["Ġ", "ab"]])");
  EXPECT_EQ(open_json(json)->encode("ab ab"), (std::vector<int64_t>{3, 4}));
}

TEST(BpeTokenizer, pieces_are_named_as_in_the_file) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  const nlohmann::json vocab = nlohmann::json::parse(read_file(golden("bpe/vocab.json")));
  EXPECT_EQ(tokenizer->vocab_size(), 700);
  for (const auto& [piece, id] : vocab.items()) {
    EXPECT_EQ(tokenizer->piece(id), piece);
    EXPECT_EQ(tokenizer->piece_id(piece), id.get<int64_t>());
  }
  EXPECT_EQ(tokenizer->piece_id("no such piece"), std::nullopt);
  EXPECT_EQ(tokenizer->type(), "bpe");
}

TEST(BpeTokenizer, a_saved_folder_opens_again_in_each_of_its_forms) {
  const TempFolder folder;
  const auto tokenizer = load_tokenizer(golden("bpe"));
  tokenizer->save(folder / "saved");
  for (const char* form :
       {"saved", "saved/tokenizer.json", "saved/vocab.json", "saved/merges.txt"}) {
    const auto again = load_tokenizer(folder / form);
    EXPECT_EQ(again->special_ids().eos, 0) << form;
    EXPECT_EQ(again->special_ids().pad, 1) << form;
    EXPECT_TRUE(again->is_special(1)) << form;
    for (const auto& example : golden_json("bpe.json")["encode"])
      EXPECT_EQ(again->encode(example["text"].get<std::string>()),
                example["ids"].get<std::vector<int64_t>>());
  }
  // What Hugging Face wrote and what we write hold the same.
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "saved/vocab.json")),
            nlohmann::json::parse(read_file(golden("bpe/vocab.json"))));
  EXPECT_EQ(read_file(folder / "saved/merges.txt"), read_file(golden("bpe/merges.txt")));
  const auto config = nlohmann::json::parse(read_file(folder / "saved/tokenizer_config.json"));
  EXPECT_EQ(config["eos_token"], "<|endoftext|>");
  EXPECT_EQ(config["pad_token"], "<|pad|>");
}

// Words as in Llama 3, Qwen 2 and SmolLM, and what those put before and after them.
TEST(BpeTokenizer, other_families_have_their_own_words) {
  const TempFolder folder;
  const nlohmann::json goldens = golden_json("bpe_splits.json");
  ASSERT_EQ(goldens.size(), 3U);
  for (const auto& [name, wanted] : goldens.items()) {
    nlohmann::json json = nlohmann::json::parse(read_file(golden("bpe/tokenizer.json")));
    json["pre_tokenizer"] = wanted["settings"]["pre_tokenizer"];
    json["normalizer"] = wanted["settings"]["normalizer"];
    json["model"]["ignore_merges"] = wanted["settings"]["ignore_merges"];
    nlohmann::json& merges = json["model"]["merges"];
    merges.erase(merges.begin(), merges.begin() + 2);
    const auto tokenizer = open_json(json);
    tokenizer->save(folder / name);
    EXPECT_FALSE(fs::exists(folder / name / "vocab.json")) << "which would be read as GPT-2's";
    const auto again = load_tokenizer(folder / name);
    for (const auto& example : wanted["encode"]) {
      const auto text = example["text"].get<std::string>();
      const auto ids = example["ids"].get<std::vector<int64_t>>();
      EXPECT_EQ(tokenizer->encode(text), ids) << name << ": " << text;
      EXPECT_EQ(again->encode(text), ids) << name << ": " << text;
    }
    const std::string text = read_file(golden("corpus.txt"));
    EXPECT_EQ(testing::encode_in_parts(*tokenizer, text, 3000), tokenizer->encode(text)) << name;
  }
}

TEST(BpeTokenizer, qwens_files_are_told_by_their_class) {
  const TempFolder folder;
  for (const char* file : {"vocab.json", "merges.txt"})
    fs::copy_file(golden("bpe") / file, folder / file);
  write_file(folder / "tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  const auto tokenizer = load_tokenizer(folder.path());
  EXPECT_EQ(tokenizer->encode("12").size(), 2U);
  EXPECT_EQ(tokenizer->encode("n\u0303"), tokenizer->encode("\u00F1"));
}

TEST(BpeTokenizer, the_post_processor_of_a_file_is_kept) {
  const TempFolder folder;
  nlohmann::json json = small_json();
  json["post_processor"] = {{"type", "ByteLevel"}, {"trim_offsets", false}};
  open_json(json)->save(folder / "saved");
  EXPECT_EQ(nlohmann::json::parse(read_file(folder / "saved/tokenizer.json"))["post_processor"],
            json["post_processor"]);
}

TEST(BpeTokenizer, parts_cut_at_safe_places_give_the_same_ids) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  const std::string text = read_file(golden("corpus.txt"));
  const std::vector<int64_t> ids = tokenizer->encode(text);
  for (const size_t size : {100, 997, 10000})
    EXPECT_EQ(testing::encode_in_parts(*tokenizer, text, size), ids);
}

TEST(BpeTokenizer, a_word_of_a_million_bytes_is_no_trouble) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  const std::string text(1'000'000, 'e');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(BpeTokenizer, threads_may_share_one_tokenizer) {
  const auto tokenizer = load_tokenizer(golden("bpe"));
  const std::string text = read_file(golden("corpus.txt"));
  const std::vector<int64_t> expected = load_tokenizer(golden("bpe"))->encode(text);
  std::vector<std::vector<int64_t>> found(4);
  std::vector<std::thread> threads;
  for (auto& ids : found)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) ids = tokenizer->encode(text);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& ids : found) EXPECT_EQ(ids, expected);
}

TEST(BpeTokenizer, roles_come_from_tokenizer_config_json) {
  const TempFolder folder;
  fs::copy(golden("bpe"), folder / "t");
  write_file(
      folder / "t/tokenizer_config.json",
      R"({"bos_token": {"content": "<|pad|>"}, "eos_token": "<|endoftext|>", "pad_token": null})");
  const SpecialIds ids = load_tokenizer(folder / "t")->special_ids();
  EXPECT_EQ(ids.bos, 1);
  EXPECT_EQ(ids.eos, 0);
  EXPECT_EQ(ids.pad, std::nullopt);
}

TEST(BpeTokenizer, added_tokens_may_stand_beside_vocab_json) {
  const TempFolder folder;
  write_file(folder / "vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  write_file(folder / "merges.txt", "#version: 0.2\r\na b\r\n");
  write_file(folder / "added_tokens.json", R"({"<x>": 3})");
  EXPECT_EQ(load_tokenizer(folder.path())->encode("ab<x>", {.special = true}),
            (std::vector<int64_t>{2, 3}));
  write_file(folder / "tokenizer_config.json",
             R"({"added_tokens_decoder": {"4": {"content": "<y>", "special": true}}})");
  EXPECT_EQ(load_tokenizer(folder.path())->encode("ab<y>", {.special = true}),
            (std::vector<int64_t>{2, 4}));
  write_file(folder / "tokenizer_config.json",
             R"({"added_tokens_decoder": {"x": {"content": "<y>"}}})");
  expect_contains(message_of<FormatError>([&] { load_tokenizer(folder.path()); }),
                  {"added_tokens_decoder", "found the key \"x\"", "keys are ids"});
  fs::remove(folder / "tokenizer_config.json");
  write_file(folder / "added_tokens.json", R"({"<x>": "3"})");
  expect_contains(message_of<FormatError>([&] { load_tokenizer(folder.path()); }),
                  {"added_tokens.json", "\"<x>\" has the id \"3\"", "whole number"});
}

TEST(BpeTokenizer, damaged_files_are_refused_with_the_place) {
  const TempFolder folder;
  const auto load = [&](const std::string& vocab, const std::string& merges) {
    write_file(folder / "vocab.json", vocab);
    write_file(folder / "merges.txt", merges);
    return message_of<FormatError>([&] { load_tokenizer(folder.path()); });
  };
  expect_contains(load("{\"a\": 0", ""), {"vocab.json: not valid JSON", "line 1"});
  expect_contains(load("[]", ""), {"vocab.json: found array", "{\"token\": id, …}"});
  expect_contains(load("{}", ""), {"vocab.json: found no tokens"});
  expect_contains(load(R"({"a": 0.5})", ""), {"\"a\" has the id 0.5", "whole number"});
  expect_contains(load(R"({"a": -1})", ""), {"\"a\" has the id -1", "allowed is 0 to"});
  expect_contains(load(R"({"a": 99999999999})", ""), {"\"a\" has the id 99999999999"});
  expect_contains(load(R"({"a": 0, "b": 0})", ""), {"\"a\" and \"b\" have the same id, 0"});
  expect_contains(load(R"({"a": 0, "b": 1})", "#version: 0.2\na b\n"),
                  {"merges.txt:2", "\"ab\" is not in the vocabulary", "same tokenizer"});
  expect_contains(load(R"({"a": 0, "b": 1})", "ab\n"),
                  {"merges.txt:1", "found \"ab\"", "two tokens with a blank between"});
}

TEST(BpeTokenizer, a_tokenizer_json_of_another_kind_is_refused) {
  const auto refuse = [](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json json = small_json();
    json[nlohmann::json::json_pointer(pointer)] = value;
    return message_of<DataError>([&] { open_json(json); });
  };
  expect_contains(refuse("/normalizer", {{"type", "NFKC"}}),
                  {"some/tokenizer.json#/normalizer", "NFKC", "allowed is null", "GPT-2's kind"});
  expect_contains(refuse("/pre_tokenizer", {{"type", "Metaspace"}}),
                  {"#/pre_tokenizer", "ByteLevel"});
  expect_contains(refuse("/pre_tokenizer/use_regex", false), {"#/pre_tokenizer"});
  expect_contains(refuse("/model/end_of_word_suffix", "</w>"),
                  {"#/model/end_of_word_suffix", "</w>"});
  expect_contains(refuse("/model/byte_fallback", true), {"#/model/byte_fallback"});
  const nlohmann::json pattern = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"}, {"pattern", {{"Regex", "x"}}}, {"behavior", "Isolated"}},
        {{"type", "ByteLevel"}, {"use_regex", false}}}}};
  expect_contains(refuse("/pre_tokenizer", pattern), {"#/pre_tokenizer", "Llama 3 or Qwen 2"});
  expect_contains(refuse("/model/merges/0", 7), {"#/model/merges/0", "found 7"});
  expect_contains(refuse("/added_tokens/0", {{"content", "x"}}), {"#/added_tokens", "has an id"});
  expect_contains(refuse("/added_tokens/0", {{"id", 5}}), {"#/added_tokens", "has content"});
  expect_contains(refuse("/added_tokens/0/content", ""), {"#/added_tokens", "has no text"});
  expect_contains(refuse("/added_tokens/0/single_word", true), {"<end>", "single_word"});
}

TEST(BpeTokenizer, unknown_ids_and_missing_bytes_are_named) {
  const auto tokenizer = open_json(small_json());
  for (const int64_t id : {int64_t{-1}, int64_t{6}})
    expect_contains(message_of<DataError>([&] { tokenizer->decode(std::vector<int64_t>{id}); }),
                    {cat("the id ", id), "ids are 0 to 5", "another tokenizer"});
  EXPECT_THROW(tokenizer->piece(6), DataError);
  EXPECT_THROW(tokenizer->is_special(6), DataError);
  expect_contains(message_of<DataError>([&] { tokenizer->encode("abc"); }),
                  {"the byte 99", "all 256 bytes"});
}

// The table of OpenAI's encoder.py: some entries of each of its parts.
TEST(ByteAlphabet, is_gpt2s) {
  EXPECT_EQ(byte_alphabet()[' '], "Ġ");
  EXPECT_EQ(byte_alphabet()['\n'], "Ċ");
  EXPECT_EQ(byte_alphabet()[0], "Ā");
  EXPECT_EQ(byte_alphabet()['a'], "a");
  EXPECT_EQ(byte_alphabet()[0x7F], "ġ");
  EXPECT_EQ(byte_alphabet()[0xA0], "ł");
  EXPECT_EQ(byte_alphabet()[0xAD], "Ń");
  EXPECT_EQ(byte_alphabet()[0xE9], "é");
  EXPECT_EQ(bytes_of_piece("ĠcafÃ©"), " caf\xC3\xA9");
  EXPECT_EQ(bytes_of_piece("你"), std::nullopt);
}

}  // namespace
}  // namespace zoo
