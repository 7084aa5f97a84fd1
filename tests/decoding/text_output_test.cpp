#include "decoding/text_output.h"

#include <gtest/gtest.h>

#include "tests/decoding/piece_tokenizer.h"

namespace zoo {
namespace {

using Pieces = std::vector<std::string>;

/// What each piece lets through, the rest at the end, and whether it stopped.
Pieces through(const Pieces& stops, const Pieces& pieces) {
  StopMatcher matcher(stops);
  Pieces shown;
  for (const std::string& piece : pieces) shown.push_back(matcher.push(piece));
  shown.push_back(matcher.finish());
  if (matcher.stopped()) shown.emplace_back("stopped");
  return shown;
}

TEST(StopMatcher, WithoutStopTextsNothingIsHeldBack) {
  EXPECT_EQ(through({}, {"a", "bc", ""}), (Pieces{"a", "bc", "", ""}));
}

TEST(StopMatcher, FindsStopTextsAcrossPieces) {
  EXPECT_EQ(through({"END"}, {"xE", "N", "D", "y"}), (Pieces{"x", "", "", "", "", "stopped"}));
  EXPECT_EQ(through({"END"}, {"xENDy"}), (Pieces{"x", "", "stopped"}));
}

TEST(StopMatcher, LetsGoWhatWasNotOne) {
  EXPECT_EQ(through({"END"}, {"xE", "N", "x"}), (Pieces{"x", "", "ENx", ""}));
  EXPECT_EQ(through({"END"}, {"EN", "E"}), (Pieces{"", "EN", "E"}));
  EXPECT_EQ(through({"aab"}, {"a", "a", "a", "b"}), (Pieces{"", "", "a", "", "", "stopped"}));
}

TEST(StopMatcher, TheFirstToBeCompleteWinsWhereverThePiecesEnd) {
  for (const Pieces& pieces :
       {Pieces{"xabcd"}, Pieces{"x", "a", "b", "c", "d"}, Pieces{"xab", "cd"}}) {
    std::string text;
    for (const std::string& shown : through({"abcd", "bc"}, pieces)) text += shown;
    EXPECT_EQ(text, "xastopped");
  }
}

TEST(TextOutput, HoldsBackPartsOfCharacters) {  // TOK-1
  const std::string fox = "\U0001F98A", accented = "\u00E9";
  Pieces bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  const testing::PieceTokenizer tokenizer(bytes);
  TextOutput output(&tokenizer, {}, {});
  Pieces shown;
  for (const int64_t id : tokenizer.encode(fox + accented)) shown.push_back(output.push(id));
  EXPECT_EQ(shown, (Pieces{"", "", "", fox, "", accented}));
  EXPECT_EQ(output.finish(), "");
}

TEST(TextOutput, WithoutTokenizerNoText) {
  TextOutput output(nullptr, {}, {});
  EXPECT_EQ(output.push(3), "");
  EXPECT_EQ(output.finish(), "");
}

}  // namespace
}  // namespace zoo
