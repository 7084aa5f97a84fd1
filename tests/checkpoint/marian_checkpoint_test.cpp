// Hugging Face's Marian folders (tests/golden/checkpoint/make_marian_goldens.py), read and written.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "core/config.h"
#include "decoding/translate.h"
#include "tests/support/checkpoint_golden.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::golden;
using testing::message_of;
using testing::TempFolder;

std::vector<int64_t> ids_of(const Tensor& tensor) {
  return {tensor.const_data_ptr<int64_t>(), tensor.const_data_ptr<int64_t>() + tensor.numel()};
}

void expect_golden(const LoadedModel& loaded, const std::string& name) {
  const SafetensorsFile expected(golden(name) / "expected.safetensors");
  const auto model = loaded.as<Seq2Seq>();
  const Tensor source = expected.tensor("source"), lengths = expected.tensor("lengths");
  const Tensor inputs = expected.tensor("inputs"), logits = expected.tensor("logits");
  const torch::NoGradGuard no_grad;
  const auto deviation = [](const Tensor& a, const Tensor& b) {
    return (a - b).abs().max().item<double>();
  };
  EXPECT_LE(deviation(model->forward(source, lengths, inputs), logits), 1e-5);
  for (int64_t row = 0; row < source.size(0); ++row) {
    const int64_t length = lengths[row].item<int64_t>();
    const Tensor alone = source.narrow(0, row, 1).narrow(1, 0, length);
    EXPECT_LE(deviation(model->forward(alone, torch::tensor({length}), inputs.narrow(0, row, 1)),
                        logits.narrow(0, row, 1)),
              1e-5)
        << "without padding, row " << row;
    GenerationOptions options = loaded.generation;
    options.max_new_tokens = 9;
    TranslateArgs args;
    args.search.eos = loaded.special_ids.eos;
    args.begin = loaded.special_ids.decoder_start();
    const auto found = translate(*model, {ids_of(alone)}, options, args);
    std::vector<int64_t> greedy = ids_of(expected.tensor(cat("greedy_", row)));
    if (!greedy.empty() && greedy.back() == 0) greedy.pop_back();  // the end token
    EXPECT_EQ(found[0][0].tokens, greedy) << "row " << row;
  }
}

class MarianFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(MarianFolder, GivesTheSameAndSurvivesOurOwnCheckpoint) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  expect_golden(loaded, GetParam());
  EXPECT_EQ(loaded.generation.banned_sequences.size(), 1);
  const TempFolder folder;
  save_model(folder.path(), *loaded.model, loaded.config, loaded.tokenizer.get(), loaded.generation,
             nullptr, loaded.source_tokenizer.get());
  // Without a tokenizer nobody says what the decoder begins with.
  const auto again = [&] {
    LoadedModel model = load_model(folder.path());
    if (loaded.tokenizer == nullptr) model.special_ids = loaded.special_ids;
    return model;
  };
  expect_golden(again(), GetParam());
  EXPECT_EQ(config_to_json(again().config), config_to_json(loaded.config));
  // Without zoo.json the folder is one of Hugging Face's own.
  fs::remove(folder / "zoo.json");
  expect_golden(again(), GetParam());
  EXPECT_EQ(config_to_json(again().config), config_to_json(loaded.config));
}

INSTANTIATE_TEST_SUITE_P(Goldens, MarianFolder,
                         ::testing::Values("marian_shared", "marian_separate", "marian_untied"),
                         [](const auto& info) { return std::string(info.param); });

class MarianTexts : public ::testing::TestWithParam<const char*> {};

TEST_P(MarianTexts, AreTranslatedAlike) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  const auto expected = nlohmann::json::parse(read_file(golden(GetParam()) / "expected.json"));
  GenerationOptions options = loaded.generation;
  options.max_new_tokens = 10;
  TranslateArgs args;
  args.search.tokenizer = loaded.tokenizer.get();
  for (const auto& example : expected["translate"]) {
    const auto ids = encode_sentence(*loaded.source_tokenizer, example["text"].get<std::string>());
    EXPECT_EQ(translate(*loaded.as<Seq2Seq>(), {ids}, options, args)[0][0].text,
              example["translation"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, MarianTexts,
                         ::testing::Values("marian_shared", "marian_separate"),
                         [](const auto& info) { return std::string(info.param); });

/// A model of ours of this shape, every parameter drawn.
TransformerConfig own_config(int64_t source_vocab_size, int64_t vocab_size) {
  TransformerConfig config;
  config.source_vocab_size = source_vocab_size;
  config.vocab_size = vocab_size;
  config.max_source_length = config.max_length = 24;
  config.encoder_layers = config.decoder_layers = 2;
  config.d_model = 8;
  config.position = SinusoidalPositionConfig{.layout = SinusoidalLayout::halves};
  config.block.attention = {.num_heads = 2, .bias = false};
  return config;
}

std::shared_ptr<Seq2Seq> random_model(const TransformerConfig& config) {
  torch::manual_seed(1);
  auto model = make_seq2seq(config, Parameters::allocated);
  const torch::NoGradGuard no_grad;
  for (Tensor parameter : model->parameters()) parameter.normal_(0, 0.4);
  model->eval();
  return model;
}

TEST(MarianFolder, HoldsModelsOfOursOfItsShape) {
  const TempFolder folder;
  const TransformerConfig config = own_config(11, 11);
  const auto model = random_model(config);
  save_model(folder.path(), *model, config, nullptr, {}, nullptr);
  EXPECT_EQ(read_json_file(folder / "config.json")["model_type"], "marian");
  const SafetensorsFile file(folder / "model.safetensors");
  EXPECT_TRUE(torch::equal(file.tensor("final_logits_bias"), torch::zeros({1, 11})));
  EXPECT_TRUE(
      torch::equal(file.tensor("model.encoder.layers.1.self_attn.k_proj.bias"), torch::zeros({8})));
  const Tensor source = torch::tensor({{1, 2, 3}, {4, 5, 0}}), lengths = torch::tensor({3, 2});
  const Tensor inputs = torch::tensor({{6, 7}, {8, 9}});
  const torch::NoGradGuard no_grad;
  const Tensor logits = model->forward(source, lengths, inputs);
  EXPECT_TRUE(torch::equal(
      load_model(folder.path()).as<Seq2Seq>()->forward(source, lengths, inputs), logits));
  fs::remove(folder / "zoo.json");
  EXPECT_TRUE(torch::allclose(
      load_model(folder.path()).as<Seq2Seq>()->forward(source, lengths, inputs), logits, 0, 1e-6));
}

// For tests/golden/checkpoint/check_export.py: models of ours with a joint tokenizer or two.
TEST(MarianFolder, DISABLED_WritesFoldersForPython) {
  const TempFolder texts;
  write_file(texts / "source.txt", "one two three\nfour five six\n");
  write_file(texts / "target.txt", "eins zwei drei\nvier fünf sechs\n");
  SentencePieceTokenizerConfig tokenizer;
  tokenizer.model = SentencePieceModel::word;
  const auto train = [&](const std::vector<fs::path>& files) -> std::shared_ptr<const Tokenizer> {
    return train_tokenizer(tokenizer, files);
  };
  const auto joint = train({texts / "source.txt", texts / "target.txt"});
  const auto source_side = train({texts / "source.txt"}),
             target_side = train({texts / "target.txt"});
  for (const EmbeddingTying tying :
       {EmbeddingTying::all, EmbeddingTying::target, EmbeddingTying::none}) {
    const bool one = tying == EmbeddingTying::all;
    const auto &source_tokenizer = one ? joint : source_side,
               &target_tokenizer = one ? joint : target_side;
    TransformerConfig config =
        own_config(source_tokenizer->vocab_size(), target_tokenizer->vocab_size());
    config.tie_embeddings = tying;
    config.output_bias = tying == EmbeddingTying::target;
    const auto model = random_model(config);
    const Tensor source = torch::randint(config.source_vocab_size, {2, 7}, torch::kLong);
    const Tensor lengths = torch::tensor({7, 3});
    const Tensor inputs = torch::randint(config.vocab_size, {2, 5}, torch::kLong);
    const torch::NoGradGuard no_grad;
    const Tensor logits = model->forward(source, lengths, inputs);
    const auto sides = [&](const char* text, const char* target_text) {
      return Json{
          {"source", {{"text", text}, {"ids", encode_sentence(*source_tokenizer, text)}}},
          {"target",
           {{"text", target_text}, {"ids", encode_sentence(*target_tokenizer, target_text)}}}};
    };
    const fs::path folder = fs::path("exports") / cat("marian_", enum_name(tying));
    write_folder(folder, [&](const fs::path& inside) {
      save_model(inside, *model, config, nullptr, {}, nullptr);
      save_as_marian(inside, target_tokenizer, source_tokenizer);
      write_json_file(inside / "expected.json",
                      Json::array({sides("two three", "zwei drei"), sides("six § one", "fünf ☃")}));
      write_safetensors(
          inside / "expected.safetensors",
          {{"tokens", source}, {"lengths", lengths}, {"inputs", inputs}, {"logits", logits}});
    });
  }
}

/// A copy of a golden folder with changes.
class Copy {
 public:
  explicit Copy(const std::string& name) {
    fs::copy(golden(name), path(), fs::copy_options::recursive);
  }
  fs::path path() const { return folder_ / "m"; }
  void set(const char* key, const Json& value) {
    Json json = read_json_file(path() / "config.json");
    json[key] = value;
    write_json_file(path() / "config.json", json);
  }
  std::string problem() const {
    return message_of([&] { load_model(path()); });
  }
  void edit_weights(const std::function<void(std::map<std::string, Tensor>&)>& edit) {
    std::map<std::string, Tensor> tensors;
    const SafetensorsFile file(path() / "model.safetensors");
    for (const auto& [name, info] : file.tensors()) tensors[name] = file.tensor(name).clone();
    edit(tensors);
    write_safetensors(path() / "model.safetensors", {tensors.begin(), tensors.end()});
  }

 private:
  TempFolder folder_;
};

// As older releases and other tools write them.
TEST(MarianFolder, TheSharedTableMayStandUnderAnyOfItsNames) {
  Copy copy("marian_shared");
  copy.edit_weights([](auto& tensors) {
    const Tensor shared = tensors.at("model.shared.weight");
    tensors.erase("model.shared.weight");
    for (const char* name : {"model.encoder.embed_tokens.weight",
                             "model.decoder.embed_tokens.weight", "lm_head.weight"})
      tensors[name] = shared;
    tensors["model.encoder.embed_positions.weight"] = torch::zeros({40, 8});
  });
  expect_golden(load_model(copy.path()), "marian_shared");
  copy.edit_weights([](auto& tensors) { tensors.at("lm_head.weight") += 1; });
  EXPECT_NE(copy.problem().find("not used: lm_head.weight"), std::string::npos) << copy.problem();
}

TEST(MarianFolder, RefusesWhatOurModelCannotCompute) {
  const auto expect = [](const char* key, const Json& value, const std::string& part) {
    Copy copy("marian_shared");
    copy.set(key, value);
    EXPECT_NE(copy.problem().find(part), std::string::npos) << copy.problem();
  };
  expect("normalize_before", true, "config.json#/normalize_before: only false is supported");
  expect("normalize_embedding", true, "normalize_embedding: only false");
  expect("add_final_layer_norm", true, "add_final_layer_norm: only false");
  expect("static_position_embeddings", false, "static_position_embeddings: only true");
  expect("decoder_attention_heads", 4, "the same number as encoder_attention_heads");
  expect("decoder_ffn_dim", 4, "the same width as encoder_ffn_dim");
  expect("tie_word_embeddings", false, "tie_word_embeddings: only true, where share_");
  expect("activation_function", "tanh", "found \"tanh\"; known: gelu_new");
}

// Before generation_config.json its keys stood in config.json.
TEST(MarianFolder, GenerationOptionsOfOldFoldersAreRead) {
  Copy copy("marian_shared");
  fs::remove(copy.path() / "generation_config.json");
  copy.set("num_beams", 6);
  copy.set("bad_words_ids", {{54}});
  const LoadedModel loaded = load_model(copy.path());
  EXPECT_EQ(loaded.generation.beam_size, 6);
  EXPECT_EQ(loaded.generation.banned_sequences, (std::vector<std::vector<int64_t>>{{54}}));
  EXPECT_EQ(loaded.special_ids.start, 54);
}

}  // namespace
}  // namespace zoo
