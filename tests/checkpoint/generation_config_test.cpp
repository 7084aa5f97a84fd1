#include "checkpoint/generation_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/config.h"
#include "core/error.h"

namespace zoo {
namespace {

Json golden() {
  return read_json_file(fs::path(ZOO_SOURCE_DIR) /
                        "tests/golden/checkpoint/generation/generation_config.json");
}

// Golden: written by Hugging Face's GenerationConfig (see make_goldens.py).
TEST(GenerationConfig, ReadsHuggingFacesFile) {
  const GenerationOptions options = generation_from_hf(golden(), "x#");
  EXPECT_TRUE(options.sample);
  EXPECT_EQ(options.temperature, 0.7);
  EXPECT_EQ(options.top_k, 40);
  EXPECT_EQ(options.top_p, 0.9);
  EXPECT_EQ(options.min_p, 0.05);
  EXPECT_EQ(options.typical_p, 0.95);
  EXPECT_EQ(options.repetition_penalty, 1.2);
  EXPECT_EQ(options.no_repeat_ngram_size, 3);
  EXPECT_EQ(options.max_new_tokens, 20);
  EXPECT_EQ(options.min_new_tokens, 2);
  EXPECT_EQ(options.banned_sequences, (std::vector<std::vector<int64_t>>{{3}, {4, 5}}));
  EXPECT_EQ(options.stop, (std::vector<std::string>{"\n\n", "END"}));
  EXPECT_EQ(options.logit_bias, (std::map<int64_t, double>{{7, -1.5}, {2, 0.25}}));
  SpecialIds ids;
  ids.unk = 9;
  read_special_ids(golden(), ids, "x#");
  EXPECT_EQ(ids.bos, 0);
  EXPECT_EQ(ids.eos, 12) << "the first of the list";
  EXPECT_EQ(ids.pad, 10);
  EXPECT_EQ(ids.unk, 9);
}

TEST(GenerationConfig, WritesHuggingFacesKeys) {
  Json written = generation_to_hf(generation_from_hf(golden(), "x#"));
  const Json theirs = golden();
  for (const auto& [key, value] : theirs.items()) {
    if (key == "sequence_bias") continue;  // in the order of the ids, see below
    if (key.ends_with("_token_id") || key == "max_length" || key == "use_cache" ||
        key == "transformers_version")
      continue;
    EXPECT_EQ(written[key], value) << key;
  }
  EXPECT_EQ(written["sequence_bias"].dump(), "[[[2],0.25],[[7],-1.5]]");
}

TEST(GenerationConfig, RoundTripsEveryOption) {
  GenerationOptions options;
  options.max_new_tokens = 5;
  options.min_new_tokens = 1;
  options.temperature = 0.5;
  options.top_k = 3;
  options.top_p = 0.5;
  options.min_p = 0.1;
  options.typical_p = 0.8;
  options.repetition_penalty = 1.5;
  options.presence_penalty = -0.5;
  options.frequency_penalty = 0.5;
  options.repeat_last_n = 64;
  options.no_repeat_ngram_size = 2;
  options.beam_size = 4;
  options.length_penalty = 0.6;
  options.length_norm = LengthNorm::wu;
  options.early_stopping = EarlyStopping::first;
  options.patience = 2;
  options.stop = {"x"};
  options.ignore_eos = true;
  options.logit_bias = {{1, 2.0}};
  options.banned_sequences = {{1, 2}};
  const GenerationOptions again = generation_from_hf(generation_to_hf(options), "x#");
  EXPECT_EQ(config_to_json(again), config_to_json(options));
  EXPECT_EQ(again.logit_bias, options.logit_bias);
  EXPECT_EQ(again.banned_sequences, options.banned_sequences);
  EXPECT_EQ(config_to_json(generation_from_hf(generation_to_hf({}), "x#")),
            config_to_json(GenerationOptions{}));
  EXPECT_EQ(generation_to_hf({}).dump(), R"({"do_sample":false})") << "defaults stay out";
}

TEST(GenerationConfig, ABanOfOneTokenIsABannedSequence) {
  GenerationOptions options;
  options.logit_bias = {{5, -std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(generation_to_hf(options)["bad_words_ids"].dump(), "[[5]]");
}

TEST(GenerationConfig, DecidesSampling) {
  const auto samples = [](const char* text) {
    return generation_from_hf(parse_json(text, "x"), "x#").sample;
  };
  EXPECT_FALSE(samples("{}"));
  EXPECT_TRUE(samples(R"({"do_sample": true})"));
  EXPECT_TRUE(samples(R"({"temperature": 0.8})"));
  EXPECT_FALSE(samples(R"({"temperature": 0.8, "do_sample": false})"));
  EXPECT_FALSE(samples(R"({"temperature": null, "do_sample": null})"));
  // Hugging Face draws from 50 tokens if no number is given: ours must be told there.
  GenerationOptions sampled;
  sampled.sample = true;
  EXPECT_EQ(generation_to_hf(sampled)["top_k"], 0);
}

TEST(GenerationConfig, EndsABeamInHuggingFacesWords) {
  const auto stopping = [](const char* text) {
    return generation_from_hf(parse_json(text, "x"), "x#").early_stopping;
  };
  EXPECT_EQ(stopping("{}"), EarlyStopping::exact);
  EXPECT_EQ(stopping(R"({"early_stopping": null})"), EarlyStopping::exact);
  EXPECT_EQ(stopping(R"({"early_stopping": "never"})"), EarlyStopping::exact);
  EXPECT_EQ(stopping(R"({"early_stopping": true})"), EarlyStopping::first);
  EXPECT_EQ(stopping(R"({"early_stopping": false})"), EarlyStopping::heuristic);
  GenerationOptions beam;
  beam.beam_size = 5;
  EXPECT_EQ(generation_to_hf(beam)["early_stopping"], "never");
}

TEST(GenerationConfig, RefusesBadValues) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      generation_from_hf(parse_json(text, "x"), "x#");
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(R"({"top_k": 1.5})"), "x#/top_k: expected an integer, found the number 1.5");
  EXPECT_EQ(refusal(R"({"top_p": 2})"), "x#/top_p: must be 0 <= x <= 1, found 2");
  EXPECT_EQ(refusal(R"({"early_stopping": "now"})"),
            "x#/early_stopping: expected true, false or \"never\", found \"now\"");
  EXPECT_EQ(refusal("[]"), "x#: expected an object, found an array");
  EXPECT_NE(refusal(R"({"sequence_bias": [[[1, 2], 3]]})").find("with single ids"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"sequence_bias": {}})").find("x#/sequence_bias: expected a list"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"min_new_tokens": 9, "max_new_tokens": 3})").find("min_new_tokens 9 is above"),
      std::string::npos);
  EXPECT_EQ(refusal(R"({"stop_strings": "END", "unknown": 1})"), "");
}

}  // namespace
}  // namespace zoo
