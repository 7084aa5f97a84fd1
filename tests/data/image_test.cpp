// Pictures: decoding, resizing and what a model reads, against Pillow (tests/golden/data).

#include "data/image.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"
#include "data/image_file.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;

const fs::path kGolden = fs::path(ZOO_SOURCE_DIR) / "tests/golden/data";

const Json& golden() {
  static const Json json = read_json_file(kGolden / "images.json");
  return json;
}

Image image_of(const Json& json, int64_t channels = 3) {
  return {channels, json["height"], json["width"], json["pixels"].get<std::vector<uint8_t>>()};
}

std::string bytes_of(const std::string& name) { return read_file(kGolden / "images" / name); }

TEST(ImageFile, ReadsEveryFormAsPillowDoes) {
  for (const auto& [name, wanted] : golden()["files"].items()) {
    const Image found = read_image(kGolden / "images" / name);
    EXPECT_EQ(found.channels, 3) << name;
    EXPECT_EQ(found.height, wanted["height"]) << name;
    EXPECT_EQ(found.width, wanted["width"]) << name;
    EXPECT_EQ(found.pixels, wanted["pixels"].get<std::vector<uint8_t>>()) << name;
  }
}

TEST(ImageFile, GreyIsRepeatedAndTransparencyDropped) {  // IMG-1
  EXPECT_EQ(decode_image(bytes_of("grey.png"), "grey").pixels,
            (std::vector<uint8_t>{0, 0, 0, 128, 128, 128, 255, 255, 255, 64, 64, 64}));
  EXPECT_EQ(decode_image(bytes_of("rgba.png"), "rgba").pixels,
            (std::vector<uint8_t>{10, 20, 30, 200, 100, 50}));
}

TEST(ImageFile, BrokenFilesAreNamed) {  // IMG-4
  const auto problem = [](const std::string& bytes) {
    return message_of<DataError>([&] { decode_image(bytes, "a/b.png"); });
  };
  std::string jpeg = bytes_of("rgb.jpg"), png = bytes_of("rgb.png");
  EXPECT_TRUE(problem(jpeg.substr(0, jpeg.size() / 2)).starts_with("a/b.png: a broken JPEG: "));
  EXPECT_TRUE(problem(png.substr(0, png.size() - 20)).starts_with("a/b.png: a broken PNG: "));
  png[png.find("IDAT") + 10] ^= 1;
  EXPECT_TRUE(problem(png).starts_with("a/b.png: a broken PNG: "));
  EXPECT_EQ(problem(""), "a/b.png: an empty file; expected a PNG or JPEG");
  EXPECT_EQ(problem("some text"),
            "a/b.png: neither a PNG nor a JPEG, by its first bytes; convert it to one of them");
  for (size_t size = 8; size < bytes_of("rgb.png").size(); size += 5)
    EXPECT_NE(problem(bytes_of("rgb.png").substr(0, size)), "") << size;
}

/// A PNG whose header claims other sizes, its checksum made right again.
std::string claiming(uint32_t width, uint32_t height) {
  std::string png = bytes_of("rgb.png");
  const auto put = [&](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) png[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  uint32_t crc = 0xFFFFFFFF;  // of the chunk's name and content (PNG specification, annex D)
  for (size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<uint8_t>(png[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xEDB88320 ^ crc >> 1 : crc >> 1;
  }
  put(29, crc ^ 0xFFFFFFFF);
  return png;
}

TEST(ImageFile, SizesThatCannotBeAreRefusedBeforeMemoryIsTaken) {
  const auto problem = [](uint32_t width, uint32_t height) {
    return message_of<DataError>([&] { decode_image(claiming(width, height), "big"); });
  };
  EXPECT_EQ(problem(7, 5), "");
  EXPECT_EQ(problem(100000, 1), "big: a broken PNG: claims 100000 x 1 pixels, but is cut off");
  EXPECT_TRUE(problem(100000, 100000).starts_with("big: claims 100000 x 100000 pixels; "));
}

TEST(ImageFile, OnePixelIsAPicture) {
  Image one = Image::black(3, 1, 1);
  one.pixels = {1, 2, 3};
  EXPECT_EQ(decode_image(encode_png(one), "one").pixels, one.pixels);
  EXPECT_EQ(fit(one, 4, 4, {}).pixels.size(), 48);
}

TEST(ImageFile, WritesWhatItReads) {
  const Image source = image_of(golden()["source"]);
  for (const int64_t channels : {3, 1}) {
    const Image written = with_channels(source, channels);
    const Image read = with_channels(decode_image(encode_png(written), "written"), channels);
    EXPECT_EQ(read.pixels, written.pixels);
    EXPECT_EQ(read.height, 9);
    EXPECT_EQ(read.width, 7);
  }
}

TEST(ImageFile, AnyPathWorks) {  // SYS-3
  const testing::TempFolder folder;
  const fs::path path = folder / utf8_path("modèle Ω 模型 🦊/Bild 1.PNG");
  write_file(path, bytes_of("rgb.png"));
  EXPECT_EQ(read_image(path).width, 7);
  EXPECT_TRUE(has_image_name(path));
  EXPECT_TRUE(has_image_name("a.Jpeg"));
  EXPECT_FALSE(has_image_name("a.gif"));
  const fs::path broken = folder / utf8_path("模型.png");
  write_file(broken, "x");
  EXPECT_TRUE(message_of([&] { read_image(broken); }).starts_with(utf8(broken) + ": "));
}

TEST(Image, ResizesAsPillowDoes) {
  const Image source = image_of(golden()["source"]);
  for (const Json& wanted : golden()["resized"]) {
    Interpolation kind{};
    for (const auto& [value, name] : EnumNames<Interpolation>::values)
      if (wanted["interpolation"] == name) kind = value;
    const Image found = resize(source, wanted["height"], wanted["width"], kind);
    EXPECT_EQ(found.pixels, wanted["pixels"].get<std::vector<uint8_t>>())
        << wanted["interpolation"] << " to " << wanted["height"] << " x " << wanted["width"];
  }
}

TEST(Image, GreyIsPillowsLuminance) {
  Image colours = image_of(golden()["source"]);
  EXPECT_EQ(with_channels(colours, 1).pixels,
            golden()["luminance"]["grey"].get<std::vector<uint8_t>>());
}

TEST(Image, CropReachesOutsideIntoBlack) {
  Image image = Image::black(1, 2, 2);
  image.pixels = {1, 2, 3, 4};
  EXPECT_EQ(crop(image, -1, 1, 3, 2).pixels, (std::vector<uint8_t>{0, 0, 2, 0, 4, 0}));
  EXPECT_EQ(crop(image, 5, 5, 1, 2).pixels, (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(mirrored(image).pixels, (std::vector<uint8_t>{2, 1, 4, 3}));
}

TEST(Image, FitKeepsProportionsAndTheMiddle) {
  // 4 x 10: resized to 2 x 5, of which the middle columns stay; as torchvision's Resize(2) and
  // CenterCrop(2), whose left edge is round(1.5) = 2.
  Image wide = Image::black(1, 4, 10);
  for (size_t i = 0; i < 40; ++i) wide.pixels[i] = static_cast<uint8_t>(20 * (i % 10));
  const ImageInputConfig keep{.interpolation = Interpolation::nearest};
  EXPECT_EQ(fit(wide, 2, 2, keep).pixels, (std::vector<uint8_t>{100, 140, 100, 140}));
  const ImageInputConfig squeeze{.crop_pct = 0, .interpolation = Interpolation::nearest};
  EXPECT_EQ(fit(wide, 2, 2, squeeze).pixels, (std::vector<uint8_t>{40, 140, 40, 140}));
  const ImageInputConfig half{.crop_pct = 0.5, .interpolation = Interpolation::nearest};
  EXPECT_EQ(fit(wide, 2, 2, half).pixels, (std::vector<uint8_t>{80, 100, 80, 100}));
}

TEST(Image, NormalizeTakesEachColourApart) {
  Image image = Image::black(3, 1, 2);
  image.pixels = {255, 0, 51, 0, 255, 102};
  std::vector<float> out(6);
  normalize(image, {.mean = {0.5, 0, 0.1}, .std = {0.5, 1, 0.1}}, out);
  const std::vector<float> wanted = {1, -1, 0, 1, 1, 3};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(out[i], wanted[i], 1e-6) << i;
}

}  // namespace
}  // namespace zoo
