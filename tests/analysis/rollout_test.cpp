#include "analysis/rollout.h"

#include <gtest/gtest.h>

#include "models/zoo.h"

namespace zoo {
namespace {

TEST(AttentionRollout, IsTheProductOfTheMixedLayers) {
  torch::manual_seed(1);
  std::vector<Tensor> attention;
  for (int layer = 0; layer < 3; ++layer)
    attention.push_back(torch::randn({2, 4, 5, 5}, torch::kFloat64).softmax(-1));
  const Tensor found = attention_rollout(attention);
  Tensor wanted = torch::eye(5, torch::kFloat64).expand({2, 5, 5});
  for (const Tensor& layer : attention)
    wanted = (0.5 * layer.mean(1) + 0.5 * torch::eye(5, torch::kFloat64)).matmul(wanted);
  EXPECT_LE((found - wanted).abs().max().item<double>(), 1e-12);
  EXPECT_LE((found.sum(-1) - 1).abs().max().item<double>(), 1e-12);
}

TEST(PatchRelevance, HasAPlaceForEachPatchAndSumsToOne) {
  for (const ImagePooling pooling : {ImagePooling::class_token, ImagePooling::mean}) {
    VitConfig config = VitConfig::preset("vit-digits");
    config.pooling = pooling;
    config.labels = {"a", "b"};
    torch::manual_seed(2);
    const auto model = make_image_encoder(config);
    model->eval();
    const Tensor relevance = patch_relevance(*model, torch::randn({3, 1, 8, 12}));
    EXPECT_EQ(relevance.sizes(), (std::vector<int64_t>{3, 4, 6}));
    EXPECT_LE((relevance.sum({1, 2}) - 1).abs().max().item<double>(), 1e-5);
    EXPECT_GE(relevance.min().item<double>(), 0);
  }
}

}  // namespace
}  // namespace zoo
