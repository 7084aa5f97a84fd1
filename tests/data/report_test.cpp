#include "data/report.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::TempFolder;

TEST(ReportText, Counts) {
  const TempFolder folder;
  write_file(folder / "a.txt", "né wörd\r\n\nab\nab\nx\ry z");
  const TextReport report = report_text(folder / "a.txt");
  EXPECT_EQ(report.lines, 5);
  EXPECT_EQ(report.blank_lines, 1);
  EXPECT_EQ(report.duplicate_lines, 1);
  EXPECT_EQ(report.words, 7);
  EXPECT_EQ(report.characters, 7 + 2 + 2 + 5 + 4);
  EXPECT_EQ(report.longest_line, 7);
  EXPECT_EQ(report.carriage_returns, 1);
  EXPECT_EQ(report.inner_carriage_returns, 1);
  EXPECT_FALSE(report.ends_with_newline);
  EXPECT_EQ(report.invalid_bytes, 0);
}

TEST(CheckTexts, NamesFileAndRemedy) {
  const TempFolder folder;
  write_file(folder / "a.txt", std::string("ok\nbad \xff\xfe\n\x01\n\nok\n"));
  write_file(folder / "b.txt", "one\n");
  write_file(folder / "c.txt", "\n");
  const std::string a = utf8(folder / "a.txt"), b = utf8(folder / "b.txt"),
                    c = utf8(folder / "c.txt");
  std::vector<std::string> errors, warnings;
  for (const Finding& finding :
       check_texts({report_text(a), report_text(b), report_text(c)}, /*parallel=*/true))
    (finding.is_error ? errors : warnings).push_back(finding.message);
  EXPECT_EQ(errors, (std::vector<std::string>{
                        a + ": 2 bytes are no UTF-8, the first in line 2; convert the file, for "
                            "example with iconv",
                        c + ": holds no text",
                        a + " has 5 lines, " + b + " has 1; parallel files need equally many",
                        a + " has 5 lines, " + c + " has 1; parallel files need equally many"}));
  EXPECT_EQ(warnings,
            (std::vector<std::string>{a + ": 1 control characters", a + ": 1 of 5 lines are blank",
                                      a + ": 1 of 5 lines repeat an earlier one"}));
}

TEST(CheckTexts, ACleanFileHasNoFindings) {
  const TempFolder folder;
  write_file(folder / "a.txt", "one\r\ntwo\r\n");
  EXPECT_TRUE(check_texts({report_text(folder / "a.txt")}, false).empty());
}

}  // namespace
}  // namespace zoo
