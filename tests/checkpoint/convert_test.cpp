#include "checkpoint/convert.h"

#include <gtest/gtest.h>

#include "analysis/deviation.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weight_files.h"
#include "tests/support/checkpoint_golden.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::golden;
using testing::message_of;
using testing::TempFolder;

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// Converts into a folder of its own.
class Target : public TempFolder {
 public:
  Converted convert(const fs::path& from, const ConvertOptions& options = {}) {
    fs::create_directories(path() / "out");
    return convert_model(from, out(), options);
  }
  fs::path out() const { return path() / "out"; }
};

class ConvertGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ConvertGolden, ThereAndBackKeepsTheLogits) {
  Target hf, zoo;
  hf.convert(golden(GetParam()));
  EXPECT_FALSE(fs::exists(hf.out() / "zoo.json"));
  EXPECT_EQ(compare_logits(golden(GetParam()), hf.out(), 1).largest, 0);
  zoo.convert(hf.out(), {.to = FolderKind::zoo});
  EXPECT_TRUE(fs::exists(zoo.out() / "zoo.json"));
  const Deviation deviation = compare_logits(golden(GetParam()), zoo.out(), 1);
  EXPECT_EQ(deviation.largest, 0);
  EXPECT_GT(deviation.scale, 0);
}

INSTANTIATE_TEST_SUITE_P(Goldens, ConvertGolden,
                         ::testing::Values("gpt2_tied", "gpt2_bf16", "gpt2_gelu_sharded", "llama",
                                           "qwen3", "bert_bare", "bert_pre_training",
                                           "bert_classifier", "distilbert_masked_lm", "vit_wide",
                                           "vit_timm", "marian_shared", "marian_separate"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Convert, ChangesTheDtype) {
  Target half, brain;
  const Converted converted = brain.convert(golden("gpt2_tied"), {.dtype = torch::kBFloat16});
  EXPECT_EQ(converted.from, torch::kFloat32);
  EXPECT_EQ(converted.dtype, torch::kBFloat16);
  EXPECT_EQ(WeightFiles(brain.out()).dtype(), torch::kBFloat16);
  EXPECT_EQ(read_json_file(brain.out() / "config.json")["dtype"], "bfloat16");
  const Deviation rounded = compare_logits(golden("gpt2_tied"), brain.out(), 1);
  EXPECT_GT(rounded.largest, 0);
  EXPECT_LE(rounded.largest, rounded.scale * allowed_deviation(torch::kFloat32, torch::kBFloat16));

  half.convert(golden("gpt2_tied"), {.dtype = torch::kFloat16});
  EXPECT_LT(compare_logits(golden("gpt2_tied"), half.out(), 1).largest, rounded.largest);

  // A folder keeps its dtype unless another is asked for, and a wider one changes nothing.
  Target same, wide;
  EXPECT_EQ(same.convert(golden("gpt2_bf16")).dtype, torch::kBFloat16);
  wide.convert(golden("gpt2_bf16"), {.dtype = torch::kFloat32});
  EXPECT_EQ(compare_logits(golden("gpt2_bf16"), wide.out(), 1).largest, 0);
  EXPECT_EQ(allowed_deviation(torch::kBFloat16, torch::kFloat32), 0);
  EXPECT_GT(allowed_deviation(torch::kFloat16, torch::kBFloat16), 0);
}

TEST(Convert, NumbersThatFloat16LacksAreRefused) {
  Target large, half;
  fs::copy(golden("gpt2_tied"), large.path() / "m", fs::copy_options::recursive);
  std::map<std::string, Tensor> tensors;
  {
    const SafetensorsFile file(golden("gpt2_tied") / "model.safetensors");
    for (const auto& [name, info] : file.tensors()) tensors[name] = file.tensor(name).clone();
  }
  tensors.at("transformer.ln_f.bias").fill_(1e5);
  write_safetensors(large.path() / "m/model.safetensors", {tensors.begin(), tensors.end()});
  expect_part(message_of([&] { half.convert(large.path() / "m", {.dtype = torch::kFloat16}); }),
              "transformer.ln_f.bias: holds 100000, but float16 ends at 65504; choose bfloat16");
}

TEST(Convert, DividesLargeWeights) {
  Target target;
  constexpr int64_t kLimit = 4000;
  const Converted converted = target.convert(golden("llama"), {.max_file_bytes = kLimit});
  ASSERT_GT(converted.files, 2);
  ASSERT_LT(converted.files, 10);
  const Json index = read_json_file(target.out() / "model.safetensors.index.json");
  EXPECT_EQ(index["metadata"]["total_size"], 4 * converted.parameters);
  EXPECT_FALSE(fs::exists(target.out() / "model.safetensors"));
  size_t named = 0;
  for (int64_t i = 1; i <= converted.files; ++i) {
    const std::string name = cat("model-0000", i, "-of-0000", converted.files, ".safetensors");
    const SafetensorsFile shard(target.out() / name);
    size_t bytes = 0;
    for (const auto& [tensor, info] : shard.tensors()) {
      EXPECT_EQ(index["weight_map"][tensor], name);
      bytes += info.end - info.begin;
    }
    EXPECT_LE(bytes, kLimit);
    named += shard.tensors().size();
  }
  EXPECT_EQ(index["weight_map"].size(), named);
  EXPECT_EQ(compare_logits(golden("llama"), target.out(), 1).largest, 0);
}

TEST(Convert, SmallFilesComeAlongAndOthersStay) {
  Target source, target;
  const fs::path folder = source.path() / "m";
  fs::copy(golden("bert_bare"), folder, fs::copy_options::recursive);
  const Json pooling = {{"pooling_mode_mean_tokens", true}};
  write_json_file(folder / "1_Pooling/config.json", pooling);
  for (const char* file : {"modules.json", "special_tokens_map.json", "preprocessor_config.json",
                           "chat_template.jinja", "README.md"})
    write_file(folder / file, "{}");
  for (const char* file :
       {"trainer.json", "optimizer.safetensors", "pytorch_model.bin", ".cache/x.json"})
    write_file(folder / file, "{}");
  target.convert(folder);
  for (const char* file : {"modules.json", "special_tokens_map.json", "preprocessor_config.json",
                           "chat_template.jinja", "README.md", "1_Pooling/config.json"})
    EXPECT_TRUE(fs::exists(target.out() / file)) << file;
  for (const char* file : {"trainer.json", "optimizer.safetensors", "pytorch_model.bin", ".cache",
                           "generation_config.json"})
    EXPECT_FALSE(fs::exists(target.out() / file)) << file;
  EXPECT_EQ(std::get<BertConfig>(load_config(target.out())).pooling, Pooling::mean);
}

TEST(Convert, SpecialTokensAndGenerationOptionsStay) {
  Target target;
  target.convert(golden("marian_shared"));
  const LoadedModel before = load_model(golden("marian_shared"), {.weights = false});
  const LoadedModel after = load_model(target.out(), {.weights = false});
  EXPECT_EQ(after.special_ids.start, before.special_ids.start);
  EXPECT_EQ(after.special_ids.eos, before.special_ids.eos);
  EXPECT_EQ(after.generation.banned_sequences, before.generation.banned_sequences);
  EXPECT_EQ(read_json_file(target.out() / "config.json")["decoder_start_token_id"], 54);
}

/// A checkpoint of ours that was never trained.
void save(const fs::path& folder, const ModelConfig& config) {
  fs::create_directories(folder);
  save_model(folder, *make_model(config), config, nullptr, {}, nullptr);
}

TEST(Convert, ShapesThatNoFamilyHasAreExplained) {
  const auto problem = [](const ModelConfig& config) {
    Target source, target;
    save(source.path() / "m", config);
    target.convert(source.path() / "m", {.to = FolderKind::zoo});
    EXPECT_EQ(compare_logits(source.path() / "m", target.out(), 1).largest, 0);
    return message_of([&] { target.convert(source.path() / "m"); });
  };
  GptConfig gpt;
  gpt.vocab_size = 11;
  gpt.max_length = 16;
  gpt.num_layers = 1;
  gpt.d_model = 8;
  gpt.block.attention.num_heads = 2;
  gpt.position = AlibiPositionConfig{};
  expect_part(problem(gpt),
              "no model of Hugging Face's library has this shape; the nearest, gpt2, differs in "
              "model.position (found {\"type\":\"alibi\"}, needed {\"type\":\"learned\"}); only "
              "--to zoo can write it");
  gpt.position = RopePositionConfig{};
  gpt.block.norm = RmsNormConfig{};
  gpt.block.feed_forward = GatedFeedForwardConfig{};
  gpt.scale_embeddings = true;
  expect_part(problem(gpt),
              "the nearest, llama, differs in model.scale_embeddings (found true, needed false);");

  TransformerConfig transformer = TransformerConfig::preset("tiny");
  transformer.source_vocab_size = transformer.vocab_size = 11;
  transformer.d_model = 8;
  const std::string message = problem(transformer);
  expect_part(message, "the nearest, marian, differs in ");
  expect_part(message, "model.position.layout (found \"interleaved\", needed \"halves\")");
  expect_part(message, "model.block.placement (found \"pre\", needed \"post\")");

  RnnSeq2SeqConfig rnn;
  rnn.source_vocab_size = rnn.vocab_size = 9;
  rnn.d_embedding = 6;
  rnn.d_hidden = 8;
  expect_part(problem(rnn), "Hugging Face's library has no model of the kind \"rnn-seq2seq\"");
}

TEST(CompareLogits, RefusesModelsOfTwoKinds) {
  expect_part(message_of([] { compare_logits(golden("gpt2_tied"), golden("bert_bare"), 1); }),
              "hold models of different kinds, gpt and bert");
  EXPECT_GT(compare_logits(golden("gpt2_tied"), golden("gpt2_silu"), 1).largest, 0.01);
}

}  // namespace
}  // namespace zoo
