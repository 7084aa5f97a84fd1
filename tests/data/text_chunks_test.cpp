#include "data/text_chunks.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"
#include "tokenizer/tokenizer.h"

namespace zoo {
namespace {

using testing::TempFolder;

TEST(ChunkEnd, PrefersTheEndOfALine) {
  EXPECT_EQ(chunk_end("abc def\nghi", 2), 8u);
  EXPECT_EQ(chunk_end("abc def\r\nghi", 2), 9u);
  EXPECT_EQ(chunk_end("abc", 5), 3u);
}

TEST(ChunkEnd, NeverCutsARunOfBlanksOrACharacter) {
  EXPECT_EQ(chunk_end("abc\n\ndef ghi", 2), 8u);  // before the lone blank
  std::string accents = "a";
  for (int i = 0; i < 40000; ++i) accents += "é";
  EXPECT_EQ(chunk_end(accents, 2), 3u);
}

TEST(NormalizeLineEnds, DropsOneCarriageReturnBeforeALineFeed) {
  EXPECT_EQ(normalize_line_ends("a\r\nb\rc\r\r\nd\r"), "a\nb c \nd ");
}

TEST(ForEachChunk, ChunksAreTheNormalizedText) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += "line " + std::to_string(i) + (i % 3 == 0 ? "\r\n" : "\n");
  write_file(folder / "a.txt", text);
  std::string joined;
  int64_t chunks = 0;
  for_each_chunk(folder / "a.txt", [&](std::string_view chunk) {
    joined += chunk;
    ++chunks;
  });
  EXPECT_EQ(joined, normalize_line_ends(text));
  EXPECT_GT(chunks, 1);
}

TEST(ForEachChunk, TokenizingPiecesEqualsTokenizingTheWhole) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "the cat's  hat\n\n  is here, it's 12 o'clock\n\tyes no\nand so on " +
            std::to_string(i) + "\n";
  write_file(folder / "a.txt", text);
  const auto tokenizer = train_tokenizer(BpeTokenizerConfig{.vocab_size = 290}, {folder / "a.txt"});
  const std::vector<int64_t> whole = tokenizer->encode(text);
  for (size_t wanted = 1; wanted < 120; ++wanted) {
    std::vector<int64_t> pieces;
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = chunk_end(rest, wanted);
      const std::vector<int64_t> ids = tokenizer->encode(rest.substr(0, end));
      pieces.insert(pieces.end(), ids.begin(), ids.end());
      rest.remove_prefix(end);
    }
    ASSERT_EQ(pieces, whole) << wanted;
  }
}

}  // namespace
}  // namespace zoo
