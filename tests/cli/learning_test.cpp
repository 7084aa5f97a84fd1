// The tasks of minGPT's demonstrations, learnt to the last example with the configs that come with
// the project.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/run_cli.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::run_cli;

class Learning : public ::testing::Test {
 protected:
  Learning() { fs::copy(fs::path(ZOO_SOURCE_DIR) / "configs", folder_ / "configs"); }

  CliResult cli(const std::vector<std::string>& arguments) {
    const CliResult result = run_cli(arguments, "", folder_.path());
    EXPECT_EQ(result.code, 0) << result.err;
    return result;
  }
  /// Exact matches of greedy completions of the whole validation file by the best checkpoint.
  Json learnt(const std::string& task, const std::vector<std::string>& flags) {
    cli({"data", "synth", task, "-o", "data/" + task});
    std::vector<std::string> train = {"train", "configs/gpt_" + task + ".json", "-o", "run", "-q"};
    train.insert(train.end(), flags.begin(), flags.end());
    cli(train);
    return Json::parse(cli({"eval", "run", "--data", "data/" + task + "/valid.tsv", "--json"}).out);
  }

  testing::TempFolder folder_;
};

TEST_F(Learning, SortsWithinAThousandSteps) {
  const Json result = learnt("sort", {"--max-steps", "1000"});
  EXPECT_EQ(result["pairs"], 5000);
  EXPECT_EQ(result["exact_match"], 1.0);
}

TEST_F(Learning, AddsTwoDigits) {
  const Json result = learnt("add", {"-t", "1"});
  EXPECT_EQ(result["pairs"], 500);
  EXPECT_EQ(result["exact_match"], 1.0);
}

}  // namespace
}  // namespace zoo
