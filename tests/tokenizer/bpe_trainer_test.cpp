#include "tokenizer/bpe_trainer.h"

#include "tests/support/temp_folder.h"
#include "tests/tokenizer/golden.h"
#include "tokenizer/bpe_tokenizer.h"

namespace zoo {
namespace {

using testing::expect_contains;
using testing::golden;
using testing::message_of;
using testing::TempFolder;

class BpeTrainer : public ::testing::Test {
 protected:
  fs::path text(const std::string& content) {
    write_file(folder_ / "text", content);
    return folder_ / "text";
  }
  TempFolder folder_;
};

TEST_F(BpeTrainer, learns_the_vocabulary_and_merges_that_hugging_face_learns) {
  BpeTokenizerConfig config;
  config.vocab_size = 700;
  config.special_tokens = {"<|endoftext|>", "<|pad|>"};
  BpeTokenizer(train_bpe(config, {golden("corpus.txt")})).save(folder_.path());
  EXPECT_EQ(nlohmann::json::parse(read_file(folder_ / "vocab.json")),
            nlohmann::json::parse(read_file(golden("bpe/vocab.json"))));
  EXPECT_EQ(read_file(folder_ / "merges.txt"), read_file(golden("bpe/merges.txt")));
}

// Sennrich et al. 2016, section 3.2: low ×5, lower ×2, newest ×6, widest ×3. With their end-of-word
// mark left out, and the blank before each word a token of its own, the first merges are the same.
TEST_F(BpeTrainer, merges_the_most_frequent_pair_first) {
  std::string words;
  for (const auto& [word, count] : std::initializer_list<std::pair<const char*, int>>{
           {"low\n", 5}, {"lower\n", 2}, {"newest\n", 6}, {"widest\n", 3}})
    for (int i = 0; i < count; ++i) words += word;
  BpeTokenizerConfig config;
  config.vocab_size = 257 + 4;
  const BpeModel model = train_bpe(config, {text(words)});
  const std::vector<std::string> learnt(model.pieces.begin() + 257, model.pieces.end());
  EXPECT_EQ(learnt, (std::vector<std::string>{"es", "est", "lo", "low"}));
}

TEST_F(BpeTrainer, several_files_count_together) {
  BpeTokenizerConfig config;
  config.vocab_size = 258;
  write_file(folder_ / "other", "xy");
  EXPECT_EQ(train_bpe(config, {text("xy"), folder_ / "other"}).pieces.back(), "xy");
}

TEST_F(BpeTrainer, text_that_spells_a_special_token_is_text) {
  std::string content;
  for (int i = 0; i < 50; ++i) content += "a<|endoftext|>b pad ";
  BpeTokenizerConfig config;
  config.vocab_size = 268;
  config.special_tokens = {"<|endoftext|>", "pad"};
  const BpeTokenizer tokenizer(train_bpe(config, {text(content)}));
  for (const int64_t id : tokenizer.encode(content)) EXPECT_FALSE(tokenizer.is_special(id));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(content)), content);
  EXPECT_EQ(tokenizer.special_ids().eos, 0);
  EXPECT_EQ(tokenizer.special_ids().bos, 0);
}

TEST_F(BpeTrainer, a_vocabulary_the_text_cannot_fill_is_refused_with_the_largest_size) {
  BpeTokenizerConfig config;
  config.vocab_size = 1000;
  // "ab" and "Ġab" are all that can be merged twice.
  expect_contains(message_of<DataError>([&] { train_bpe(config, {text(" ab ab")}); }),
                  {"vocab_size 1000", "largest possible size is 259 (with min_frequency 2)",
                   "lower vocab_size or train on more text"});
  config.vocab_size = 259;
  EXPECT_EQ(train_bpe(config, {text(" ab ab")}).pieces.size(), 259u);
  config.vocab_size = 261;
  config.min_frequency = 1;
  expect_contains(message_of<DataError>([&] { train_bpe(config, {text(" abc")}); }),
                  {"vocab_size 261", "largest possible size is 260 (with min_frequency 1)"});
  expect_contains(message_of<DataError>([&] { train_bpe(config, {text("")}); }),
                  {"largest possible size is 257"});
  EXPECT_THROW(train_bpe(config, {folder_ / "no such file"}), DataError);
}

TEST_F(BpeTrainer, special_tokens_that_cannot_be_used_are_refused) {
  const auto refuse = [&](std::vector<std::string> special, int64_t vocab_size = 300) {
    BpeTokenizerConfig config;
    config.vocab_size = vocab_size;
    config.special_tokens = std::move(special);
    return message_of<ConfigError>([&] { train_bpe(config, {text("ab")}); });
  };
  expect_contains(refuse({""}), {"special_tokens", "an empty token"});
  expect_contains(refuse({"<a>", "<a>"}), {"special_tokens", "\"<a>\" twice", "distinct"});
  expect_contains(refuse({"a"}), {"special_tokens", "\"a\" is the token of a byte", "\"<|a|>\""});
  expect_contains(refuse({"\xFF\xFE"}), {"special_tokens", "not UTF-8"});
  expect_contains(refuse({"<a>", "<b>"}, 257), {"vocab_size: found 257", "at least 258"});
}

}  // namespace
}  // namespace zoo
