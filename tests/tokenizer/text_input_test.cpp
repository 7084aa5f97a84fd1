#include "tokenizer/text_input.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "tests/support/message_of.h"
#include "tests/support/small_wordpiece.h"

namespace zoo {
namespace {

// tests/golden/tokenizer/make_pair_goldens.py
TEST(TextEncoding, FramesAndCutsAsHuggingFace) {
  const Json golden =
      read_json_file(fs::path(ZOO_SOURCE_DIR) / "tests/golden/tokenizer/bert_pairs.json");
  const auto pieces = golden["pieces"].get<std::vector<std::string>>();
  const auto tokenizer = testing::small_wordpiece({pieces.begin() + 5, pieces.end()});
  ASSERT_EQ(golden["cases"].size(), 168);
  for (const Json& expected : golden["cases"]) {
    const TextEncoding encoding(*tokenizer, expected["max_length"]);
    const auto a = expected["a"].get<std::string>();
    std::optional<std::string> b;
    if (!expected["b"].is_null()) b = expected["b"].get<std::string>();
    const EncodedText text = encoding.encode(a, b);
    EXPECT_EQ(text.ids, expected["ids"].get<std::vector<int64_t>>()) << expected;
    const auto segments = expected["segments"].get<std::vector<int64_t>>();
    EXPECT_EQ(text.first_length, std::count(segments.begin(), segments.end(), 0)) << expected;
    const size_t letters = (a.size() + 1) / 2 + (b ? (b->size() + 1) / 2 : 0);
    EXPECT_EQ(text.cut, text.ids.size() < letters + (b ? 3 : 2)) << expected;
  }
}

TEST(TextEncoding, NeedsItsTokensAndRoom) {
  const auto tokenizer = testing::small_wordpiece({"a"});
  EXPECT_NE(testing::message_of([&] { TextEncoding(*tokenizer, 4); }).find("at least 5"),
            std::string::npos);
  const testing::TempFolder folder;
  write_file(folder / "vocab.txt", "[UNK]\na\n");
  const auto bare = load_tokenizer(folder.path());
  EXPECT_NE(testing::message_of([&] { TextEncoding(*bare, 9); }).find("has no token [CLS]"),
            std::string::npos);
}

}  // namespace
}  // namespace zoo
