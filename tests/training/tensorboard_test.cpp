// CRC-32C: the check values of RFC 3720, appendix B.4. Event files: a golden of bytes worked out
// from the wire format (and read once with tensorboard 2.21's own loader).

#include "training/tensorboard.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::TempFolder;

TEST(Crc32c, ChecksOfRfc3720) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
}

/// The payloads of a TFRecord file whose checksums hold.
std::vector<std::string> records(const fs::path& file) {
  const std::string bytes = read_file(file);
  const auto masked = [](std::string_view part) {
    return std::rotr(crc32c(part), 15) + 0xa282ead8u;
  };
  const auto number = [&]<class T>(size_t place, T) {
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
  };
  std::vector<std::string> found;
  for (size_t place = 0; place < bytes.size();) {
    const auto size = number(place, uint64_t{});
    EXPECT_EQ(number(place + 8, uint32_t{}), masked({bytes.data() + place, 8}));
    found.push_back(bytes.substr(place + 12, size));
    EXPECT_EQ(number(place + 12 + size, uint32_t{}), masked(found.back()));
    place += 16 + size;
  }
  return found;
}

TEST(TensorboardWriter, WritesScalarEvents) {
  const TempFolder folder;
  TensorboardWriter(folder.path(), 0).scalars(300, {{"a", 0.5}});
  const auto file = fs::directory_iterator(folder.path())->path();
  EXPECT_TRUE(utf8(file.filename()).starts_with("events.out.tfevents."));
  const std::vector<std::string> found = records(file);
  ASSERT_EQ(found.size(), 2u);
  // wall_time (1 + 8 bytes), step 0, file_version.
  EXPECT_EQ(found[0].substr(9), std::string("\x10\x00\x1a\x0d", 4) + "brain.Event:2");
  // step 300 as varint, summary { value { tag: "a" simple_value: 0.5 } }.
  EXPECT_EQ(found[1].substr(9), std::string("\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01"
                                            "a\x15\x00\x00\x00\x3f",
                                            15));
}

TEST(TensorboardWriter, AResumedRunForgetsLaterSteps) {
  const TempFolder folder;
  TensorboardWriter(folder.path(), 7);
  const std::vector<std::string> found = records(fs::directory_iterator(folder.path())->path());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].substr(9), std::string("\x10\x08\x3a\x02\x08\x01", 6));  // SessionLog START
}

}  // namespace
}  // namespace zoo
