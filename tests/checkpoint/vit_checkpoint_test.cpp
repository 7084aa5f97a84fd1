// Hugging Face's ViT folders (tests/golden/checkpoint/make_vit_goldens.py), read and written.

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "core/config.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;

fs::path golden(const std::string& name) {
  return fs::path(ZOO_SOURCE_DIR) / "tests/golden/checkpoint" / name;
}

void expect_near(const Tensor& found, const Tensor& expected, const char* what) {
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  EXPECT_LE((found - expected).abs().max().item<double>(), 1e-5) << what;
}

void expect_golden(ImageEncoder& model, const std::string& name) {
  const SafetensorsFile expected(golden(name) / "expected.safetensors");
  const torch::NoGradGuard no_grad;
  Tap tap{.want_attention = true, .want_hidden = false, .attention = {}, .hidden = {}};
  const Tensor images = expected.tensor("images");
  const Tensor hidden = model.encode(images);
  expect_near(hidden, expected.tensor("hidden"), "hidden");
  expect_near(model.logits(hidden), expected.tensor("logits"), "logits");
  expect_near(model.encode(images, &tap), expected.tensor("hidden"), "hidden with a tap");
  ASSERT_EQ(tap.attention.size(), 2);
  expect_near(tap.attention[0], expected.tensor("attention_0"), "attention of layer 0");
  expect_near(tap.attention[1], expected.tensor("attention_1"), "attention of layer 1");
  if (expected.tensors().contains("other_images"))
    expect_near(model.logits(model.encode(expected.tensor("other_images"))),
                expected.tensor("other_logits"), "logits of another size");
}

class VitFolder : public ::testing::TestWithParam<const char*> {};

TEST_P(VitFolder, GivesTheSameAndSurvivesOurOwnCheckpoint) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  expect_golden(*loaded.as<ImageEncoder>(), GetParam());
  EXPECT_EQ(loaded.as<ImageEncoder>()->labels(), (std::vector<std::string>{"no", "maybe", "yes"}));
  EXPECT_EQ(loaded.tokenizer, nullptr);
  const TempFolder folder;
  save_model(folder.path(), *loaded.model, loaded.config, nullptr, {}, nullptr);
  expect_golden(*load_model(folder.path()).as<ImageEncoder>(), GetParam());
  EXPECT_FALSE(fs::exists(folder / "generation_config.json"));
  // Without zoo.json the folder is one of Hugging Face's own.
  fs::remove(folder / "zoo.json");
  const LoadedModel again = load_model(folder.path());
  expect_golden(*again.as<ImageEncoder>(), GetParam());
  EXPECT_EQ(config_to_json(again.config), config_to_json(loaded.config));
}

INSTANTIATE_TEST_SUITE_P(Goldens, VitFolder, ::testing::Values("vit_square", "vit_wide"),
                         [](const auto& info) { return std::string(info.param); });

// For tests/golden/checkpoint/check_export.py.
TEST_P(VitFolder, DISABLED_WritesFoldersForPython) {
  const LoadedModel loaded = load_model(golden(GetParam()));
  const fs::path folder = fs::path("exports") / GetParam();
  fs::create_directories(folder);
  save_model(folder, *loaded.model, loaded.config, nullptr, {}, nullptr);
  fs::copy_file(golden(GetParam()) / "expected.safetensors", folder / "expected.safetensors",
                fs::copy_options::overwrite_existing);
}

TEST(VitFolder, RefusesWhatOurModelCannotCompute) {
  const TempFolder folder;
  int copies = 0;
  const auto problem = [&](const char* key, const Json& value) {
    const fs::path copy = folder / std::to_string(++copies);
    fs::copy(golden("vit_square"), copy, fs::copy_options::recursive);
    Json json = read_json_file(copy / "config.json");
    json[key] = value;
    write_json_file(copy / "config.json", json);
    return message_of([&] { load_model(copy); });
  };
  const auto expect_part = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_part(problem("qkv_bias", false), "qkv_bias: only true is supported");
  expect_part(problem("architectures", Json::array({"ViTModel"})),
              "architectures: only \"ViTForImageClassification\"");
  expect_part(problem("image_size", "8"), "image_size: expected a whole number above 0");
  expect_part(problem("image_size", 9), "patch_size 4 must divide image_height 9");
}

}  // namespace
}  // namespace zoo
