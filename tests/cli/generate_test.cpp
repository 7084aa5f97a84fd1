// generate, tokenize, detokenize and train-tokenizer as a user runs them.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/json.h"
#include "tests/cli/run_cli.h"
#include "tests/support/model_a.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::holds;
using testing::run_cli;
using Lines = std::vector<std::string>;

/// Model A, whose tokens are 0, 1, 2 and the end token.
class GenerateCommand : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_model_a(folder_.path(), {.tokenizer = true}); }

  CliResult generate(Lines flags, const std::string& input = "") {
    flags.insert(flags.begin(), {"generate", "-m", utf8(folder_.path())});
    return run_cli(flags, input);
  }
  /// What is said when the flags are refused.
  std::string refusal(const Lines& flags, int code = 2) {
    const CliResult result = generate(flags);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  testing::TempFolder folder_;
};

TEST_F(GenerateCommand, OneLineForEachLine) {  // SAM-7, TXT-3
  for (const char* batch_size : {"1", "2", "64"}) {
    const CliResult result = generate({"-n", "6", "--batch-size", batch_size}, "1\n\n01\n   \n\n");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "2\n\n2\n\n\n") << batch_size;
    EXPECT_EQ(generate({"-n", "6", "--batch-size", batch_size}, "0\n1\r\n2").out, "\n2\n\n");
  }
}

TEST_F(GenerateCommand, BatchesCacheAndThreadsChangeNoText) {
  std::string input;
  for (int i = 0; i < 20; ++i) input += std::string(static_cast<size_t>(1 + i % 5), '1') + "\n";
  const Lines sampled = {"-n", "40", "--temperature", "3", "--ignore-eos"};
  const auto with = [&](Lines more) {
    more.insert(more.begin(), sampled.begin(), sampled.end());
    const CliResult result = generate(more, input);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.lines().size(), 20);
    return result.out;
  };
  const std::string expected = with({"--batch-size", "1"});
  EXPECT_EQ(with({}), expected);
  EXPECT_EQ(with({"--batch-size", "64"}), expected);
  EXPECT_EQ(with({"--no-cache"}), expected);
  EXPECT_EQ(with({"--threads", "1"}), expected);
  EXPECT_EQ(with({"--top-k", "4"}), expected);       // SAM-5
  EXPECT_EQ(with({"--top-k", "100000"}), expected);  // SAM-5
  EXPECT_NE(with({"--seed", "1"}), expected);
}

TEST_F(GenerateCommand, OnePromptIsWrittenAsItIs) {
  const CliResult result = generate({"-p", "1"});
  EXPECT_EQ(result.out, "2\n");
  EXPECT_TRUE(holds(result.err, "ended at the end token (eos); 2 tokens, ")) << result.err;
  EXPECT_TRUE(holds(result.err, " tokens/s"));
  EXPECT_EQ(generate({"-p", "1", "--echo"}).out, "12\n");
  EXPECT_EQ(generate({"-p", "1", "--stream", "--echo"}).out, "12\n");
  EXPECT_EQ(generate({"-p", "1", "--quiet"}).err, "");
  EXPECT_EQ(generate({"--whole-input"}, "1").out, "2\n");
  EXPECT_TRUE(holds(generate({"-p", "1", "-n", "1"}).err, "ended at max-new-tokens 1 (length)"));
}

TEST_F(GenerateCommand, PromptFilesAndTheFirstArgument) {
  write_file(folder_ / "prompts.txt", "1\n0\n");
  EXPECT_EQ(generate({"--prompt-file", utf8(folder_ / "prompts.txt")}).out, "2\n\n");
  EXPECT_EQ(run_cli({"generate", utf8(folder_.path()), "-p", "1"}).out, "2\n");
  EXPECT_TRUE(holds(refusal({"--prompt-file", utf8(folder_ / "none.txt")}, 3), "none.txt"));
}

TEST_F(GenerateCommand, JsonLines) {
  const CliResult result = generate({"--output-format", "jsonl", "--scores", "token"}, "1\n\n");
  ASSERT_EQ(result.lines().size(), 2) << result.err;
  const Json first = parse_json(result.lines()[0], "line 1");
  EXPECT_EQ(first["prompt"], "1");
  EXPECT_EQ(first["text"], "2");
  EXPECT_EQ(first["tokens"], (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(first["finish_reason"], "eos");
  EXPECT_EQ(first["seed"], 1337);
  EXPECT_GT(first["tokens_per_s"].get<double>(), 0);
  const double sum =
      testing::model_a_log_probability(1, 2) + testing::model_a_log_probability(2, 3);
  EXPECT_NEAR(first["score"].get<double>(), sum, 1e-4);
  EXPECT_EQ(first["token_scores"].size(), 2);
  const Json blank = parse_json(result.lines()[1], "line 2");
  EXPECT_EQ(blank["text"], "");
  EXPECT_TRUE(blank["finish_reason"].is_null());
  EXPECT_EQ(generate({"-p", "1", "--json", "--scores", "none"}).lines().size(), 1);
}

TEST_F(GenerateCommand, BeamSearch) {  // BEAM-3
  const Lines beam = {"-p", "0", "-n", "6", "--beam-size", "2", "--json", "--length-penalty"};
  const auto best = [&](const char* exponent) {
    Lines flags = beam;
    flags.emplace_back(exponent);
    return parse_json(generate(flags).out, "output");
  };
  EXPECT_EQ(best("0")["text"], "");
  EXPECT_NEAR(best("0")["score"].get<double>(), -.8675, 1e-4);
  EXPECT_EQ(best("1")["text"], "12");
  EXPECT_NEAR(best("1")["score"].get<double>() * 3, -.9579, 1e-4);
}

TEST_F(GenerateCommand, SamplesScoresStopsAndBans) {
  EXPECT_EQ(generate({"-p", "0", "--num-samples", "3", "-n", "1", "--top-k", "1"}).out,
            "\n---\n\n---\n\n");
  EXPECT_EQ(generate({"--num-samples", "2", "--top-k", "1"}, "1\n\n").out, "2\n2\n\n\n");
  EXPECT_EQ(generate({"-p", "1", "--stop", "2"}).out, "\n");
  EXPECT_TRUE(holds(generate({"-p", "1", "--stop", "2"}).err, "ended at a stop text (stop)"));
  EXPECT_EQ(generate({"-p", "1", "-n", "3", "--ban", "2"}).out, "\n");
  EXPECT_EQ(generate({"-p", "1", "-n", "1", "--logit-bias", "2=-inf", "--logit-bias", "3=-50"}).out,
            "1\n");
  EXPECT_EQ(generate({"-p", "1", "--scores", "sum"}).out.substr(0, 5), "-0.04");
  EXPECT_EQ(generate({"-p", "0", "--temperature", "0"}).out, "\n");
}

TEST_F(GenerateCommand, ALongContextSlides) {
  EXPECT_EQ(generate({"-p", "1", "-n", "50", "--ignore-eos", "--ban", "0"}).code, 0);
  const CliResult result = generate({"-p", std::string(40, '1'), "-n", "6"});
  EXPECT_EQ(result.out, "2\n");
  EXPECT_TRUE(holds(result.err, "40 tokens are more than the model's context of 16")) << result.err;
  EXPECT_TRUE(holds(refusal({"-p", std::string(16, '1')}), "--max-new-tokens"));
}

TEST_F(GenerateCommand, RefusesContradictions) {
  EXPECT_TRUE(holds(refusal({"-p", "1", "--greedy", "--top-k", "3"}), "--greedy"));
  EXPECT_TRUE(
      holds(refusal({"-p", "1", "--temperature", "0", "--top-p", "0.5"}), "--temperature 0"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--beam-size", "2", "--top-p", "0.5"}), "--beam-size"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--greedy", "--beam-size", "2"}), "--greedy"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--greedy", "--num-samples", "2"}), "--num-samples"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--stream", "--num-samples", "2"}), "--stream"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--prompt-file", "x"}), "--prompt-file"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--whole-input"}), "--whole-input"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--top-k", "-1"}), "--top-k: -1 is refused"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--top-p", "1.5"}), "nearest allowed: 1"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--logit-bias", "x=1"}), "ID=X"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--logit-bias", "9=1"}), "outside the vocabulary"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--stop", "\\q"}), "--stop"));
  EXPECT_TRUE(holds(refusal({"-p", "1", "--min-new-tokens", "5", "-n", "4"}), "min_new_tokens"));
  EXPECT_TRUE(holds(refusal({"-p", "x"}, 3), "prompt: "));
  EXPECT_TRUE(holds(run_cli({"generate", "-p", "1"}).err, "no model is given"));
}

TEST_F(GenerateCommand, TokenizeAndBack) {
  const std::string model = utf8(folder_.path());
  EXPECT_EQ(run_cli({"tokenize", model}, "012\n\n21\n").out, "0 1 2\n\n2 1\n");
  EXPECT_EQ(run_cli({"tokenize", "--tokenizer", model, "--pieces"}, "012").out, "0 1 2\n");
  EXPECT_EQ(run_cli({"tokenize", model, "--count"}, "012\n\n").out, "3\n0\n");
  EXPECT_EQ(run_cli({"tokenize", model, "--special"}, "0<|endoftext|>").out, "0 3\n");
  EXPECT_EQ(parse_json(run_cli({"tokenize", model, "--json"}, "01").out, "json")["count"], 2);
  EXPECT_EQ(run_cli({"detokenize", model}, "0 1  2\n\n2 3\n").out, "012\n\n2\n");
  EXPECT_EQ(run_cli({"detokenize", model, "--special"}, "2 3").out, "2<|endoftext|>\n");
  EXPECT_EQ(run_cli({"detokenize", model, "--whole-input"}, "0 1\n2\n").out, "012");

  EXPECT_EQ(run_cli({"tokenize"}).code, 2);
  EXPECT_EQ(run_cli({"tokenize", model, "--tokenizer", model}).code, 2);
  EXPECT_EQ(run_cli({"tokenize", model, "--ids", "--count"}).code, 2);
  const CliResult foreign = run_cli({"tokenize", model}, "0\nx\n");
  EXPECT_EQ(foreign.code, 3);
  EXPECT_TRUE(holds(foreign.err, "standard input:2: ")) << foreign.err;
  const CliResult bad = run_cli({"detokenize", model}, "0\n1 4\n");
  EXPECT_EQ(bad.code, 3);
  EXPECT_TRUE(holds(bad.err, "standard input:2: \"4\" is not an id")) << bad.err;
}

TEST(TrainTokenizerCommand, TrainsWhatTokenizeReads) {
  const testing::TempFolder folder;
  const std::string text = utf8(folder / "text.txt"), output = utf8(folder / "new/one");
  std::string corpus;
  for (int i = 0; i < 50; ++i) corpus += "the baker finds old books\nmy uncle paints a lamp\n";
  write_file(utf8_path(text), corpus);
  for (const Lines& kind : {Lines{"--type", "char"}, Lines{"--type", "bpe", "--vocab-size", "270"},
                            Lines{"--type", "wordpiece", "--vocab-size", "60", "--lowercase"},
                            Lines{"--type", "unigram", "--vocab-size", "25"},
                            Lines{"--type", "sentencepiece-bpe", "--vocab-size", "25"}}) {
    Lines flags = {"train-tokenizer", "-i", text, "-o", output, "--overwrite"};
    flags.insert(flags.end(), kind.begin(), kind.end());
    const CliResult result = run_cli(flags);
    EXPECT_EQ(result.code, 0) << kind[1] << ": " << result.err;
    const std::string line = "my uncle finds old books";
    const CliResult ids = run_cli({"tokenize", "--tokenizer", output}, line);
    EXPECT_EQ(run_cli({"detokenize", "--tokenizer", output}, ids.out).out, line + "\n") << kind[1];
  }
  // Not without being asked to, and not with flags that mean nothing.
  const CliResult again = run_cli({"train-tokenizer", "--type", "char", "-i", text, "-o", output});
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(holds(again.err, "--overwrite")) << again.err;
  for (const Lines& flags :
       {Lines{"--type", "char", "--vocab-size", "50"}, Lines{"--type", "bpe", "--lowercase"},
        Lines{"--type", "bpe", "--vocab-size", "256"},
        Lines{"--type", "unigram", "--special", "<x>"}, Lines{"--type", "wordpeace"},
        Lines{"--type", "wordpiece", "--keep-accents"}, Lines{}}) {
    Lines all = {"train-tokenizer", "-i", text, "-o", utf8(folder / "other")};
    all.insert(all.end(), flags.begin(), flags.end());
    EXPECT_EQ(run_cli(all).code, 2);
  }
  EXPECT_FALSE(fs::exists(folder / "other"));
}

}  // namespace
}  // namespace zoo
