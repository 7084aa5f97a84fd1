// The Vision Transformer's own promises; its numbers against Hugging Face's are in
// tests/checkpoint/vit_checkpoint_test.cpp.

#include "models/vit.h"

#include <gtest/gtest.h>

#include "models/cost.h"
#include "models/zoo.h"
#include "tests/support/message_of.h"
#include "tests/support/parameter_shapes.h"

namespace zoo {
namespace {

VitConfig small() {
  VitConfig config;
  config.image_height = 8;
  config.image_width = 12;
  config.channels = 2;
  config.patch_size = 4;
  config.num_layers = 2;
  config.d_model = 16;
  config.block.attention.num_heads = 2;
  config.labels = {"a", "b", "c"};
  return config;
}

std::shared_ptr<Vit> made(const VitConfig& config) {
  torch::manual_seed(5);
  auto model = std::dynamic_pointer_cast<Vit>(make_image_encoder(config));
  model->eval();
  return model;
}

double largest(const Tensor& difference) { return difference.abs().max().item<double>(); }

TEST(Vit, PatchesAreAStridedConvolution) {
  VitConfig config = small();
  config.num_layers = 1;
  config.position = PatchPosition::none;
  config.pooling = ImagePooling::mean;
  const auto model = made(config);
  const torch::NoGradGuard no_grad;
  const Tensor images = torch::randn({3, 2, 8, 12});
  Tap tap{.want_attention = false, .want_hidden = true, .attention = {}, .hidden = {}};
  model->encode(images, &tap);
  const Tensor kernel = model->patch_embedding->weight.view({16, 2, 4, 4});
  const Tensor convolved = at::conv2d(images, kernel, model->patch_embedding->bias, /*stride=*/4);
  EXPECT_LE(largest(tap.hidden[0] - convolved.flatten(2).transpose(1, 2)), 1e-6);
  const Tensor wide = torch::randn({2, 3, 8, 8}, torch::kFloat64);
  const Tensor unfolded = at::im2col(wide, {4, 4}, {1, 1}, {0, 0}, {4, 4}).transpose(1, 2);
  EXPECT_TRUE(torch::equal(patch_pixels(wide, 4), unfolded));
}

// What LibTorch's convolutions make of the same weights.
TEST(Vit, StemIsConvolutionsOfStrideTwo) {
  VitConfig config = small();
  config.stem = PatchStem::conv;
  config.d_model = 64;
  config.position = PatchPosition::none;
  config.pooling = ImagePooling::mean;
  const auto model = made(config);
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : model->parameters()) parameter.add_(0.1 * torch::randn_like(parameter));
  const Tensor images = torch::randn({3, 2, 8, 12});
  Tap tap{.want_attention = false, .want_hidden = true, .attention = {}, .hidden = {}};
  model->encode(images, &tap);
  Tensor expected = images;
  for (const auto& layer : *model->stem) {
    const auto& linear = *layer->as<LinearImpl>();
    const Tensor kernel = linear.weight.view({linear.weight.size(0), -1, 3, 3});
    expected = at::conv2d(expected, kernel, linear.bias, /*stride=*/2, /*padding=*/1).relu();
  }
  EXPECT_EQ(expected.size(1), 32);
  expected = at::linear(expected.flatten(2).transpose(1, 2), model->patch_embedding->weight,
                        model->patch_embedding->bias);
  EXPECT_LE(largest(tap.hidden[0] - expected), 1e-5);
}

TEST(Vit, WithoutPositionsTheOrderOfPatchesMakesNoDifference) {
  const auto turned_changes = [](PatchPosition position) {
    VitConfig config = small();
    config.position = position;
    const auto model = made(config);
    const torch::NoGradGuard no_grad;
    const Tensor images = torch::randn({2, 2, 8, 12});
    // Rolled by a whole patch.
    return largest(model->logits(model->encode(images)) -
                   model->logits(model->encode(images.roll(4, 3))));
  };
  EXPECT_LE(turned_changes(PatchPosition::none), 1e-6);
  EXPECT_GT(turned_changes(PatchPosition::learned), 1e-4);
  EXPECT_GT(turned_changes(PatchPosition::sinusoidal), 1e-4);
}

TEST(Vit, OtherSizesAreRead) {
  for (const auto position :
       {PatchPosition::learned, PatchPosition::sinusoidal, PatchPosition::none})
    for (const auto pooling : {ImagePooling::class_token, ImagePooling::mean}) {
      VitConfig config = small();
      config.position = position;
      config.pooling = pooling;
      const auto model = made(config);
      const torch::NoGradGuard no_grad;
      const int64_t own = pooling == ImagePooling::class_token ? 1 : 0;
      const Tensor hidden = model->encode(torch::randn({1, 2, 20, 4}));
      EXPECT_EQ(hidden.sizes(), (std::vector<int64_t>{1, 5 + own, 16}));
      EXPECT_EQ(model->logits(hidden).sizes(), (std::vector<int64_t>{1, 3}));
    }
  const auto model = made(small());
  EXPECT_NE(testing::message_of([&] {
              model->encode(torch::randn({1, 2, 8, 10}));
            }).find("8 x 10 pixels, which the patch size 4 does not divide"),
            std::string::npos);
  EXPECT_THROW(model->encode(torch::randn({1, 3, 8, 12})), ShapeError);
}

TEST(Vit, TheClassTokenKeepsItsPlaceWhateverTheSize) {
  const auto model = made(small());
  const torch::NoGradGuard no_grad;
  const auto first_token = [&](const std::vector<int64_t>& size) {
    Tap tap{.want_attention = false, .want_hidden = true, .attention = {}, .hidden = {}};
    model->encode(torch::randn(size), &tap);
    return tap.hidden[0].select(1, 0);  // (B, D)
  };
  const Tensor expected = model->class_token->weight + model->position->weight.narrow(0, 0, 1);
  EXPECT_EQ(largest(first_token({1, 2, 8, 12}) - expected), 0);
  EXPECT_EQ(largest(first_token({1, 2, 16, 4}) - expected), 0);
}

TEST(Vit, SinusoidalPlacesHaveTwoDimensions) {
  const Tensor grid = sinusoidal_grid(3, 5, 8);  // (R, S, D)
  EXPECT_EQ(grid.sizes(), (std::vector<int64_t>{3, 5, 8}));
  // Rates 1 and 1/100; sines, then cosines; rows, then columns.
  EXPECT_NEAR(grid[2][4][0].item<double>(), std::sin(2.0), 1e-12);
  EXPECT_NEAR(grid[2][4][1].item<double>(), std::sin(0.02), 1e-12);
  EXPECT_NEAR(grid[2][4][2].item<double>(), std::cos(2.0), 1e-12);
  EXPECT_NEAR(grid[2][4][4].item<double>(), std::sin(4.0), 1e-12);
  EXPECT_NEAR(grid[2][4][7].item<double>(), std::cos(0.04), 1e-12);
}

TEST(Vit, PublishedParameterCounts) {
  // timm's vit_tiny/small/base/large_patch16_224 with 1,000 classes.
  for (const auto& [name, count] : {std::pair{"vit-tiny", 5717416},
                                    {"vit-small", 22050664},
                                    {"vit-base", 86567656},
                                    {"vit-large", 304326632}}) {
    VitConfig config = VitConfig::preset(name);
    config.labels.assign(1000, "x");
    EXPECT_EQ(parameter_count(config), count) << name;
  }
  VitConfig digits = VitConfig::preset("vit-digits");
  digits.labels.assign(10, "x");
  EXPECT_LE(parameter_count(digits), 100'000);
  VitConfig mnist = VitConfig::preset("vit-mnist");
  mnist.labels.assign(10, "x");
  EXPECT_LE(parameter_count(mnist), 1'000'000);
}

TEST(Vit, CostsAreTheModules) {
  VitConfig config = small();
  EXPECT_EQ(testing::predicted_parameters(config), testing::built_parameters(*made(config)));
  config.pooling = ImagePooling::mean;
  config.position = PatchPosition::none;
  config.block.placement = NormPlacement::post;
  EXPECT_EQ(testing::predicted_parameters(config), testing::built_parameters(*made(config)));
  config.stem = PatchStem::conv;
  config.d_model = 64;
  EXPECT_EQ(testing::predicted_parameters(config), testing::built_parameters(*made(config)));
}

TEST(Vit, BadSizesAreRefused) {
  VitConfig config = small();
  config.labels.clear();
  EXPECT_NE(testing::message_of([&] { make_image_encoder(config); }).find("labels is empty"),
            std::string::npos);
  config = small();
  config.patch_size = 5;
  EXPECT_NE(testing::message_of([&] { make_image_encoder(config); }).find("must divide"),
            std::string::npos);
  config.image_height = config.image_width = 12;
  config.patch_size = 6;
  config.stem = PatchStem::conv;
  EXPECT_NE(testing::message_of([&] { make_image_encoder(config); }).find("must be 2, 4, 8"),
            std::string::npos);
}

}  // namespace
}  // namespace zoo
