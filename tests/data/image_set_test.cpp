#include "data/image_set.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <set>

#include "core/error.h"
#include "data/image_file.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;

std::string idx(const std::vector<uint8_t>& bytes, const std::vector<uint32_t>& shape) {
  std::string text("\0\0\x08", 3);
  text += static_cast<char>(shape.size());
  for (const uint32_t size : shape)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift);
  text.append(bytes.begin(), bytes.end());
  return text;
}

std::string gz(const std::string& text, const fs::path& path) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return read_file(path);
}

std::string png(uint8_t red) {
  Image image = Image::black(3, 2, 2);
  for (size_t i = 0; i < image.pixels.size(); i += 3) image.pixels[i] = red;
  return encode_png(image);
}

class ImageSetTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& content) {
    write_file(folder_ / utf8_path(name), content);
    return folder_ / utf8_path(name);
  }
  std::unique_ptr<ImageSet> open(const std::vector<fs::path>& paths) {
    return open_images(paths, image_labels(paths), folder_ / "cache");
  }
  std::string problem(const fs::path& path) {
    return message_of([&] { open({path}); });
  }
  testing::TempFolder folder_;
};

TEST_F(ImageSetTest, FoldersAreClasses) {
  write("set/kö ter/1.png", png(1));
  write("set/cat/b/2.png", png(2));
  write("set/cat/a.PNG", png(3));
  write("set/cat/notes.txt", "no picture");
  write("set/.hidden/4.png", png(4));
  EXPECT_EQ(image_labels({folder_ / "set"}), (std::vector<std::string>{"cat", "kö ter"}));
  const auto set = open({folder_ / "set"});
  ASSERT_EQ(set->size(), 3);
  EXPECT_EQ(set->image(0).pixels[0], 3);
  EXPECT_EQ(set->image(1).pixels[0], 2);
  EXPECT_EQ(set->label(1), 0);
  EXPECT_EQ(set->label(2), 1);
  EXPECT_EQ(set->name(2), utf8(folder_ / "set" / utf8_path("kö ter") / "1.png"));
  const std::string unknown =
      message_of([&] { open_images({folder_ / "set"}, {"cat"}, folder_ / "cache"); });
  EXPECT_NE(unknown.find("kö ter: no class of that name; there are cat"), std::string::npos)
      << unknown;
}

TEST_F(ImageSetTest, IdxPlainAndCompressed) {
  const std::string images = idx({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3});
  const std::string labels = idx({1, 0}, {2});
  const auto check = [&](const fs::path& path) {
    EXPECT_EQ(image_labels({path}), (std::vector<std::string>{"0", "1"}));
    const auto set = open({path});
    ASSERT_EQ(set->size(), 2);
    const Image second = set->image(1);
    EXPECT_EQ(second.channels, 1);
    EXPECT_EQ(second.height, 2);
    EXPECT_EQ(second.width, 3);
    EXPECT_EQ(second.pixels, (std::vector<uint8_t>{7, 8, 9, 10, 11, 12}));
    EXPECT_EQ(set->label(0), 1);
    EXPECT_EQ(set->name(1), utf8(path) + "[1]");
  };
  write("a/train-labels-idx1-ubyte", labels);
  check(write("a/train-images-idx3-ubyte", images));
  fs::create_directory(folder_ / "b");
  gz(labels, folder_ / "b/train-labels-idx1-ubyte.gz");
  gz(images, folder_ / "b/train-images-idx3-ubyte.gz");
  check(folder_ / "b/train-images-idx3-ubyte.gz");
  // One compressed, the other not.
  write("c/train-images-idx3-ubyte", images);
  gz(labels, folder_ / "c/train-labels-idx1-ubyte.gz");
  check(folder_ / "c/train-images-idx3-ubyte");
}

TEST_F(ImageSetTest, BrokenIdxFilesAreNamed) {
  const std::string images = idx({1, 2, 3, 4}, {2, 2, 1});
  write("labels-idx1", idx({1, 0}, {2}));
  EXPECT_NE(problem(write("images-idx3", "text")).find("must begin with the bytes 0 0 8"),
            std::string::npos);
  EXPECT_NE(problem(write("images-idx3", images.substr(0, images.size() - 1)))
                .find("claims 4 bytes behind its header, but has 3"),
            std::string::npos);
  EXPECT_NE(problem(write("images-idx3", idx({1, 2}, {2}))).find("holds 1 dimensions"),
            std::string::npos);
  EXPECT_NE(problem(write("images-idx3", idx({1, 2, 3}, {3, 1, 1})))
                .find("has 2 labels, but " + utf8(folder_ / "images-idx3") + " has 3 pictures"),
            std::string::npos);
  EXPECT_NE(problem(write("other/images-idx3", images)).find("its labels are missing; looked for "),
            std::string::npos);
  EXPECT_NE(problem(write("pixels-idx3", images)).find("has no \"images\" in its name"),
            std::string::npos);
  write("images-idx3", images);
  const std::string few =
      message_of([&] { open_images({folder_ / "images-idx3"}, {"one"}, folder_ / "cache"); });
  EXPECT_NE(few.find("images-idx3[0]: its label is 1, but there are 1 classes"), std::string::npos)
      << few;
  std::string zipped = gz(std::string(5000, 'x') + images, folder_ / "images-idx3.gz");
  write("images-idx3.gz", zipped.substr(0, zipped.size() / 2));
  EXPECT_NE(problem(folder_ / "images-idx3.gz").find("a broken .gz file"), std::string::npos);
  // Sizes whose product does not fit into 64 bits.
  EXPECT_NE(problem(write("images-idx3", idx({1}, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF})))
                .find("bytes behind its header, but has 1"),
            std::string::npos);
}

TEST_F(ImageSetTest, CifarOfTenAndOfHundred) {
  std::string ten, hundred;
  for (int picture = 0; picture < 2; ++picture) {
    const std::string planes = std::string(1024, static_cast<char>(10 + picture)) +
                               std::string(1024, 20) + std::string(1024, 30);
    ten += static_cast<char>(picture) + planes;
    hundred += std::string(1, 9) + static_cast<char>(40 + picture) + planes;
  }
  const fs::path small = write("ten/data_batch_1.bin", ten);
  const auto set = open({small});
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->label(1), 1);
  const Image image = set->image(1);
  EXPECT_EQ(image.height, 32);
  EXPECT_EQ(std::vector<uint8_t>(image.pixels.begin(), image.pixels.begin() + 6),
            (std::vector<uint8_t>{11, 20, 30, 11, 20, 30}));
  EXPECT_EQ(image_labels({small}), (std::vector<std::string>{"0", "1"}));
  write("ten/batches.meta.txt", "airplane\nautomobile\n\n");
  EXPECT_EQ(image_labels({small}), (std::vector<std::string>{"airplane", "automobile"}));
  const fs::path large = write("hundred/train.bin", hundred);
  EXPECT_EQ(open({large})->label(1), 41);
  EXPECT_NE(problem(write("bad.bin", ten.substr(1))).find("bytes are no CIFAR file"),
            std::string::npos);
}

TEST_F(ImageSetTest, SeveralSetsAreOne) {
  write("one/a/1.png", png(1));
  write("two/b/2.png", png(2));
  const auto set = open({folder_ / "one", folder_ / "two"});
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->label(1), 1);
  EXPECT_EQ(set->image(1).pixels[0], 2);
}

TEST_F(ImageSetTest, WithoutLabelsAnythingGoes) {
  write("many/x/2.png", png(2));
  write("many/1.png", png(1));
  const fs::path digits = write("some-idx3-ubyte", idx({7, 8}, {2, 1, 1}));
  const auto set = open_unlabelled_images({folder_ / "many", folder_ / "missing.png", digits},
                                          folder_ / "cache");
  ASSERT_EQ(set->size(), 5);
  EXPECT_EQ(set->image(0).pixels[0], 1);
  EXPECT_EQ(set->image(1).pixels[0], 2);
  EXPECT_NE(message_of([&] { set->image(2); }).find("missing.png"), std::string::npos);
  EXPECT_EQ(set->image(4).pixels[0], 8);
  fs::create_directory(folder_ / "empty");
  EXPECT_NE(message_of([&] {
              open_unlabelled_images({folder_ / "empty"}, folder_ / "cache");
            }).find("holds no PNG or JPEG file"),
            std::string::npos);
}

TEST_F(ImageSetTest, MissingOnesAreNamed) {
  EXPECT_NE(problem(folder_ / "none").find("no such file or folder"), std::string::npos);
  fs::create_directory(folder_ / "flat");
  EXPECT_NE(problem(folder_ / "flat").find("has no subfolders"), std::string::npos);
  fs::create_directory(folder_ / "flat/class");
  EXPECT_NE(problem(folder_ / "flat").find("holds no picture"), std::string::npos);
}

TEST(HeldOutPictures, ArePartsOfTheWhole) {
  const HeldOut parts = held_out_pictures(100, 0.25, 3);
  EXPECT_EQ(parts.held.size(), 25);
  std::set<int64_t> all(parts.held.begin(), parts.held.end());
  all.insert(parts.rest.begin(), parts.rest.end());
  EXPECT_EQ(all.size(), 100);
  EXPECT_EQ(held_out_pictures(100, 0.25, 3).held, parts.held);
  EXPECT_NE(held_out_pictures(100, 0.25, 4).held, parts.held);
}

}  // namespace
}  // namespace zoo
