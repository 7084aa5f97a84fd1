#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "core/config.h"
#include "decoding/generate.h"
#include "models/gpt.h"
#include "tests/support/checkpoint_golden.h"
#include "tests/support/model_a.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using ::zoo::testing::golden;
using ::zoo::testing::TempFolder;

/// The message of the Error that `use` throws, "" if it throws none.
std::string message_of(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_MESSAGE(statement, part)                                   \
  EXPECT_NE(message_of([&] { statement; }).find(part), std::string::npos) \
      << message_of([&] { statement; })

Tensor logits_of(torch::nn::Module& model, const Tensor& tokens) {
  const torch::NoGradGuard no_grad;
  return dynamic_cast<CausalLm&>(model).forward(tokens);
}

/// The largest distance from the logits that stand in the folder's expected.safetensors.
double deviation(torch::nn::Module& model, const fs::path& folder) {
  const SafetensorsFile expected(folder / "expected.safetensors");
  return (logits_of(model, expected.tensor("tokens")) - expected.tensor("logits"))
      .abs()
      .max()
      .item<double>();
}

void copy_folder(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
}

/// Rewrites a folder's weights.
void edit_weights(const fs::path& folder,
                  const std::function<void(std::map<std::string, Tensor>&)>& edit) {
  std::map<std::string, Tensor> tensors;
  {
    const SafetensorsFile file(folder / "model.safetensors");
    for (const auto& [name, info] : file.tensors()) tensors[name] = file.tensor(name);
  }
  edit(tensors);
  write_safetensors(folder / "model.safetensors", {tensors.begin(), tensors.end()});
}

void edit_config(const fs::path& folder, const std::function<void(Json&)>& edit) {
  Json json = read_json_file(folder / "config.json");
  edit(json);
  write_json_file(folder / "config.json", json);
}

GptConfig small_config() {
  GptConfig config;
  config.vocab_size = 11;
  config.max_length = 16;
  config.num_layers = 2;
  config.d_model = 8;
  config.block.attention.num_heads = 2;
  return config;
}

/// A model with every parameter drawn, biases and norms too.
std::shared_ptr<torch::nn::Module> random_model(const ModelConfig& config) {
  torch::manual_seed(1);
  auto model = make_model(config, Parameters::allocated);
  const torch::NoGradGuard no_grad;
  for (Tensor parameter : model->parameters()) parameter.normal_(0, 0.3);
  model->eval();
  return model;
}

std::map<std::string, Tensor> parameters_of(const torch::nn::Module& model) {
  std::map<std::string, Tensor> parameters;
  for (const auto& item : model.named_parameters()) parameters[item.key()] = item.value();
  return parameters;
}

void expect_same_parameters(const torch::nn::Module& first, const torch::nn::Module& second) {
  const auto a = parameters_of(first), b = parameters_of(second);
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) EXPECT_TRUE(torch::equal(tensor, b.at(name))) << name;
}

// ---- Hugging Face's files (IOP-1, IOP-3, IOP-9) ----------------------------------------------

class HuggingFaceFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(HuggingFaceFolder, GivesItsLogits) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  EXPECT_LE(deviation(*loaded.model, golden(GetParam())), 1e-5);
  EXPECT_FALSE(loaded.model->is_training());
  EXPECT_EQ(loaded.tokenizer, nullptr);
  EXPECT_TRUE(loaded.project.is_null());
  EXPECT_EQ(loaded.special_ids.bos, 0);
  EXPECT_EQ(loaded.special_ids.eos, 12);
}

TEST_P(HuggingFaceFolder, SurvivesOurOwnCheckpoint) {
  const TempFolder folder;
  const LoadedModel loaded = load_model(golden(GetParam()));
  save_model(folder.path(), *loaded.model, loaded.config, nullptr, loaded.generation, nullptr);
  const LoadedModel again = load_model(folder.path());
  EXPECT_LE(deviation(*again.model, golden(GetParam())), 1e-5);
  EXPECT_EQ(config_to_json(again.config), config_to_json(loaded.config));
  // Without zoo.json the folder is one of Hugging Face's own.
  fs::remove(folder / "zoo.json");
  const LoadedModel theirs = load_model(folder.path());
  EXPECT_LE(deviation(*theirs.model, golden(GetParam())), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Goldens, HuggingFaceFolder,
                         ::testing::Values("gpt2_tied", "gpt2_bare", "gpt2_tied_but_differs",
                                           "gpt2_untied", "gpt2_gelu_sharded", "gpt2_silu",
                                           "gpt2_f16", "gpt2_bf16", "llama", "llama_tied_biases",
                                           "qwen3"),
                         [](const auto& info) { return std::string(info.param); });

class HuggingFaceDecoder : public ::testing::TestWithParam<const char*> {};

// tests/golden/checkpoint/make_decoding_goldens.py
TEST_P(HuggingFaceDecoder, PadsAndDecodesAlike) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  const SafetensorsFile expected(golden(GetParam()) / "decoding.safetensors");
  const Tensor tokens = expected.tensor("tokens"), left_pad = expected.tensor("left_pad");
  const Tensor greedy = expected.tensor("greedy");
  const torch::NoGradGuard no_grad;
  const auto model = loaded.as<CausalLm>();
  const Tensor logits = model->forward(tokens, {.left_pad = left_pad});
  std::vector<std::vector<int64_t>> prompts;
  for (int64_t row = 0; row < tokens.size(0); ++row) {
    const auto pad = left_pad[row].item<int64_t>();
    const auto of_row = [&](const Tensor& all) {
      return all[row].narrow(0, pad, all.size(1) - pad);
    };
    const double deviation =
        (of_row(logits) - of_row(expected.tensor("logits"))).abs().max().item<double>();
    EXPECT_LE(deviation, 1e-5) << "row " << row;
    const Tensor ids = of_row(tokens).contiguous();
    prompts.emplace_back(ids.const_data_ptr<int64_t>(),
                         ids.const_data_ptr<int64_t>() + ids.numel());
  }
  const auto found = generate(*model, prompts,
                              {.max_new_tokens = greedy.size(1), .ignore_eos = true}, {.eos = 12});
  for (size_t row = 0; row < prompts.size(); ++row)
    EXPECT_TRUE(
        torch::equal(torch::tensor(found[row][0].tokens), greedy[static_cast<int64_t>(row)]))
        << "row " << row;
}

INSTANTIATE_TEST_SUITE_P(Goldens, HuggingFaceDecoder,
                         ::testing::Values("gpt2_tied", "gpt2_untied", "gpt2_gelu_sharded", "llama",
                                           "llama_tied_biases", "qwen3"),
                         [](const auto& info) { return std::string(info.param); });

TEST(HuggingFaceConfig, DecidesTheModel) {
  const LoadedModel loaded = load_model(golden("gpt2_untied"), {.weights = false});
  EXPECT_EQ(loaded.model, nullptr);
  const auto& config = std::get<GptConfig>(loaded.config);
  EXPECT_EQ(config.vocab_size, 13);
  EXPECT_EQ(config.max_length, 12);
  EXPECT_EQ(config.num_layers, 2);
  EXPECT_EQ(config.d_model, 8);
  EXPECT_EQ(config.block.attention.num_heads, 1);
  EXPECT_EQ(std::get<MlpConfig>(config.block.feed_forward).d_ff, 20);
  EXPECT_EQ(std::get<MlpConfig>(config.block.feed_forward).activation, Activation::relu);
  EXPECT_EQ(std::get<LayerNormConfig>(config.block.norm).eps, 1e-2);
  EXPECT_EQ(config.dropout.residual, 0.1);
  EXPECT_FALSE(config.tie_embeddings);
}

// IOP-1: nothing is left unset or passed over in silence.
TEST(HuggingFaceWeights, NamesWhatIsMissingUnusedOrMisshapen) {
  const TempFolder folder;
  copy_folder(golden("gpt2_tied"), folder / "m");
  edit_weights(folder / "m", [](auto& tensors) {
    tensors.erase("transformer.h.0.ln_1.weight");
    tensors["transformer.h.7.ln_1.weight"] = torch::ones({8});
    tensors["transformer.wpe.weight"] = torch::ones({10, 8});
  });
  const std::string message = message_of([&] { load_model(folder / "m"); });
  EXPECT_EQ(message,
            utf8(folder / "m/model.safetensors") +
                ": the weights are not those of the model in config.json; "
                "missing: transformer.h.0.ln_1.weight; not used: transformer.h.7.ln_1.weight; "
                "other shape: transformer.wpe.weight (10, 8) instead of (12, 8)");
}

TEST(HuggingFaceWeights, AnUntiedOutputMustBeThere) {
  const TempFolder folder;
  copy_folder(golden("gpt2_untied"), folder / "m");
  edit_weights(folder / "m", [](auto& tensors) { tensors.erase("lm_head.weight"); });
  EXPECT_MESSAGE(load_model(folder / "m"), "missing: lm_head.weight");
}

TEST(HuggingFaceConfig, RefusesWhatOurModelCannotCompute) {
  const auto refusal = [](const std::function<void(Json&)>& edit) {
    const TempFolder folder;
    copy_folder(golden("gpt2_tied"), folder / "m");
    edit_config(folder / "m", edit);
    return message_of([&] { load_model(folder / "m"); });
  };
  const auto expect = [&](const char* key, const Json& value, const std::string& part) {
    const std::string message = refusal([&](Json& json) { json[key] = value; });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("scale_attn_weights", false, "config.json#/scale_attn_weights: only true is supported");
  expect("scale_attn_by_inverse_layer_idx", true, "only false is supported");
  expect("add_cross_attention", true, "only false is supported");
  expect("quantization_config", Json{{"bits", 4}}, "quantization_config");
  expect("activation_function", "tanh", "activation_function: found \"tanh\"; known: gelu_new");
  expect("n_embd", 8.5, "config.json#/n_embd: expected an integer, found the number 8.5");
  expect("n_head", 0, "config.json#/n_head: must be >= 1, found 0");
  expect("n_head", 3, "num_heads 3 does not divide d_model 8");
  expect("n_embd", 1'000, "other shape");
  expect("model_type", "rwkv", "model_type: found \"rwkv\"; this version opens gpt2");
  expect("eos_token_id", "x", "eos_token_id: expected an id, found the string \"x\"");
  EXPECT_EQ(refusal([](Json& json) { json.erase("model_type"); }), "")
      << "old files name the class only";
  EXPECT_EQ(refusal([](Json& json) {
              json["hidden_size"] = json["n_embd"];
              json.erase("n_embd");
            }),
            "");
  EXPECT_EQ(refusal([](Json& json) { json["eos_token_id"] = -1; }), "");
}

TEST(HuggingFaceWeights, PickledFilesAreExplained) {
  const TempFolder folder;
  copy_folder(golden("gpt2_tied"), folder / "m");
  fs::rename(folder / "m/model.safetensors", folder / "m/pytorch_model.bin");
  EXPECT_MESSAGE(load_model(folder / "m"), "the weights are in pytorch_model.bin");
  EXPECT_MESSAGE(load_model(folder / "m"), "save_pretrained('" + utf8(folder / "m") + "')");
  fs::remove(folder / "m/pytorch_model.bin");
  EXPECT_MESSAGE(load_model(folder / "m"),
                 "no weights in this folder; looked for model.safetensors");
}

TEST(ShardedWeights, TheIndexMustFit) {
  const TempFolder folder;
  copy_folder(golden("gpt2_gelu_sharded"), folder / "m");
  const fs::path index = folder / "m/model.safetensors.index.json";
  const Json good = read_json_file(index);
  const auto with = [&](const std::function<void(Json&)>& edit) {
    Json json = good;
    edit(json);
    write_json_file(index, json);
    return message_of([&] { load_model(folder / "m"); });
  };
  const auto expect = [&](const std::function<void(Json&)>& edit, const std::string& part) {
    const std::string message = with(edit);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect([](Json& json) { json.erase("weight_map"); }, "expected an object with \"weight_map\"");
  expect([](Json& json) { json["weight_map"]["transformer.wte.weight"] = "../x.safetensors"; },
         "expected the name of a file of this folder, found \"../x.safetensors\"");
  expect([](Json& json) { json["weight_map"]["transformer.wte.weight"] = "none.safetensors"; },
         "none.safetensors: cannot be opened");
  expect(
      [](Json& json) {
        json["weight_map"]["extra"] = json["weight_map"]["transformer.wte.weight"];
      },
      "tensor \"extra\" should be in ");
  const std::string first = good["weight_map"].begin().value().get<std::string>();
  fs::copy_file(folder / ("m/" + first), folder / "m/copy.safetensors");
  expect([](Json& json) { json["weight_map"].begin().value() = "copy.safetensors"; }, "is in ");
}

// ---- our own folders ---------------------------------------------------------------------------

TEST(Checkpoint, ModelAHasItsTable) {
  const TempFolder folder;
  testing::write_model_a(folder.path());
  const LoadedModel loaded = load_model(folder.path());
  for (int64_t token = 0; token < 4; ++token) {
    const Tensor logits = logits_of(*loaded.model, torch::tensor({{int64_t{2}, token}}))[0][1];
    const Tensor log_probability = torch::log_softmax(logits, -1);
    for (int64_t next = 0; next < 4; ++next)
      EXPECT_NEAR(log_probability[next].item<double>(),
                  testing::model_a_log_probability(token, next), 1e-4);
  }
  EXPECT_EQ(loaded.special_ids.eos, 3);
}

TEST(Checkpoint, ModelAHasATokenizerIfWanted) {
  const TempFolder folder;
  testing::write_model_a(folder.path(), {.tokenizer = true});
  const LoadedModel loaded = load_model(folder.path());
  ASSERT_NE(loaded.tokenizer, nullptr);
  EXPECT_EQ(loaded.tokenizer->encode("0121"), (std::vector<int64_t>{0, 1, 2, 1}));
  EXPECT_EQ(loaded.tokenizer->special_ids().eos, 3);
}

struct Shape {
  const char* name;
  bool opens_there;  ///< Hugging Face has a family with this shape
  std::function<void(GptConfig&)> change;
};

/// RoPE, RMSNorm, SwiGLU, GQA, no biases.
void make_llama(GptConfig& config) {
  config.position = RopePositionConfig{.base = 5000};
  config.block.norm = RmsNormConfig{};
  config.block.attention = {.num_heads = 4, .num_kv_heads = 2, .bias = false};
  config.block.feed_forward = GatedFeedForwardConfig{};
}

std::vector<Shape> shapes() {
  return {Shape{"gpt2", true, [](GptConfig&) {}},
          Shape{"untied", true, [](GptConfig& c) { c.tie_embeddings = false; }},
          Shape{"no_biases", true,
                [](GptConfig& c) {
                  c.block.norm = LayerNormConfig{.bias = false};
                  c.block.attention.bias = false;
                  c.block.feed_forward = MlpConfig{.bias = false};
                }},
          Shape{"inner_width", true,
                [](GptConfig& c) { c.block.feed_forward = MlpConfig{.d_ff = 20}; }},
          Shape{"sinusoidal", false, [](GptConfig& c) { c.position = SinusoidalPositionConfig{}; }},
          Shape{"alibi", false, [](GptConfig& c) { c.position = AlibiPositionConfig{}; }},
          Shape{"post_norm", false, [](GptConfig& c) { c.block.placement = NormPlacement::post; }},
          Shape{"scaled_embeddings", false, [](GptConfig& c) { c.scale_embeddings = true; }},
          Shape{"gqa", false, [](GptConfig& c) { c.block.attention.num_kv_heads = 1; }},
          Shape{"llama", true, [](GptConfig& c) { make_llama(c); }},
          Shape{"llama_biases", true,
                [](GptConfig& c) {
                  make_llama(c);
                  c.block.attention.bias = true;
                  c.block.feed_forward = GatedFeedForwardConfig{.d_ff = 20, .bias = true};
                  c.tie_embeddings = false;
                }},
          Shape{"qwen3", true,
                [](GptConfig& c) {
                  make_llama(c);
                  c.block.attention.qk_norm = true;
                }},
          Shape{"interleaved", false, [](GptConfig& c) {
                  make_llama(c);
                  c.position = RopePositionConfig{.pairing = RopePairing::interleaved};
                }}};
}

class OwnFolder : public ::testing::TestWithParam<Shape> {};

TEST_P(OwnFolder, RoundTrip) {
  const TempFolder folder;
  GptConfig config = small_config();
  GetParam().change(config);
  const auto model = random_model(config);
  const Json project = {{"training", {{"seed", 7}}}};
  save_model(folder.path(), *model, config, nullptr, {}, project);
  const LoadedModel loaded = load_model(folder.path());
  expect_same_parameters(*model, *loaded.model);
  EXPECT_EQ(config_to_json(loaded.config), config_to_json(ModelConfig(config)));
  EXPECT_EQ(loaded.project["training"]["seed"], 7);
  EXPECT_EQ(loaded.project["model"], config_to_json(ModelConfig(config)));
  const Tensor tokens = torch::tensor({{1, 2, 3, 4, 5}});
  EXPECT_TRUE(torch::equal(logits_of(*model, tokens), logits_of(*loaded.model, tokens)));
  const std::string type = read_json_file(folder / "config.json")["model_type"];
  EXPECT_EQ(type == "transformer_zoo_gpt", !GetParam().opens_there) << type;
}

INSTANTIATE_TEST_SUITE_P(Shapes, OwnFolder, ::testing::ValuesIn(shapes()),
                         [](const auto& info) { return std::string(info.param.name); });

TransformerConfig small_transformer() {
  TransformerConfig config = TransformerConfig::preset("tiny");
  config.source_vocab_size = config.vocab_size = 11;
  config.d_model = 8;
  return config;
}

TEST(EncoderDecoderFolder, RoundTrip) {
  RnnSeq2SeqConfig rnn;
  rnn.source_vocab_size = 9;
  rnn.vocab_size = 11;
  rnn.cell = RecurrentCell::lstm;
  rnn.d_embedding = 6;
  rnn.d_hidden = 8;
  for (const ModelConfig& config : {ModelConfig(small_transformer()), ModelConfig(rnn)}) {
    const TempFolder folder;
    const auto model = as_kind<Seq2Seq>(random_model(config), "model");
    save_model(folder.path(), *model, config, nullptr, {}, nullptr);
    EXPECT_EQ(read_json_file(folder / "config.json")["model_type"],
              "transformer_zoo_" + std::string(model_type(config)));
    const LoadedModel loaded = load_model(folder.path());
    EXPECT_EQ(config_to_json(loaded.config), config_to_json(config));
    const Tensor source = torch::tensor({{1, 2, 3}, {4, 5, 0}}), lengths = torch::tensor({3, 2});
    const Tensor inputs = torch::tensor({{6, 7}, {8, 9}});
    const torch::NoGradGuard no_grad;
    EXPECT_TRUE(torch::equal(loaded.as<Seq2Seq>()->forward(source, lengths, inputs),
                             model->forward(source, lengths, inputs)));
    EXPECT_MESSAGE(loaded.as<CausalLm>(),
                   "is a sequence-to-sequence model, but a language model is needed here");
  }
}

TEST(EncoderDecoderFolder, WeightsGoIntoAModelThatSaysTheSameInOtherWords) {
  const TempFolder folder;
  const TransformerConfig config = small_transformer();
  const auto model = random_model(config);
  save_model(folder.path(), *model, config, nullptr, {}, nullptr);
  TransformerConfig other = config;
  other.dropout = {};
  other.block.attention.num_kv_heads = other.block.attention.num_heads;
  const auto fresh = make_model(other);
  load_weights(*fresh, other, folder.path());
  expect_same_parameters(*fresh, *model);
  other.scale_embeddings = false;
  EXPECT_MESSAGE(load_weights(*fresh, other, folder.path()),
                 "holds a model of another architecture");
  EXPECT_MESSAGE(load_weights(*fresh, GptConfig::preset("gpt2"), folder.path()),
                 "holds a model of another architecture");
}

// Not a test: makes the folders for tests/golden/checkpoint/check_export.py.
TEST(Checkpoint, DISABLED_WritesFoldersForPython) {
  for (const Shape& shape : shapes()) {
    GptConfig config = small_config();
    shape.change(config);
    if (!shape.opens_there) continue;
    const auto model = random_model(config);
    const fs::path folder = fs::path("exports") / shape.name;
    const Tensor tokens = torch::randint(config.vocab_size, {2, 9}, torch::kLong);
    write_folder(folder, [&](const fs::path& inside) {
      save_model(inside, *model, config, nullptr, {}, nullptr);
      write_safetensors(inside / "expected.safetensors",
                        {{"tokens", tokens}, {"logits", logits_of(*model, tokens)}});
    });
  }
}

TEST(Checkpoint, BiasesThatOursLacksAreWrittenAsZeroAndMustBeZero) {
  const TempFolder folder;
  GptConfig config = small_config();
  config.block.attention.bias = false;
  save_model(folder.path(), *random_model(config), config, nullptr, {}, nullptr);
  const std::string name = "transformer.h.1.attn.c_attn.bias";
  EXPECT_TRUE(
      torch::equal(SafetensorsFile(folder / "model.safetensors").tensor(name), torch::zeros({24})));
  edit_weights(folder.path(), [&](auto& tensors) { tensors[name] = torch::ones({24}); });
  EXPECT_MESSAGE(load_model(folder.path()),
                 "not used: " + name + " (the config has no such bias, and it is not 0)");
}

TEST(Checkpoint, ParametersAreViewsOfTheFileThatCanBeTrained) {
  const TempFolder folder;
  const GptConfig config = small_config();
  save_model(folder.path(), *random_model(config), config, nullptr, {}, nullptr);
  const std::string before = sha256_file(folder / "model.safetensors");
  const LoadedModel loaded = load_model(folder.path());
  loaded.as<CausalLm>()->forward(torch::tensor({{1, 2}})).sum().backward();
  torch::optim::SGD(loaded.model->parameters(), 0.1).step();
  EXPECT_EQ(sha256_file(folder / "model.safetensors"), before);
  const LoadedModel again = load_model(folder.path());
  EXPECT_FALSE(torch::equal(parameters_of(*again.model)["token_embedding.weight"],
                            parameters_of(*loaded.model)["token_embedding.weight"]));
}

TEST(Checkpoint, LoadsIntoAnotherDtype) {
  const LoadedModel loaded = load_model(golden("gpt2_tied"), {.dtype = torch::kBFloat16});
  for (const Tensor& parameter : loaded.model->parameters())
    EXPECT_EQ(parameter.scalar_type(), torch::kBFloat16);
  const LoadedModel wide = load_model(golden("gpt2_tied"), {.dtype = torch::kFloat64});
  EXPECT_LE(deviation(*wide.model, golden("gpt2_tied")), 1e-6);
}

TEST(LoadWeights, CopiesIntoTheParametersAsTheyAre) {
  const LoadedModel loaded = load_model(golden("gpt2_tied"));
  auto config = std::get<GptConfig>(loaded.config);
  config.dropout = {.embedding = 0.5};  // how it is trained is the caller's choice
  const auto model = random_model(config);
  const auto before = parameters_of(*model);
  const void* place = before.at("token_embedding.weight").data_ptr();
  load_weights(*model, config, golden("gpt2_tied"));
  expect_same_parameters(*model, *loaded.model);
  EXPECT_EQ(parameters_of(*model).at("token_embedding.weight").data_ptr(), place);
}

TEST(LoadWeights, RefusesAnotherArchitecture) {
  auto config = std::get<GptConfig>(load_model(golden("gpt2_tied"), {.weights = false}).config);
  config.block.attention.num_heads = 4;  // no shape differs
  const auto model = random_model(config);
  EXPECT_MESSAGE(load_weights(*model, config, golden("gpt2_tied")),
                 "holds a model of another architecture: model.block.attention.num_heads (folder "
                 "2, config 4)");
  config.block.attention.num_heads = 2;
  config.vocab_size = 20;
  const auto larger = random_model(config);
  const Tensor kept = parameters_of(*larger).at("final_norm.weight").clone();
  EXPECT_MESSAGE(load_weights(*larger, config, golden("gpt2_tied")),
                 "transformer.wte.weight (13, 8) instead of (20, 8)");
  EXPECT_TRUE(torch::equal(parameters_of(*larger).at("final_norm.weight"), kept))
      << "nothing is half loaded";
}

TEST(Checkpoint, NewerFormatsAndEditedConfigsAreRefused) {
  const TempFolder folder;
  const GptConfig config = small_config();
  save_model(folder.path(), *random_model(config), config, nullptr, {}, nullptr);
  const Json good = read_json_file(folder / "zoo.json");

  Json newer = good;
  newer["format_version"] = 2;
  write_json_file(folder / "zoo.json", newer);
  EXPECT_MESSAGE(load_model(folder.path()),
                 "zoo.json#/format_version: 2; this transformer-zoo reads up to 1: update it");
  write_json_file(folder / "zoo.json", Json::object());
  EXPECT_MESSAGE(load_model(folder.path()), "zoo.json: expected {\"format_version\": integer");
  Json slip = good;
  slip["config"]["model"]["dmodel"] = 1;
  write_json_file(folder / "zoo.json", slip);
  EXPECT_MESSAGE(
      load_model(folder.path()),
      "zoo.json#/config/model/dmodel: unknown key \"dmodel\"; did you mean \"d_model\"?");
  write_json_file(folder / "zoo.json", good);

  edit_config(folder.path(), [](Json& json) { json["layer_norm_epsilon"] = 0.1; });
  EXPECT_MESSAGE(load_model(folder.path()),
                 "disagree: block.norm.eps (config.json 0.1, zoo.json 1e-05)");
  fs::remove(folder / "zoo.json");
  EXPECT_EQ(
      std::get<LayerNormConfig>(std::get<GptConfig>(load_model(folder.path()).config).block.norm)
          .eps,
      0.1);
}

TEST(Checkpoint, OwnNamesNeedZooJson) {
  const TempFolder folder;
  GptConfig config = small_config();
  config.position = NoPositionConfig{};
  save_model(folder.path(), *random_model(config), config, nullptr, {}, nullptr);
  fs::remove(folder / "zoo.json");
  EXPECT_MESSAGE(
      load_model(folder.path()),
      "zoo.json: missing; config.json says that this is a checkpoint of transformer-zoo");
}

// CKP-1: a damaged file is named.
TEST(Checkpoint, DamagedFilesAreNamed) {
  for (const char* name : {"model.safetensors", "config.json", "zoo.json"})
    for (const double share : {0.5, 0.0, -1.0}) {
      const TempFolder folder;
      const GptConfig config = small_config();
      save_model(folder.path(), *random_model(config), config, nullptr, {}, nullptr);
      const auto size = static_cast<double>(fs::file_size(folder / name));
      fs::resize_file(folder / name, share < 0 ? 1 : static_cast<uintmax_t>(share * size));
      EXPECT_MESSAGE(load_model(folder.path()), utf8(folder / name));
    }
}

TEST(Checkpoint, ATokenizerOfAnotherModelIsRefused) {
  const TempFolder folder;
  copy_folder(golden("gpt2_tied"), folder / "m");
  Json vocabulary = Json::object();
  for (int i = 0; i < 14; ++i) vocabulary[std::string(1, static_cast<char>('a' + i))] = i;
  write_json_file(folder / "m/vocab.json", vocabulary);
  write_file(folder / "m/merges.txt", "#version: 0.2\n");
  EXPECT_MESSAGE(load_model(folder / "m"), "the tokenizer has 14 tokens, the model only 13");
  // A vocabulary padded to a round number is larger than its tokenizer's.
  vocabulary.erase("n");
  vocabulary.erase("m");
  write_json_file(folder / "m/vocab.json", vocabulary);
  EXPECT_EQ(load_model(folder / "m").tokenizer->vocab_size(), 12);
}

TEST(ResolveCheckpoint, FindsTheFolder) {
  const TempFolder folder;
  const fs::path run = folder / "run";
  write_file(run / "checkpoints/step-1/config.json", "{}");
  write_file(run / "checkpoints/step-2/config.json", "{}");
  write_file(run / "checkpoints/step-2/model.safetensors", "");
  write_file(run / "zoo.json", "{}");
  EXPECT_MESSAGE(resolve_checkpoint(run),
                 "no model here; looked for config.json, best/config.json and last/config.json");
  replace_link(run / "last", "checkpoints/step-2");
  EXPECT_EQ(resolve_checkpoint(run), fs::canonical(run / "checkpoints/step-2"));
  replace_link(run / "best", "checkpoints/step-1");
  EXPECT_EQ(resolve_checkpoint(run), fs::canonical(run / "checkpoints/step-1"));
  EXPECT_EQ(resolve_checkpoint(run / "checkpoints/step-2"), run / "checkpoints/step-2");
  EXPECT_EQ(resolve_checkpoint(run / "checkpoints/step-2/model.safetensors").filename(), "step-2");
  replace_link(run / "best", "checkpoints/removed");
  EXPECT_EQ(resolve_checkpoint(run), fs::canonical(run / "checkpoints/step-2"))
      << "a dangling link is passed over";
  EXPECT_MESSAGE(resolve_checkpoint(folder / "none"), "there is no such folder");
  EXPECT_MESSAGE(resolve_checkpoint(run / "zoo.json"), "is a file");
}

// SYS-3
TEST(Checkpoint, AnyUtf8Path) {
  const TempFolder folder;
  const fs::path path = folder.path() / utf8_path("modèle Ω 模型 🦊/run 1");
  const GptConfig config = small_config();
  const auto model = random_model(config);
  write_folder(path, [&](const fs::path& inside) {
    save_model(inside, *model, config, nullptr, {}, nullptr);
  });
  expect_same_parameters(*load_model(path).model, *model);
}

// IOP-5: norm epsilon from the file's config. x = [.001, -.001, .002, -.002] through the final
// norm.
TEST(HuggingFaceConfig, NormEpsilonIsUsed) {
  const std::vector<std::pair<double, double>> cases = {
      {1e-12, .632455}, {1e-6, .534522}, {1e-5, .282843}};
  for (const auto& [eps, first] : cases) {
    const TempFolder folder;
    copy_folder(golden("gpt2_tied"), folder / "m");
    edit_config(folder / "m", [eps = eps](Json& json) {
      json["layer_norm_epsilon"] = eps;
      json["n_embd"] = 4;
      json["n_layer"] = 1;
      json["vocab_size"] = 4;
      json["n_positions"] = 1;
      json["tie_word_embeddings"] = false;
    });
    // All matrices 0, the output the unit matrix: the logits are the normalised embedding.
    edit_weights(folder / "m", [](auto& tensors) {
      tensors.clear();
      tensors["wte.weight"] = torch::tensor({.001F, -.001F, .002F, -.002F}).expand({4, 4});
      tensors["wpe.weight"] = torch::zeros({1, 4});
      for (const std::string norm : {"h.0.ln_1", "h.0.ln_2", "ln_f"}) {
        tensors[norm + ".weight"] = torch::ones({4});
        tensors[norm + ".bias"] = torch::zeros({4});
      }
      const std::vector<std::tuple<std::string, int64_t, int64_t>> linears = {
          {"h.0.attn.c_attn", 4, 12},
          {"h.0.attn.c_proj", 4, 4},
          {"h.0.mlp.c_fc", 4, 16},
          {"h.0.mlp.c_proj", 16, 4}};
      for (const auto& [name, in, out] : linears) {
        tensors[name + ".weight"] = torch::zeros({in, out});
        tensors[name + ".bias"] = torch::zeros({out});
      }
      tensors["lm_head.weight"] = torch::eye(4);
    });
    const Tensor logits =
        logits_of(*load_model(folder / "m").model, torch::zeros({1, 1}, torch::kLong))[0][0];
    EXPECT_NEAR(logits[0].item<double>(), first, 1e-5) << eps;
    EXPECT_NEAR(logits[3].item<double>(), -2 * first, 2e-5) << eps;
  }
}

}  // namespace
}  // namespace zoo
