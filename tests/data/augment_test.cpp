#include "data/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace zoo {
namespace {

/// Every pixel has its own value.
Image numbered(int64_t height, int64_t width) {
  Image image = Image::black(1, height, width);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i + 1);
  return image;
}

TEST(FitRandomly, WithoutChangesIsFit) {
  RandomStream random(1, 2);
  const Image image = numbered(8, 8);
  EXPECT_EQ(fit_randomly(image, 8, 8, {}, {}, random).pixels, image.pixels);
  EXPECT_EQ(fit_randomly(image, 4, 4, {}, {}, random).pixels, fit(image, 4, 4, {}).pixels);
}

TEST(FitRandomly, FlipsTheShareThatIsAskedFor) {
  const Image image = numbered(2, 2);
  int flipped = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    RandomStream random(1, i);
    flipped += fit_randomly(image, 2, 2, {}, {.horizontal_flip = 0.3}, random).pixels[0] == 2;
  }
  EXPECT_NEAR(flipped / 2000.0, 0.3, 0.04);  // four standard deviations
}

TEST(FitRandomly, CropsAtEveryPlaceEquallyOften) {
  const Image image = numbered(4, 4);
  std::map<std::vector<uint8_t>, int> seen;
  for (uint64_t i = 0; i < 2500; ++i) {
    RandomStream random(5, i);
    ++seen[fit_randomly(image, 4, 4, {}, {.random_crop = 2}, random).pixels];
  }
  EXPECT_EQ(seen.size(), 25);
  EXPECT_EQ(seen.count(image.pixels), 1);
  for (const auto& [pixels, count] : seen) EXPECT_NEAR(count, 100, 45);
}

TEST(FitRandomly, ResizedCropsKeepTheirShareOfTheArea) {
  // The pixels of a ramp tell which part was cut out.
  Image ramp = Image::black(1, 100, 100);
  for (size_t i = 0; i < ramp.pixels.size(); ++i) ramp.pixels[i] = static_cast<uint8_t>(i % 100);
  double least = 1, most = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    RandomStream random(5, i);
    const Image part = fit_randomly(ramp, 50, 50, {}, {.random_resized_crop = 0.25}, random);
    const double width = part.pixels[49] - part.pixels[0] + 1;
    least = std::min(least, width / 100);
    most = std::max(most, width / 100);
  }
  EXPECT_NEAR(least, 0.5 * std::sqrt(0.75), 0.06);
  EXPECT_GE(most, 0.97);
}

TEST(EraseRandomly, ErasesOneRectangleOfEachColour) {
  std::vector<float> pixels(3 * 20 * 20, 9);
  RandomStream random(1, 1);
  erase_randomly(pixels, 20, 20, {.random_erasing = 1}, random);
  std::set<std::pair<int, int>> erased[3];
  double sum = 0, squares = 0;
  for (int i = 0; i < 1200; ++i)
    if (pixels[i] != 9) {
      erased[i / 400].emplace(i % 400 / 20, i % 20);
      sum += pixels[i];
      squares += pixels[i] * pixels[i];
    }
  const double count = 3.0 * static_cast<double>(erased[0].size());
  EXPECT_GE(erased[0].size(), 8);  // 2 % of 400
  EXPECT_LE(erased[0].size(), 132 + 12);
  EXPECT_EQ(erased[0], erased[1]);
  EXPECT_EQ(erased[0], erased[2]);
  EXPECT_NEAR(sum / count, 0, 4 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 6 / std::sqrt(count));
  std::vector<float> kept(400, 9);
  erase_randomly(kept, 20, 20, {}, random);
  EXPECT_EQ(kept, std::vector<float>(400, 9));
}

TEST(DrawBeta, HasTheRightMomentsAndShape) {
  for (const auto& [a, b] : {std::pair{0.2, 0.2}, {1.0, 1.0}, {2.0, 5.0}}) {
    RandomStream random(1, 2);
    double sum = 0, squares = 0;
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draw_beta(a, b, random);
      ASSERT_GE(x, 0);
      ASSERT_LE(x, 1);
      sum += x;
      squares += x * x;
    }
    const double mean = a / (a + b), variance = a * b / ((a + b) * (a + b) * (a + b + 1));
    EXPECT_NEAR(sum / kDraws, mean, 5 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws - sum / kDraws * sum / kDraws, variance, 0.03 * variance + 1e-4);
  }
}

TEST(DrawMix, CutsCountByTheirArea) {
  int mixed = 0, cut = 0;
  double share = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    RandomStream random(1, i);
    const Mix mix = draw_mix(10, 20, {.mixup = 0.2, .cutmix = 1}, random);
    ASSERT_GE(mix.share, 0);
    ASSERT_LE(mix.share, 1);
    (mix.cut ? cut : mixed) += 1;
    if (!mix.cut) continue;
    share += mix.share;
    ASSERT_LE(mix.top + mix.height, 10);
    ASSERT_LE(mix.left + mix.width, 20);
    EXPECT_DOUBLE_EQ(mix.share, 1 - static_cast<double>(mix.height * mix.width) / 200);
  }
  EXPECT_NEAR(cut, 2000, 130);
  EXPECT_EQ(mixed + cut, 4000);
  // Half of the area by the draw, more by what the borders cut off.
  EXPECT_GT(share / cut, 0.55);
  EXPECT_LT(share / cut, 0.75);
  RandomStream random(1, 2);
  EXPECT_EQ(draw_mix(10, 20, {}, random).share, 1);
}

}  // namespace
}  // namespace zoo
