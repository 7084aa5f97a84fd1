#include "data/labelled_texts.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/message_of.h"
#include "tests/support/small_wordpiece.h"

namespace zoo {
namespace {

using Ids = std::vector<int64_t>;
using testing::message_of;

constexpr int64_t kCls = 2, kSep = 3;

class LabelledTextsTest : public ::testing::Test {
 protected:
  std::vector<fs::path> file(const std::string& content) {
    write_file(folder_ / "data", content);
    return {folder_ / "data"};
  }
  std::string refusal(LabelUnit unit, const std::string& content) {
    return message_of(
        [&] { read_labelled_texts(file(content), unit, labels_, TextEncoding(*words_, 8)); });
  }
  LabelledTexts read(LabelUnit unit, const std::string& content) {
    return read_labelled_texts(file(content), unit, labels_, TextEncoding(*words_, 8));
  }
  testing::TempFolder folder_;
  // play 5, ##ed 6, a 7, b 8
  std::unique_ptr<Tokenizer> words_ = testing::small_wordpiece({"play", "##ed", "a", "b"});
  std::vector<std::string> labels_ = {"no", "yes"};
};

TEST_F(LabelledTextsTest, ClassesOfTextsAndPairs) {
  const LabelledTexts found =
      read(LabelUnit::text, "yes\ta played\r\n\nno\tb\ta\nyes\t  \nno\ta a a a a a a\n");
  ASSERT_EQ(found.texts.size(), 3);
  EXPECT_EQ(found.texts[0].text.ids, (Ids{kCls, 7, 5, 6, kSep}));
  EXPECT_EQ(found.texts[0].labels, Ids{1});
  EXPECT_EQ(found.texts[1].text.ids, (Ids{kCls, 8, kSep, 7, kSep}));
  EXPECT_EQ(found.texts[1].text.first_length, 3);
  EXPECT_EQ(found.texts[1].labels, Ids{0});
  EXPECT_EQ(found.texts[2].text.ids.size(), 8);
  EXPECT_EQ(found.blank, 2);
  EXPECT_EQ(found.cut, 1);
}

TEST_F(LabelledTextsTest, TagsStandAtTheFirstPieceOfAWord) {
  // A third column, as CoNLL's files have it; the last sentence is too long, and ends early.
  const LabelledTexts found =
      read(LabelUnit::word, "played NN yes\na\tno\n\n\nb yes\na no\na no\na no\na no\nplayed no\n");
  ASSERT_EQ(found.texts.size(), 2);
  EXPECT_EQ(found.texts[0].text.ids, (Ids{kCls, 5, 6, 7, kSep}));
  EXPECT_EQ(found.texts[0].labels, (Ids{kNoLabel, 1, kNoLabel, 0, kNoLabel}));
  EXPECT_EQ(found.texts[1].text.ids.size(), 7);
  EXPECT_EQ(found.cut, 1);
}

TEST_F(LabelledTextsTest, LabelsAreThoseOfTheFileInOrder) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels_in(file("b\tx\na\tx\n\nb\ty\tz\n"), LabelUnit::text), (Labels{"a", "b"}));
  EXPECT_EQ(labels_in(file("10\tx\n9\tx\n-1\tx\n"), LabelUnit::text), (Labels{"-1", "9", "10"}));
  EXPECT_EQ(labels_in(file("a B-X\nb O\n\na O\n"), LabelUnit::word), (Labels{"B-X", "O"}));
}

TEST_F(LabelledTextsTest, BadLinesAreNamed) {
  const std::string place = utf8(folder_ / "data");
  EXPECT_EQ(refusal(LabelUnit::text, "yes\ta\nyes a\n"),
            place + ":2: expected \"label<TAB>text\" or \"label<TAB>text<TAB>text\", found 0 tabs");
  EXPECT_EQ(refusal(LabelUnit::text, "yes\ta\tb\tc\n").find(place + ":1: expected"), 0);
  EXPECT_EQ(refusal(LabelUnit::text, "\ta\n"), place + ":1: the label before the tab is blank");
  EXPECT_EQ(refusal(LabelUnit::text, "perhaps\ta\n"),
            place + ":1: the label \"perhaps\" is none of the model's 2: no, yes");
  EXPECT_EQ(
      refusal(LabelUnit::word, "a yes\n\nb\n").find(place + ":3: expected a word and its tag"), 0);
  EXPECT_NE(refusal(LabelUnit::text, "\n\n").find("holds no labelled text"), std::string::npos);
}

}  // namespace
}  // namespace zoo
