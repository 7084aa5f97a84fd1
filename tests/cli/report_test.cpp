// The command report: where the page goes, and what is refused.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::cli;
using testing::CliResult;
using testing::holds;
using testing::small;
using testing::TempFolder;

TEST(Report, WritesThePage) {
  const TempFolder folder;
  const std::string page = utf8(folder / "page.html");
  const CliResult made = cli({"report", "runs/translate", "runs/vit", "-o", page, "--title", "T<"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with(page + "\t2 runs, ")) << made.out;
  const std::string html = read_file(folder / "page.html");
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  for (const char* part : {"<title>T&lt;</title>", "transformer-cli train -o runs/translate",
                           "transformer-cli report runs/translate"})
    EXPECT_TRUE(holds(html, part)) << part;
  const CliResult json = cli({"report", "runs/vit", "-o", page, "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(parse_json(json.out, "output")["runs"], 1);
  const CliResult printed = cli({"report", "runs/vit", "-o", "-"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_TRUE(printed.out.starts_with("<!doctype html>"));
}

TEST(Report, RefusesWhatItCannotShow) {
  const TempFolder folder;
  const std::string page = utf8(folder / "page.html");
  const CliResult no_output = cli({"report", "runs/vit"});
  EXPECT_EQ(no_output.code, 2);
  EXPECT_TRUE(holds(no_output.err, "name one with -o FILE")) << no_output.err;
  const CliResult missing = cli({"report", "runs/none", "-o", page});
  EXPECT_EQ(missing.code, 3);
  EXPECT_TRUE(holds(missing.err, "runs/none: there is no such folder")) << missing.err;
  const CliResult maps = cli({"report", "--attention", "text.txt", "-o", page});
  EXPECT_EQ(maps.code, 3);
  EXPECT_TRUE(holds(maps.err, "text.txt:1")) << maps.err;
  EXPECT_FALSE(fs::exists(folder / "page.html"));
}

}  // namespace
}  // namespace zoo
