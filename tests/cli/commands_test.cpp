// What all commands have in common: exit codes, messages, streams, JSON, and names that are no
// ASCII.

#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::run_shell;
using Arguments = std::vector<std::string>;

/// Fails unless the command is refused with this exit code and a message that holds these parts.
void expect_refused(const Arguments& arguments, int code, const std::vector<std::string>& parts,
                    const fs::path& where = ".") {
  const CliResult result = run_cli(arguments, "", where);
  EXPECT_EQ(result.code, code) << join(arguments, " ");
  EXPECT_EQ(result.out, "") << join(arguments, " ");
  EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
  for (const std::string& part : parts) EXPECT_TRUE(holds(result.err, part)) << result.err;
}

Json json_of(const Arguments& arguments, const fs::path& where = ".") {
  const CliResult result = run_cli(arguments, "", where);
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out);
}

TEST(Usage, SaysWhatWasMeant) {
  expect_refused({"trian"}, 2, {"unknown command \"trian\"", "did you mean \"train\"?"});
  expect_refused({"generate", "--promt", "x"}, 2,
                 {"unknown flag --promt", "did you mean --prompt?"});
  expect_refused({"train", "--lr", "1", "--learning-rate", "2"}, 2,
                 {"--learning-rate: given more than once, as \"1\" and \"2\""});
  expect_refused({"inspect", "gpt2", "--batch-size", "0"}, 2,
                 {"--batch-size: 0 is refused", "nearest allowed: 1"});
  expect_refused({"inspect", "gpt2", "--batch-size", "1.5"}, 2, {"\"1.5\" is not an integer"});
  expect_refused({"env", "--dtype", "float33"}, 2, {"did you mean \"float32\"?"});
  expect_refused({"env", "--quiet", "--verbose"}, 2, {"contradict"});
  expect_refused({"env", "extra"}, 2, {"unexpected argument \"extra\""});
  expect_refused({"train", "--set"}, 2, {"--set: needs a value"});
  expect_refused({"train"}, 2, {"-o/--output"});
}

TEST(Usage, TakesUnderscoresAndTheSameValueTwice) {
  const CliResult hyphens = run_cli({"inspect", "gpt2", "--batch-size", "2", "--memory"});
  EXPECT_EQ(hyphens.code, 0) << hyphens.err;
  EXPECT_EQ(run_cli({"inspect", "gpt2", "--batch_size=2", "--batch-size", "2", "--memory"}).out,
            hyphens.out);
}

TEST(Usage, ClosedPipeAndFullDisk) {
  const CliResult piped = run_shell("transformer-cli config list | head -1");
  EXPECT_EQ(piped.code, 0);
  EXPECT_EQ(piped.err, "");
  if (fs::exists("/dev/full")) {
    const CliResult full = run_shell("transformer-cli config schema > /dev/full");
    EXPECT_EQ(full.code, 3);
    EXPECT_TRUE(holds(full.err, "standard output: ")) << full.err;
  }
}

TEST(Usage, MissingFiles) {
  const testing::TempFolder folder;
  const fs::path& where = folder.path();
  expect_refused({"inspect", "gpt5"}, 3, {"gpt5: ", "did you mean \"gpt2\"?"}, where);
  expect_refused({"eval", "none", "--data", "none.txt"}, 3, {"none: "}, where);
  expect_refused({"generate", "none", "-p", ""}, 3, {"none: "}, where);
  expect_refused({"config", "check", "none.json"}, 3, {"none.json: "}, where);
  expect_refused({"data", "stats", "none.txt"}, 3, {"none.txt: "}, where);
  expect_refused({"train", "none.json", "-o", "run"}, 3, {"none.json: "}, where);
  expect_refused({"train", "--data", "none.txt", "-o", "run"}, 3, {"none.txt: "}, where);
}

TEST(ConfigCommand, ShowsChecksExplains) {
  const testing::TempFolder folder;
  const fs::path& where = folder.path();
  write_file(where / "good.json", R"({"model": {"type": "gpt", "num_layers": 3}} // a comment)");
  write_file(where / "key.json", R"({"model": {"type": "gpt", "blok": {}}})");
  write_file(where / "type.json", R"({"model": {"num_layers": "six"}})");
  write_file(where / "heads.json",
             R"({"model": {"d_model": 100, "block": {"attention": {"num_heads": 3}}}})");

  const Json shown =
      json_of({"config", "show", "good.json", "--set", "training.max_steps=7"}, where);
  EXPECT_EQ(shown["model"]["num_layers"], 3);
  EXPECT_EQ(shown["training"]["max_steps"], 7);
  EXPECT_EQ(run_cli({"config", "check", "good.json"}, "", where).out, "good.json: ok\n");

  expect_refused({"config", "check", "key.json"}, 2,
                 {"key.json#/model/blok: unknown key \"blok\"; did you mean \"block\"?"}, where);
  expect_refused({"config", "check", "type.json"}, 2,
                 {"type.json#/model/num_layers: expected an integer, found the string \"six\""},
                 where);
  expect_refused({"config", "check", "heads.json"}, 2,
                 {"heads.json#/model: num_heads 3 does not divide d_model 100"}, where);
  write_file(where / "comma.json", R"({"model": {"num_layers": 6,}})");
  expect_refused({"config", "check", "comma.json"}, 3,
                 {"comma.json: not valid JSON", "line 1, column 28"}, where);
  expect_refused({"config", "check", "key.json", "type.json"}, 2,
                 {"#/model/blok", "#/model/num_layers", "2 of 2 configs cannot be used"}, where);
  expect_refused({"config", "show", "--set", "training.max_step=1"}, 2,
                 {"--set#/training/max_step: unknown key", "did you mean \"max_steps\"?"});
  expect_refused({"config", "chek"}, 2, {"did you mean \"check\"?"});
  expect_refused({"config", "explain", "num_heds"}, 2, {"did you mean \"num_heads\"?"});
  expect_refused({"config", "diff", "good.json"}, 2, {"needs two configs or folders, found 1"},
                 where);

  const Json explained =
      json_of({"config", "explain", "model.block.attention.num_heads", "--json"});
  ASSERT_EQ(explained.size(), 4U);  // of four models
  EXPECT_EQ(explained[0]["default"], 12);
  EXPECT_EQ(explained[1]["default"], 8);
  EXPECT_EQ(explained[2]["default"], 12);
  EXPECT_EQ(explained[3]["default"], 12);
  EXPECT_EQ(explained[0]["bounds"], ">= 1");
  write_file(where / "other.json", R"({"model": {"num_layers": 4}})");
  const Json differences = json_of({"config", "diff", "good.json", "other.json", "--json"}, where);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_TRUE(holds(differences[0]["key"].get<std::string>(), "num_layers"));
  EXPECT_GT(json_of({"config", "list", "--json"}).size(), 50U);
  EXPECT_TRUE(json_of({"config", "schema"}).contains("$schema"));
}

TEST(InspectCommand, CountsTheParametersOfGpt2) {  // Radford et al. 2019's small model
  const CliResult result = run_cli({"inspect", "gpt2", "--quiet"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(holds(result.out, "124,439,808")) << result.out;
  EXPECT_TRUE(holds(json_of({"inspect", "gpt2", "--json"}).dump(), "124439808"));
}

TEST(InfoCommands, PrintJson) {
  EXPECT_TRUE(json_of({"env", "--json"}).contains("libtorch"));
  EXPECT_FALSE(json_of({"models", "--json"}).empty());
}

TEST(EvalCommand, AgreesWithTrainingAndGates) {
  const testing::SmallRun folder;
  const fs::path& where = folder.path();
  const std::string model = testing::SmallRun::kModel;
  std::string last;
  for_each_line(read_file(where / model / "metrics.jsonl"), [&](std::string_view line) {
    if (line.find("valid_loss") != std::string_view::npos) last = line;
  });
  const double trained = Json::parse(last)["valid_loss"];
  const Json result = json_of({"eval", model, "--json", "--quiet"}, where);
  EXPECT_NEAR(result["loss"].get<double>(), trained, 1e-5);
  EXPECT_NEAR(result["perplexity"].get<double>(), std::exp(trained), 1e-2);

  // Results go to standard output even when a gate closes, and nothing else does.
  const CliResult closed = run_cli({"eval", model, "--min-score", "1", "--quiet"}, "", where);
  EXPECT_EQ(closed.code, 4);
  EXPECT_TRUE(closed.out.starts_with("loss = ")) << closed.out;
  EXPECT_TRUE(closed.err.starts_with("error: --min-score: loss is ")) << closed.err;
  const CliResult open = run_cli({"eval", model, "--min-score", "100", "--quiet"}, "", where);
  EXPECT_EQ(open.code, 0);
  EXPECT_EQ(open.err, "");

  // train: one line on standard output, the log on standard error.
  EXPECT_EQ(folder.training.lines().size(), 1U);
  EXPECT_TRUE(folder.training.out.starts_with("valid_loss ")) << folder.training.out;
  EXPECT_TRUE(holds(folder.training.err, "valid_loss"));
  expect_refused({"train", "--data", "text.txt", "-o", model}, 2,
                 {"not empty", "--resume", "--overwrite"}, where);
}

TEST(Paths, AnyUtf8InAnyLocale) {  // SYS-3
  const testing::TempFolder folder;
  const std::string name = "modèle Ω 模型 🦊";
  fs::create_directories(folder.path() / utf8_path(name));
  write_file(folder.path() / utf8_path(name) / utf8_path("données 数据.txt"),
             testing::small_text(40));
  const std::string data = testing::shell_quoted(name + "/données 数据.txt");
  const std::string run = testing::shell_quoted(name + "/run 1");
  std::string train = cat("transformer-cli train -q --data ", data, " -o ", run);
  for (const std::string& argument : testing::kTinyModel) train += " " + argument;
  for (const std::string& line : {train, cat("transformer-cli generate ", run, " -p 'To be' -n 3"),
                                  cat("transformer-cli eval ", run, " --data ", data),
                                  cat("transformer-cli inspect ", run, " --tensors"),
                                  cat("transformer-cli tokenize ", run, " -i ", data, " --count"),
                                  cat("transformer-cli config diff ", run, " ", run),
                                  cat("transformer-cli data stats ", data)}) {
    const CliResult result = run_shell("export LC_ALL=C\n" + line, "", folder.path());
    EXPECT_EQ(result.code, 0) << line << "\n" << result.err;
    EXPECT_NE(result.out, "") << line;
  }
}

}  // namespace
}  // namespace zoo
