#pragma once
// Changed pictures for training: what a model must not be misled by.

#include <span>

#include "core/random.h"
#include "data/image.h"

namespace zoo {

struct AugmentConfig {
  double random_resized_crop = 1;
  int64_t random_crop = 0;
  double horizontal_flip = 0;
  double random_erasing = 0;
  double mixup = 0;
  double cutmix = 0;

  void fields(auto&& visit) {
    visit("random_resized_crop", random_resized_crop, {.low = 0, .high = 1, .low_open = true},
          "smallest share of a picture's area that is cut out at a random place, in proportions of "
          "3:4 to 4:3, and resized (Szegedy et al. 2015, section 6); 1: off");
    visit("random_crop", random_crop, non_negative(),
          "pixels of black around a picture, out of which its size is cut at a random place (He et "
          "al. 2016, section 4.2)");
    visit("horizontal_flip", horizontal_flip, between(0, 1),
          "share of the pictures whose left and right change");
    visit("random_erasing", random_erasing, between(0, 1),
          "share of the pictures of which a rectangle of 2 to 33 % becomes noise (Zhong et al. "
          "2020, \"Random Erasing Data Augmentation\", algorithm 1)");
    visit("mixup", mixup, non_negative(),
          "two pictures of a batch are added with shares drawn from Beta(mixup, mixup), and so are "
          "their classes (Zhang et al. 2018, \"mixup\"); 0: off");
    visit("cutmix", cutmix, non_negative(),
          "a rectangle comes from another picture, its area drawn from Beta(cutmix, cutmix), and "
          "the classes count by area (Yun et al. 2019, \"CutMix\"); 0: off; with mixup too, each "
          "batch has one or the other");
  }
};

/// fit(), with random_resized_crop, random_crop and horizontal_flip.
Image fit_randomly(const Image& image, int64_t height, int64_t width, const ImageInputConfig& input,
                   const AugmentConfig& config, RandomStream& random);

/// random_erasing, of one normalised picture. @param pixels (X, Y, Z)
void erase_randomly(std::span<float> pixels, int64_t height, int64_t width,
                    const AugmentConfig& config, RandomStream& random);

/// How the pictures of a batch are mixed with each other.
struct Mix {
  double share = 1;  ///< of a picture in itself; the rest is the other one's; 1: not mixed
  bool cut = false;  ///< cutmix: the rectangle below is the other one's
  int64_t top = 0, left = 0, height = 0, width = 0;
};

/// mixup or cutmix. @param height, width of the pictures
Mix draw_mix(int64_t height, int64_t width, const AugmentConfig& config, RandomStream& random);

/// From Beta(a, b), by two gamma variates (Marsaglia & Tsang 2000). @param a, b > 0
double draw_beta(double a, double b, RandomStream& random);

}  // namespace zoo
