#include "data/documents.h"

#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "tests/support/message_of.h"
#include "tests/support/small_wordpiece.h"

namespace zoo {
namespace {

using Ids = std::vector<int64_t>;

class DocumentCorpusTest : public ::testing::Test {
 protected:
  /// Letters a to z are the tokens 5 to 30.
  DocumentCorpus corpus(const std::vector<std::string>& texts, int64_t max_tokens,
                        bool blank_lines_end = true) {
    std::vector<std::string> pieces;
    for (char c = 'a'; c <= 'z'; ++c) pieces.push_back(std::string(1, c));
    const auto words = testing::small_wordpiece(pieces);
    std::vector<fs::path> files;
    for (const std::string& text : texts) {
      files.push_back(folder_ / (std::to_string(files.size()) + ".txt"));
      write_file(files.back(), text);
    }
    return DocumentCorpus(pack_documents_cached(files, *words, blank_lines_end, folder_ / "cache"),
                          max_tokens);
  }
  static Ids letters(const std::string& text) {
    Ids ids;
    for (const char c : text) ids.push_back(5 + c - 'a');
    return ids;
  }
  testing::TempFolder folder_;
};

TEST_F(DocumentCorpusTest, PassagesAreWholeLinesOfOneDocument) {
  // 2, 3 and 2 tokens; a document's end; a line longer than a passage; another file.
  const DocumentCorpus found = corpus({"a b\nc d e\nf g\n\n \nh\ni j k l m n o p\n", "q\n"}, 5);
  ASSERT_EQ(found.size(), 6);
  EXPECT_EQ(found.tokens(0), letters("abcde"));
  EXPECT_EQ(found.tokens(1), letters("fg"));
  EXPECT_EQ(found.tokens(2), letters("h"));
  EXPECT_EQ(found.tokens(3), letters("ijklm"));
  EXPECT_EQ(found.tokens(4), letters("nop"));
  EXPECT_EQ(found.tokens(5), letters("q"));
  EXPECT_EQ(found.length(0), 5);
}

TEST_F(DocumentCorpusTest, BlankLinesMayStandWithinADocument) {
  const DocumentCorpus found = corpus({"a b\n\nc\n", "d\n\n\n"}, 5, false);
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found.tokens(0), letters("abc"));
  EXPECT_EQ(found.tokens(1), letters("d"));
}

TEST_F(DocumentCorpusTest, HalfOfThePairsFollowEachOther) {
  const DocumentCorpus found = corpus({"a b\nc d\ne f\n\ng h\ni j\nk l\n\nm\n"}, 6);
  ASSERT_EQ(found.size(), 3);
  int64_t follow = 0;
  std::set<Ids> firsts;
  for (uint64_t draw = 0; draw < 2000; ++draw) {
    RandomStream random(5, draw);
    const SentencePair pair = found.pair(0, {0, 3}, random);
    firsts.insert(pair.a);
    EXPECT_LE(pair.a.size() + pair.b.size(), 6);
    EXPECT_FALSE(pair.b.empty());
    follow += pair.follows;
    if (pair.follows) {
      Ids whole = pair.a;
      whole.insert(whole.end(), pair.b.begin(), pair.b.end());
      EXPECT_EQ(whole, letters("abcdef"));
    } else {
      EXPECT_GE(pair.b[0], letters("g")[0]);  // of another passage
    }
  }
  EXPECT_EQ(firsts, (std::set<Ids>{letters("ab"), letters("abcd")}));
  EXPECT_NEAR(static_cast<double>(follow) / 2000, 0.5, 0.06);
  // A passage of one line has nothing that follows.
  for (uint64_t draw = 0; draw < 20; ++draw) {
    RandomStream random(6, draw);
    const SentencePair pair = found.pair(2, {2, 3}, random);
    EXPECT_FALSE(pair.follows);
    EXPECT_EQ(pair.a, letters("m"));
  }
}

TEST_F(DocumentCorpusTest, ATextWithoutWordsIsRefused) {
  EXPECT_NE(testing::message_of([&] { corpus({"\n \n"}, 5); }).find("holds no text"),
            std::string::npos);
}

}  // namespace
}  // namespace zoo
