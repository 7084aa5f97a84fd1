// The help of each command: its examples run, and the reference of the config is up to date.

#include <gtest/gtest.h>

#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::run_shell;

const std::vector<std::string> kCommands = {
    "",          "train",    "generate", "translate", "eval",       "score",
    "fill-mask", "classify", "embed",    "tokenize",  "detokenize", "train-tokenizer",
    "data",      "average",  "convert",  "inspect",   "cost",       "bench",
    "attention", "verify",   "gradnorm", "compare",   "report",     "config",
    "models",    "env"};

/// The command lines after "Examples:", whose comments begin with #.
std::vector<std::string> examples_of(const std::string& help) {
  std::vector<std::string> found;
  const size_t start = help.find("\nExamples:\n");
  if (start == std::string::npos) return found;
  for_each_line(help.substr(start), [&](std::string_view line) {
    if (line.starts_with("  ") && !line.starts_with("  #")) found.emplace_back(line.substr(2));
  });
  return found;
}

TEST(Help, EveryExampleRuns) {
  const testing::SmallRun folder;
  for (const std::string& command : kCommands) {
    const CliResult help = run_cli(command.empty() ? std::vector<std::string>{"--help"}
                                                   : std::vector<std::string>{command, "--help"});
    ASSERT_EQ(help.code, 0) << command << ": " << help.err;
    EXPECT_EQ(help.err, "");
    if (command.empty()) {
      for (const std::string& name : kCommands)
        EXPECT_TRUE(holds(help.out, cat("\n  ", name))) << name;
    }
    const std::vector<std::string> examples = examples_of(help.out);
    EXPECT_FALSE(examples.empty()) << command;
    for (const std::string& example : examples) {
      const CliResult result = run_shell(example, "", folder.path());
      EXPECT_EQ(result.code, 0) << example << "\n" << result.err;
      EXPECT_NE(result.out, "") << example;
    }
  }
}

TEST(Help, ConfigReferenceIsUpToDate) {
  const CliResult result = run_cli({"config", "reference"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out == read_file(fs::path(ZOO_SOURCE_DIR) / "docs" / "config-reference.md"))
      << "docs/config-reference.md is not what the program says; renew it with\n"
         "  transformer-cli config reference > docs/config-reference.md";
}

}  // namespace
}  // namespace zoo
