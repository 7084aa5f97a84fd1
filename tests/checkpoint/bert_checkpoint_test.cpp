// Hugging Face's BERT and DistilBERT folders (tests/golden/checkpoint/make_bert_goldens.py), read
// and written.

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "core/config.h"
#include "tests/support/checkpoint_golden.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::golden;
using testing::message_of;
using testing::TempFolder;

/// Compares all that the folder's expected.safetensors has of real tokens.
void expect_golden(TextEncoder& model, const std::string& name) {
  const SafetensorsFile expected(golden(name) / "expected.safetensors");
  const auto has = [&](const char* key) { return expected.tensors().contains(key); };
  TextBatch batch{expected.tensor("tokens"), {}, expected.tensor("lengths")};
  if (has("segments")) batch.segments = expected.tensor("segments");
  const Tensor real =
      (torch::arange(batch.tokens.size(1)) < batch.lengths.unsqueeze(1)).unsqueeze(2);  // (B, T, 1)
  const auto expect_near = [&](const char* key, const Tensor& found) {
    if (!has(key)) return;
    Tensor difference = found - expected.tensor(key);
    if (difference.dim() == 3) difference = difference * real;
    EXPECT_LE(difference.abs().max().item<double>(), 1e-5) << name << ": " << key;
  };
  const torch::NoGradGuard no_grad;
  const Tensor hidden = model.encode(batch);
  expect_near("hidden", hidden);
  if (has("logits")) expect_near("logits", model.logits(hidden, batch.lengths));
  if (has("pairs") && std::get<MaskedLmHeadConfig>(model.head()).next_sentence)
    expect_near("pairs", model.next_sentence_logits(hidden, batch.lengths));
  if (has("pooled")) expect_near("pooled", model.pool(hidden, batch.lengths));
}

class BertFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(BertFolder, GivesTheSameAndSurvivesOurOwnCheckpoint) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  expect_golden(*loaded.as<TextEncoder>(), GetParam());
  EXPECT_FALSE(loaded.model->is_training());
  const TempFolder folder;
  save_model(folder.path(), *loaded.model, loaded.config, nullptr, {}, nullptr);
  const LoadedModel again = load_model(folder.path());
  expect_golden(*again.as<TextEncoder>(), GetParam());
  EXPECT_EQ(config_to_json(again.config), config_to_json(loaded.config));
  // Without zoo.json the folder is one of Hugging Face's own.
  fs::remove(folder / "zoo.json");
  expect_golden(*load_model(folder.path()).as<TextEncoder>(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Goldens, BertFolder,
                         ::testing::Values("bert_bare", "bert_masked_lm", "bert_untied",
                                           "bert_pre_training", "bert_classifier", "bert_tagger",
                                           "bert_old_names", "distilbert_bare",
                                           "distilbert_masked_lm", "distilbert_classifier"),
                         [](const auto& info) { return std::string(info.param); });

// For tests/golden/checkpoint/check_export.py.
TEST_P(BertFolder, DISABLED_WritesFoldersForPython) { testing::write_for_python(GetParam()); }

TEST(BertFolder, LabelsAreThoseOfTheConfig) {
  const LoadedModel loaded = load_model(golden("bert_classifier"), {.weights = false});
  const auto& head = std::get<ClassifierHeadConfig>(std::get<BertConfig>(loaded.config).head);
  EXPECT_EQ(head.labels, (std::vector<std::string>{"no", "maybe", "yes"}));
  const TempFolder folder;
  const LoadedModel whole = load_model(golden("bert_classifier"));
  save_model(folder.path(), *whole.model, whole.config, nullptr, {}, nullptr);
  const Json written = read_json_file(folder / "config.json");
  EXPECT_EQ(written["id2label"]["1"], "maybe");
  EXPECT_EQ(written["label2id"]["yes"], 2);
  EXPECT_EQ(written["architectures"][0], "BertForSequenceClassification");
}

/// A copy of the bare model with sentence-transformers' file beside it.
fs::path sentence_folder(const TempFolder& folder, const Json& modes) {
  const fs::path copy = folder / std::to_string(modes.size());
  fs::copy(golden("bert_bare"), copy, fs::copy_options::recursive);
  fs::create_directory(copy / "1_Pooling");
  write_json_file(copy / "1_Pooling/config.json", modes);
  return copy;
}

TEST(SentenceFolder, ItsPoolingIsReadAndWritten) {
  const TempFolder folder;
  const fs::path path = sentence_folder(
      folder, {{"pooling_mode_cls_token", false}, {"pooling_mode_mean_tokens", true}});
  const LoadedModel loaded = load_model(path);
  const auto model = loaded.as<TextEncoder>();
  const SafetensorsFile expected(path / "expected.safetensors");
  const TextBatch batch{expected.tensor("tokens"), expected.tensor("segments"),
                        expected.tensor("lengths")};
  const torch::NoGradGuard no_grad;
  const Tensor hidden = expected.tensor("hidden");  // (B, T, D) float64
  const Tensor pooled = model->pool(model->encode(batch), batch.lengths);
  for (int64_t row = 0; row < 3; ++row) {
    const Tensor mean = hidden[row].narrow(0, 0, batch.lengths[row].item<int64_t>()).mean(0);
    EXPECT_LE((pooled[row] - mean).abs().max().item<double>(), 1e-5);
  }
  save_model(folder / "saved", *model, loaded.config, nullptr, {}, nullptr);
  EXPECT_EQ(read_json_file(folder / "saved/config.json")["architectures"][0], "BertModel");
  EXPECT_EQ(read_json_file(folder / "saved/1_Pooling/config.json")["pooling_mode_mean_tokens"],
            true);
  fs::remove(folder / "saved/zoo.json");
  EXPECT_EQ(config_to_json(load_model(folder / "saved").config), config_to_json(loaded.config));
}

TEST(SentenceFolder, OtherPoolingIsRefused) {
  const TempFolder folder;
  const auto problem = [&](const Json& modes) {
    return message_of([&] { load_model(sentence_folder(folder, modes)); });
  };
  EXPECT_NE(problem({{"pooling_mode_mean_sqrt_len_tokens", true}}).find("expected exactly one"),
            std::string::npos);
  EXPECT_NE(problem({{"pooling_mode_mean_tokens", true}, {"pooling_mode_cls_token", true}})
                .find("expected exactly one"),
            std::string::npos);
  EXPECT_NE(problem(Json::object()).find("expected exactly one"), std::string::npos);
}

TEST(BertFolder, RefusesWhatOurModelCannotCompute) {
  const TempFolder folder;
  int copies = 0;
  const auto problem = [&](const char* key, const Json& value) {
    const fs::path copy = folder / std::to_string(++copies);
    fs::copy(golden("bert_masked_lm"), copy, fs::copy_options::recursive);
    Json json = read_json_file(copy / "config.json");
    json[key] = value;
    write_json_file(copy / "config.json", json);
    return message_of([&] { load_model(copy); });
  };
  const auto expect_part = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_part(problem("position_embedding_type", "relative_key"), "only \"absolute\" is supported");
  expect_part(problem("is_decoder", true), "is_decoder: only false");
  expect_part(problem("architectures", Json::array({"BertForQuestionAnswering"})),
              "ForQuestionAnswering is not supported; allowed are");
  expect_part(problem("architectures", Json::array({"RobertaModel"})), "allowed are BertModel");
  expect_part(problem("hidden_act", "mish"), "hidden_act: found \"mish\"; known: ");
}

}  // namespace
}  // namespace zoo
