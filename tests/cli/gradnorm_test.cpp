// transformer-cli gradnorm, as a user runs it.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/json.h"
#include "tests/cli/run_cli.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::TempFolder;

TEST(GradnormCommand, WritesNumbersAndPictures) {
  const TempFolder folder;
  const CliResult result =
      run_cli({"gradnorm", "time", "--models", "linear,lstm", "--init", "orth", "--rho", "0.9",
               "--d", "16", "--seeds", "2", "--check", "-o", utf8(folder / "out"), "-t", "1"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(holds(result.out, "linear")) << result.out;
  EXPECT_FALSE(holds(result.out, "FAILED")) << result.out;

  const Json json = read_json_file(folder / "out" / "gradnorm.json");
  EXPECT_EQ(json["dtype"], "float64");
  ASSERT_EQ(json["curves"].size(), 6U) << "h of one model, h and c of the other, of two seeds";
  EXPECT_EQ(json["curves"][0]["k"].size(), 100U);
  EXPECT_LT(json["curves"][0]["max_rel_err"].get<double>(), 1e-12);
  EXPECT_EQ(json["fits"].size(), 3U);
  for (const Json& check : json["checks"]) EXPECT_EQ(check["pass"], true) << check.dump();
  const std::string table = read_file(folder / "out" / "time.csv");
  EXPECT_TRUE(
      table.starts_with("model,observed,seed,T,k,t,g,r,theory,rel_err\nlinear,h,1337,100,0,100,"))
      << table.substr(0, 100);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 6 * 100);
  EXPECT_TRUE(read_file(folder / "out" / "time.svg").ends_with("</svg>\n"));
  EXPECT_TRUE(read_file(folder / "out" / "attention.svg").ends_with("</svg>\n"));
}

// Theory is of wide networks: one of width 8 does not keep to it.
TEST(GradnormCommand, AFailedCheckEndsWithCodeOne) {
  const std::vector<std::string> narrow{"gradnorm", "depth", "--depths", "2,3,4",   "--d",
                                        "8",        "--T",   "4",        "--batch", "2",
                                        "--seeds",  "1",     "-t",       "1"};
  const CliResult told = run_cli(narrow);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_TRUE(holds(told.out, "FAILED")) << told.out;
  std::vector<std::string> checked = narrow;
  checked.emplace_back("--check");
  const CliResult result = run_cli(checked);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(holds(result.err, "checks failed: G9")) << result.err;
}

TEST(GradnormCommand, RefusesWhatItDoesNotKnow) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    std::vector<std::string> all{"gradnorm"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CliResult result = run_cli(all);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_TRUE(holds(result.err, message)) << result.err;
  };
  refused({}, "no mode is given; name one: time, depth, jacobian, train");
  refused({"tme"}, "did you mean \"time\"?");
  refused({"time", "--models", "rnn,lstn"}, "\"lstn\" is refused");
  refused({"depth", "--depths", "2,x"},
          "--depths: \"x\" is not an integer; allowed: an integer 1 <= x <= 1000");
  refused({"time", "--d", "30"}, "the Transformer's 4 heads need a multiple of 4");
  refused({"time", "--layers", "9"}, "take fewer layers");
  refused({"time", "--dtype", "bf16"}, "allowed: f64, f32");
  refused({"time", "a.json"}, "\"a.json\": mode time draws its networks itself");
  refused({"train"}, "no model is given; name configs, runs or checkpoints");
  refused({"train", "a.json"}, "needs -o/--out DIR");
}

}  // namespace
}  // namespace zoo
