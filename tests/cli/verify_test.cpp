// transformer-cli verify, as a user runs it.

#include <gtest/gtest.h>

#include "tests/cli/run_cli.h"
#include "tests/support/model_a.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::TempFolder;

TEST(VerifyCommand, PrintsATable) {
  const TempFolder folder;
  testing::write_model_a(folder.path(), {.tokenizer = true});
  const CliResult result = run_cli({"verify", utf8(folder.path())});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::vector<std::string> lines = result.lines();
  ASSERT_EQ(lines.size(), 20U) << result.out;
  EXPECT_TRUE(lines[0].starts_with("check")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("finite")) << lines[1];
  EXPECT_TRUE(lines[18].starts_with("bf16")) << lines[18];
  EXPECT_EQ(lines[19], "18 of 18 checks passed");
}

TEST(VerifyCommand, ANotANumberInTheFileIsNamed) {
  const TempFolder folder;
  testing::write_model_a(folder.path());
  const fs::path file = folder / "model.safetensors";
  std::string bytes = read_file(file);
  bytes.replace(bytes.size() - 4, 4, std::string("\x00\x00\xC0\x7F", 4));  // the last of lm_head
  write_file(file, bytes);
  const CliResult result = run_cli({"verify", utf8(folder.path())});
  EXPECT_EQ(result.code, 4);
  EXPECT_TRUE(holds(result.out, "FAIL")) << result.out;
  EXPECT_TRUE(holds(result.err,
                    "checks failed: finite (every parameter is a finite number: "
                    "output.weight holds NaN or infinity)"))
      << result.err;
  // What is not asked for is not run.
  const CliResult parts = run_cli({"verify", utf8(folder.path()), "--checks", "finite"});
  EXPECT_EQ(parts.code, 4);
  EXPECT_EQ(parts.lines().back(), "0 of 2 checks passed") << parts.out;
}

TEST(VerifyCommand, PrintsJson) {
  const TempFolder folder;
  testing::write_model_a(folder.path());
  const CliResult result =
      run_cli({"verify", utf8(folder.path()), "--checks=roundtrip,cache", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part :
       {"\"check\": \"cache\"", "\"check\": \"roundtrip\"", "\"result\": \"not applicable\"",
        "\"deviation\": null", "\"passed\": 6", "\"applicable\": 6"})
    EXPECT_TRUE(holds(result.out, part)) << part << "\n" << result.out;
  EXPECT_FALSE(holds(result.out, "\"check\": \"batch\""));
}

TEST(VerifyCommand, RefusesWhatItCannotRun) {
  const TempFolder folder;
  const auto expect = [](const std::vector<std::string>& arguments, int code,
                         const std::string& part) {
    const CliResult result = run_cli(arguments);
    EXPECT_EQ(result.code, code);
    EXPECT_TRUE(holds(result.err, part)) << result.err;
    EXPECT_EQ(result.out, "");
  };
  expect({"verify"}, 2, "verify: no model is given; name its folder: -m DIR");
  expect({"verify", utf8(folder.path()), "--checks", "cache,bach"}, 2,
         "--checks: \"bach\" is refused; allowed: finite, repeat, cache, batch, padding, stream, "
         "threads, roundtrip, bf16; did you mean \"batch\"?");
  expect({"verify", utf8(folder.path()), "--tolerance", "0"}, 2, "--tolerance");
  expect({"verify", utf8(folder / "none")}, 3, "there is no such folder");
  expect({"verify", utf8(folder.path())}, 3, "no model here");
}

}  // namespace
}  // namespace zoo
