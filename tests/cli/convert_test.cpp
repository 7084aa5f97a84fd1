// transformer-cli convert, and the commands that take a folder of Hugging Face's as it is.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::TempFolder;

fs::path golden(const std::string& name) {
  return fs::path(ZOO_SOURCE_DIR) / "tests/golden/checkpoint" / name;
}

void expect_refused(const std::vector<std::string>& arguments, int code, const std::string& part) {
  const CliResult result = run_cli(arguments);
  EXPECT_EQ(result.code, code) << join(arguments, " ");
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(holds(result.err, part)) << result.err;
}

TEST(Convert, WritesChecksAndReports) {
  const TempFolder folder;
  const std::string hf = utf8(folder / "hf"), zoo = utf8(folder / "zoo");
  const CliResult first = run_cli({"convert", utf8(golden("gpt2_untied")), "-o", hf, "--check"});
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.lines().size(), 2);
  EXPECT_TRUE(holds(first.out, hf + ": gpt2, 1,")) << first.out;
  EXPECT_TRUE(holds(first.out, "parameters in float32, 1 file, ")) << first.out;
  EXPECT_TRUE(holds(first.out, "largest deviation of a logit: 0 (allowed 0;")) << first.out;
  EXPECT_FALSE(fs::exists(folder / "hf/zoo.json"));

  const CliResult second = run_cli({"convert", "-m", hf, "-o", zoo, "--to", "zoo", "--dtype",
                                    "float16", "--max-shard-size", "2KB", "--check", "--json"});
  ASSERT_EQ(second.code, 0) << second.err;
  const Json json = Json::parse(second.out);
  EXPECT_EQ(json["model_type"], "gpt2");
  EXPECT_EQ(json["dtype"], "float16");
  EXPECT_GT(json["files"], 1);
  EXPECT_GT(json["check"]["largest_deviation"], 0);
  EXPECT_LE(json["check"]["largest_deviation"], json["check"]["allowed"]);
  EXPECT_TRUE(fs::exists(folder / "zoo/zoo.json"));
  EXPECT_TRUE(fs::exists(folder / "zoo/model.safetensors.index.json"));
}

TEST(Convert, RefusesWithTheUsualCodes) {
  const TempFolder folder;
  const std::string model = utf8(golden("gpt2_tied")), output = utf8(folder / "out");
  expect_refused({"convert", model}, 2, "no output folder is given; name one with -o DIR");
  expect_refused({"convert", "-o", output}, 2, "no model is given");
  expect_refused({"convert", "-o", output, model, "--max-shard-size", "5 GB"}, 2,
                 "--max-shard-size: \"5 GB\" is no size; give a whole number with KB, MB, GB");
  expect_refused({"convert", "-o", output, model, "--max-shard-size", "0"}, 2, "at least 1 byte");
  expect_refused({"convert", "-o", output, model, "--dtype", "int8"}, 2, "allowed");
  expect_refused({"--dtype", "bfloat16", "convert", "-o", output, model}, 2,
                 "--dtype: stands before \"convert\"");
  expect_refused({"convert", "-o", output, utf8(folder / "none")}, 3, "there is no such folder");
  EXPECT_FALSE(fs::exists(folder / "out"));

  write_file(folder / "out/kept.txt", "x");
  expect_refused({"convert", "-o", output, model}, 2, "is not empty; give --overwrite");
  EXPECT_EQ(read_file(folder / "out/kept.txt"), "x");
  EXPECT_EQ(run_cli({"convert", "-o", output, model, "--overwrite"}).code, 0);
  EXPECT_FALSE(fs::exists(folder / "out/kept.txt"));
}

// A model whose logits are not numbers passes no check.
TEST(Convert, ACheckThatFailsWritesNothing) {
  const TempFolder folder;
  fs::copy(golden("gpt2_tied"), folder / "m", fs::copy_options::recursive);
  std::string bytes = read_file(folder / "m/model.safetensors");
  for (size_t i = bytes.size() - 64; i < bytes.size(); ++i) bytes[i] = '\xFF';  // NaN
  write_file(folder / "m/model.safetensors", bytes);
  expect_refused({"convert", utf8(folder / "m"), "-o", utf8(folder / "out"), "--check"}, 4,
                 "its logits are not all numbers; nothing is written");
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST(Convert, OurTranslationModelsOfMariansShapeKeepTheirTexts) {
  const TempFolder folder;
  write_file(folder / "pairs.tsv", testing::reversed_letters(40));
  std::vector<std::string> train = {"train", "-o", "run", "--max-steps", "2"};
  for (const std::string& argument : testing::kTinyTranslation) train.push_back(argument);
  for (const char* setting : {"model.position={\"type\": \"sinusoidal\", \"layout\": \"halves\"}",
                              "model.output_bias=true"}) {
    train.emplace_back("--set");
    train.emplace_back(setting);
  }
  const CliResult trained = run_cli(train, "", folder.path());
  ASSERT_EQ(trained.code, 0) << trained.err;
  const CliResult converted = run_cli({"convert", "run", "-o", "hf", "--check"}, "", folder.path());
  ASSERT_EQ(converted.code, 0) << converted.err;
  EXPECT_TRUE(holds(converted.out, "hf: marian, ")) << converted.out;
  for (const char* file : {"source.spm", "target.spm", "vocab.json", "tokenizer_config.json"})
    EXPECT_TRUE(fs::exists(folder / "hf" / file)) << file;
  EXPECT_FALSE(fs::exists(folder / "hf/spm.model"));
  const std::string text = "a b c\nb\n";
  const CliResult before = run_cli({"translate", "run"}, text, folder.path());
  const CliResult after = run_cli({"translate", "hf"}, text, folder.path());
  ASSERT_EQ(before.code, 0) << before.err;
  EXPECT_EQ(after.out, before.out) << after.err;
}

TEST(HuggingFaceFolder, IsTranslatedWithAsItIs) {
  const Json expected = read_json_file(golden("marian_shared") / "expected.json");
  std::string source, wanted;
  for (const Json& example : expected["translate"]) {
    source += example["text"].get<std::string>() + "\n";
    wanted += example["translation"].get<std::string>() + "\n";
  }
  const CliResult result = run_cli(
      {"translate", utf8(golden("marian_shared")), "--beam-size", "1", "--max-length", "10"},
      source);
  EXPECT_EQ(result.out, wanted) << result.err;
  EXPECT_EQ(run_cli({"tokenize", "--tokenizer", utf8(golden("marian_shared") / "source.spm")},
                    "a green table\n")
                .out,
            "31 27 11 19 9 9 17 47\n");
}

}  // namespace
}  // namespace zoo
