#pragma once
// The config of the task that vision models learn. No torch in this header.

#include <string>
#include <vector>

#include "data/augment.h"

namespace zoo {

struct ImageClassificationTaskConfig {
  static constexpr std::string_view kType = "image_classification";
  static constexpr std::string_view kAbout =
      "The class of a picture (Dosovitskiy et al. 2021, \"An Image is Worth 16x16 Words\")";
  std::vector<std::string> train;
  std::vector<std::string> valid;
  double valid_fraction = 0.1;
  AugmentConfig augment;
  int64_t workers = 2;
  std::string cache;

  void fields(auto&& visit) {
    visit("train", train,
          "pictures to learn from: folders with a subfolder of PNG and JPEG files for each class, "
          "IDX files of pictures (MNIST's names, .gz or not), CIFAR .bin files");
    visit("valid", valid, "the same to evaluate on; empty: a share of `train`, see valid_fraction");
    visit("valid_fraction", valid_fraction, fraction(),
          "share of the pictures of `train`, drawn with the seed, held out when `valid` is empty");
    visit("augment", augment, "how pictures are changed anew each time they are learnt from");
    visit("workers", workers, between(0, 256),
          "threads that read and change pictures before they are needed; 0: none but the one that "
          "trains");
    visit("cache", cache,
          "folder for unpacked .gz files, shared by runs; empty: the run's own folder");
  }
};

}  // namespace zoo
