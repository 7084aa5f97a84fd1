// transformer-cli cost and bench, as a user runs them.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/run_cli.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::TempFolder;

void expect_parts(const CliResult& result, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.code, 0) << result.err;
  for (const std::string& part : parts)
    EXPECT_TRUE(holds(result.out, part)) << part << "\n" << result.out;
}

void expect_refusal(const std::vector<std::string>& arguments, int code, const std::string& part) {
  const CliResult result = run_cli(arguments);
  EXPECT_EQ(result.code, code) << result.out;
  EXPECT_TRUE(holds(result.err, part)) << result.err;
  EXPECT_EQ(result.out, "");
}

// A small model that is built in no time.
const std::vector<std::string> kSmall = {"nanogpt-cpu", "--set", "model.vocab_size=100", "--set",
                                         "model.num_layers=1"};

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(CostCommand, PrintsThePublishedFigures) {
  expect_parts(run_cli({"cost", "gpt2-xl"}), {"gpt: 1,557,611,200 parameters, 6.23 GB in float32"});
  expect_parts(run_cli({"cost", "gpt2"}), {"45.5%", "its KV cache, MHA of 12", "as MQA of 1"});
  const CliResult llama =
      run_cli({"cost", "llama2-70b", "--tokens", "4096,100000", "--dtype", "float16"});
  expect_parts(llama, {"as MHA of 64", "its KV cache, GQA of 8", "as MQA of 1", "10.7 GB",
                       "1.34 GB", "1.28 TB"});
  EXPECT_TRUE(holds(llama.err, "--tokens: 100000 is more than the model's longest sequence, 4096"));
  expect_parts(run_cli({"cost", "llama2-70b", "--tokens", "100000", "-q"}), {"2.56 TB"});
  expect_parts(run_cli({"cost", "--parameters", "7.5e9", "--ranks", "64"}),
               {"on each of 64 ranks", "120 GB", "31.4 GB", "16.6 GB", "1.88 GB"});
  expect_parts(run_cli({"cost", "--parameters", "175e9"}), {"700 GB in float32", "2.80 TB"});
  expect_parts(run_cli({"cost", "--parameters", "175e9", "--dtype", "float16"}),
               {"350 GB in float16"});
}

TEST(CostCommand, PrintsJson) {
  const CliResult result = run_cli(
      {"cost", "llama2-70b", "--tokens", "4096", "--dtype", "bfloat16", "--ranks", "8", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = parse_json(result.out, "cost");
  EXPECT_EQ(json["parameters"]["total"], 68976648192);
  const Json& length = json["lengths"][0];
  EXPECT_EQ(length["tokens"], 4096);
  EXPECT_EQ(length["cache_bytes"], 1342177280.0);
  EXPECT_EQ(length["cache_forms"].size(), 3U);
  EXPECT_EQ(length["cache_forms"][1]["own"], true);
  EXPECT_EQ(json["training"].size(), 2U);
  EXPECT_EQ(json["training"][1]["zero_3"], 68976648192 * 2.0);  // 16 bytes over 8 ranks
}

TEST(CostCommand, MeasuresABuiltModel) {
  const CliResult result = run_cli(
      with(with({"cost"}, kSmall), {"--batch-size", "2", "--measure", "--json", "-t", "1"}));
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = parse_json(result.out, "cost");
  ASSERT_EQ(json["measured"].size(), 8U);
  for (const char* what : {"parameters", "weights", "forward pass", "KV cache"})
    for (const Json& cost : json["measured"])
      if (cost["what"] == what) EXPECT_EQ(cost["predicted"], cost["measured"]) << what;
  expect_parts(run_cli(with(with({"cost"}, kSmall), {"--measure", "-t", "1"})),
               {"measured in float32 with 64 tokens", "forward pass, FLOPs", "1.000"});
}

TEST(CostCommand, RefusesWhatItCannotCount) {
  expect_refusal({"cost"}, 2, "cost: no model was given; name a folder, a config file or a preset");
  expect_refusal({"cost", "gpt9"}, 3, "gpt9: no such folder, file or preset; did you mean");
  expect_refusal({"cost", "gpt2", "--tokens", "10,0"}, 2, "--tokens: 0 is refused");
  expect_refusal({"cost", "gpt2", "--dtype", "float8"}, 2, "--dtype: \"float8\" is refused");
  expect_refusal({"cost", "gpt2", "--parameters", "1e9"}, 2, "--parameters: stands for a model");
  expect_refusal({"cost", "vit-tiny", "--tokens", "10"}, 2,
                 "--tokens: a picture of this model has 197 tokens");
  expect_refusal(with(with({"cost"}, kSmall), {"--measure", "--tokens", "65"}), 2,
                 "--measure: 65 tokens do not fit into the model; allowed: 1 to 64");
  expect_refusal({"cost", "nanogpt-cpu", "--measure"}, 2, "vocab_size is 0");
  expect_refusal({"cost", "gpt3", "--measure", "--tokens", "1"}, 2,
                 "cost: measuring takes about 2.8 TB, but ");
}

TEST(BenchCommand, TimesAModel) {
  const TempFolder folder;
  const std::vector<std::string> arguments =
      with({"bench", "model", "-m"}, with(kSmall, {"--prompt-tokens", "4", "--new-tokens", "4",
                                                   "--threads-list", "1", "--repeat", "1"}));
  expect_parts(run_cli(with(arguments, {"--train"})),
               {"first token", "tokens/s", "MFU", "write", "train"});
  const std::string csv = utf8(folder / "model.csv"), json = utf8(folder / "model.json");
  const CliResult result = run_cli(with(arguments, {"-o", csv, "-o", json, "--json"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_file(folder / "model.json"), result.out);
  EXPECT_EQ(parse_json(result.out, "bench")["rows"][0]["work"], "write");
  const std::string table = read_file(folder / "model.csv");
  EXPECT_TRUE(table.starts_with("work,threads,seconds,first_token_seconds,")) << table;
  EXPECT_EQ(split(table, '\n').size(), 3U);
}

TEST(BenchCommand, TimesPartsByLength) {
  const TempFolder folder;
  const auto run = [&](const std::vector<std::string>& arguments) {
    return run_cli(with(with({"bench"}, arguments), {"--lengths", "4,8,16", "--repeat", "1"}));
  };
  expect_parts(run({"attention", "--heads", "2", "--head-dim", "8"}),
               {"fused", "explicit", "forward and backward", "exponents in the number of tokens"});
  expect_parts(run({"cache"}), {"with cache", "without cache", "all tokens", "last token"});
  expect_parts(run({"scoring", "--width", "8"}),
               {"additive", "scaled dot", "largest of 64 weights of dot: "});
  expect_parts(run({"layers", "--width", "8"}),
               {"tanh RNN", "convolution", "longest path",
                "attention and tanh RNN, forward: as many FLOPs at 8 tokens, as much time "});
  const CliResult files = run({"layers", "--width", "8", "-o", utf8(folder / "a.svg"), "-o",
                               utf8(folder / "a.csv"), "-o", utf8(folder / "a.json")});
  EXPECT_EQ(files.code, 0) << files.err;
  EXPECT_TRUE(read_file(folder / "a.svg").starts_with("<svg"));
  EXPECT_EQ(split(read_file(folder / "a.csv"), '\n').size(), 1U + 5 * 2 * 3 + 1);
  EXPECT_EQ(parse_json(read_file(folder / "a.json"), "a.json")["points"].size(), 30U);
}

TEST(BenchCommand, RefusesWhatItCannotTime) {
  expect_refusal({"bench"}, 2, "bench model: no model was given");
  expect_refusal({"bench", "atention"}, 2, "did you mean \"attention\"?");
  expect_refusal({"bench", "attention", "--lengths", "8,8"}, 2,
                 "--lengths: 8 follows 8; give them in rising order");
  expect_refusal({"bench", "attention", "-m", "gpt2"}, 2,
                 "bench attention: times parts of a size given by flags");
  expect_refusal({"bench", "attention", "--kv-heads", "3"}, 2,
                 "--kv-heads: 3 does not divide --heads 4");
  expect_refusal({"bench", "layers", "--width", "9"}, 2, "--heads: 4 does not divide --width 9");
  expect_refusal({"bench", "layers", "--train"}, 2,
                 "--train: bench layers has no use for it; it belongs to model");
  expect_refusal({"bench", "layers", "--dtype", "bfloat16"}, 2,
                 "--dtype: bench layers times float32 only; leave it out");
  expect_refusal({"bench", "layers", "-o", "x.txt"}, 2,
                 "--output: x.txt ends in \".txt\"; allowed: .json, .csv, .svg");
  expect_refusal({"bench", "model", "-m", "gpt2", "-o", "x.svg"}, 2,
                 "--output: x.svg ends in \".svg\"; allowed: .json, .csv");
  expect_refusal({"bench", "cache", "-m", "bert-tiny"}, 2,
                 "bench cache: a model of type bert has no cache that could be left out");
  expect_refusal({"bench", "attention", "--lengths", "1000000"}, 2,
                 "bench attention: 1000000 tokens with all weights held take about 64.0 TB, but ");
}

}  // namespace
}  // namespace zoo
