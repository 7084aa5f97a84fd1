// preprocessor_config.json of Hugging Face's folders.

#include "checkpoint/image_folder.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;

class ImageFolderTest : public ::testing::Test {
 protected:
  VitConfig read(const Json& json) {
    write_json_file(folder_ / "preprocessor_config.json", json);
    ModelConfig config = VitConfig{};
    read_image_input(folder_.path(), config);
    return std::get<VitConfig>(config);
  }
  std::string problem(const Json& json) {
    return message_of([&] { read(json); });
  }
  testing::TempFolder folder_;
};

TEST_F(ImageFolderTest, ReadsWhatViTsSay) {
  // google/vit-base-patch16-224's, and a newer one with a crop.
  const ImageInputConfig squeezed = read({{"do_normalize", true},
                                          {"do_resize", true},
                                          {"image_mean", {0.5, 0.5, 0.5}},
                                          {"image_std", {0.5, 0.5, 0.5}},
                                          {"size", 224}})
                                        .input;
  EXPECT_EQ(squeezed.crop_pct, 0);
  EXPECT_EQ(squeezed.interpolation, Interpolation::bilinear);
  const ImageInputConfig cut = read({{"do_center_crop", true},
                                     {"crop_size", {{"height", 224}, {"width", 224}}},
                                     {"size", {{"shortest_edge", 256}}},
                                     {"resample", 3},
                                     {"image_mean", {0.485, 0.456, 0.406}},
                                     {"image_std", {0.229, 0.224, 0.225}}})
                                   .input;
  EXPECT_EQ(cut.crop_pct, 0.875);
  EXPECT_EQ(cut.interpolation, Interpolation::bicubic);
  EXPECT_EQ(cut.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(cut.std, (std::vector<double>{0.229, 0.224, 0.225}));
  EXPECT_EQ(read({{"do_normalize", false}}).input.std, std::vector<double>{1});
}

TEST_F(ImageFolderTest, WritesWhatItReads) {
  for (const double crop_pct : {0.0, 0.875, 1.0}) {
    VitConfig config;
    config.input = {.mean = {0.1, 0.2, 0.3},
                    .std = {0.4},
                    .crop_pct = crop_pct,
                    .interpolation = Interpolation::lanczos};
    write_image_input(folder_.path(), config);
    ModelConfig found = VitConfig{};
    read_image_input(folder_.path(), found);
    const ImageInputConfig& input = std::get<VitConfig>(found).input;
    EXPECT_EQ(input.mean, config.input.mean);
    EXPECT_EQ(input.std, std::vector<double>{0.4});
    EXPECT_EQ(input.crop_pct, crop_pct);
    EXPECT_EQ(input.interpolation, Interpolation::lanczos);
    const Json written = read_json_file(folder_ / "preprocessor_config.json");
    EXPECT_EQ(written["image_processor_type"],
              crop_pct == 0 ? "ViTImageProcessor" : "CLIPImageProcessor");
  }
}

TEST_F(ImageFolderTest, RefusesWhatItDoesNotHave) {
  EXPECT_NE(problem({{"rescale_factor", 1.0}}).find("only 1/255 is supported"), std::string::npos);
  EXPECT_NE(problem({{"resample", 4}}).find("resample: found 4; known: 0 (nearest)"),
            std::string::npos);
  EXPECT_NE(problem({{"image_mean", {0.5, 0.4}}}).find("input.mean has 2 numbers"),
            std::string::npos);
  EXPECT_NE(problem({{"image_std", {0.5, 0.0, 1}}}).find("image_std"), std::string::npos);
}

}  // namespace
}  // namespace zoo
