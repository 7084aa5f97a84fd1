// Hugging Face's ViT folders (tests/golden/checkpoint/make_vit_goldens.py), read and written.

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

INSTANTIATE_TEST_SUITE_P(Goldens, VitFolder,
                         ::testing::Values("vit_square", "vit_wide", "vit_timm"),
                         [](const auto& info) { return std::string(info.param); });

// For tests/golden/checkpoint/check_export.py.
TEST_P(VitFolder, DISABLED_WritesFoldersForPython) { testing::write_for_python(GetParam()); }

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

TEST(TimmFolder, DecidesTheModelByItsName) {
  const TempFolder folder;
  const auto config_of = [&](const Json& json) {
    write_json_file(folder / "config.json", json);
    return std::get<VitConfig>(load_config(folder.path()));
  };
  const VitConfig tiny = config_of({{"architecture", "vit_tiny_patch16_224.augreg_in21k_ft_in1k"},
                                    {"num_classes", 1000},
                                    {"pretrained_cfg", {{"input_size", {3, 384, 224}}}}});
  EXPECT_EQ(tiny.d_model, 192);
  EXPECT_EQ(tiny.num_layers, 12);
  EXPECT_EQ(tiny.block.attention.num_heads, 3);
  EXPECT_EQ(std::get<MlpConfig>(tiny.block.feed_forward).d_ff, 768);
  EXPECT_EQ(std::get<MlpConfig>(tiny.block.feed_forward).activation, Activation::gelu);
  EXPECT_EQ(std::get<LayerNormConfig>(tiny.block.norm).eps, 1e-6);
  EXPECT_EQ(tiny.patch_size, 16);
  EXPECT_EQ(tiny.image_height, 384);
  EXPECT_EQ(tiny.image_width, 224);
  EXPECT_EQ(tiny.labels.size(), 1000);
  EXPECT_EQ(tiny.labels[7], "LABEL_7");
  const VitConfig huge = config_of({{"architecture", "vit_huge_patch14_224"},
                                    {"num_classes", 2},
                                    {"label_names", {{"0", "cat"}, {"1", "dog"}}},
                                    {"model_args", {{"img_size", 28}, {"in_chans", 1}}}});
  EXPECT_EQ(huge.d_model, 1280);
  EXPECT_EQ(huge.image_height, 28);
  EXPECT_EQ(huge.channels, 1);
  EXPECT_NEAR(huge.input.mean[0], 0.449, 1e-12);  // of ImageNet's three
  EXPECT_EQ(huge.labels, (std::vector<std::string>{"cat", "dog"}));
}

TEST(TimmFolder, RefusesWhatOurModelCannotCompute) {
  const TempFolder folder;
  const auto expect = [&](const char* key, const Json& value, const std::string& part) {
    Json json = read_json_file(golden("vit_timm") / "config.json");
    json[key] = value;
    write_json_file(folder / "config.json", json);
    const std::string message = message_of([&] { load_config(folder.path()); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("architecture", "vit_base_patch16_clip_224",
         "config.json#/architecture: found \"vit_base_patch16_clip_224\"; of timm's models those "
         "named vit_SIZE_patchN_N are supported");
  expect("architecture", "resnet50", "architecture: found \"resnet50\"");
  expect("global_pool", "avg", "global_pool: only \"token\" is supported");
  expect("num_classes", 0, "num_classes: found 0; a model without classes is not supported");
  expect("num_classes", 4, "label_names: names 3 classes, num_classes is 4");
  expect("model_args", {{"init_values", 1e-5}},
         "model_args/init_values: found 1e-05; this argument is not supported");
  expect("model_args", {{"qkv_bias", false}}, "model_args/qkv_bias: only true is supported");
  expect("pretrained_cfg", {{"input_size", {3, 224}}}, "expected three whole numbers");
}

TEST(TimmCheckpoint, SaysHowPicturesAreRead) {
  const ImageInputConfig input = std::get<VitConfig>(load_config(golden("vit_timm"))).input;
  EXPECT_EQ(input.mean, std::vector<double>{0.5});
  EXPECT_EQ(input.interpolation, Interpolation::bicubic);
  EXPECT_EQ(input.crop_pct, 0.875);  // timm's default
}

}  // namespace
}  // namespace zoo
