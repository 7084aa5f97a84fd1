#include "data/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace zoo {

namespace {

/// As many as Pillow refuses: three bytes of each must fit into memory.
constexpr int64_t kMostPixels = 178'956'970;

[[noreturn]] void fail(const std::string& name, const std::string& problem) {
  throw DataError(cat(name, ": ", problem));
}

void require_usable_size(int64_t height, int64_t width, const std::string& name) {
  if (height < 1 || width < 1 || height > kMostPixels / width)
    fail(name, cat("claims ", width, " x ", height, " pixels; between 1 and ",
                   with_thousands(kMostPixels), " are read"));
}

// ---- EXIF ------------------------------------------------------------------------------------

/// The tag "Orientation" of a TIFF block (EXIF 2.3, section 4.6.4); 1 if it has none.
int orientation_in(std::string_view tiff) {
  constexpr uint32_t kOrientation = 0x0112, kShort = 3;
  const bool little = tiff.starts_with(std::string_view("II*\0", 4));
  if (!little && !tiff.starts_with(std::string_view("MM\0*", 4))) return 1;
  const auto number = [&](size_t at, size_t bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      const auto byte = static_cast<uint8_t>(tiff[at + (little ? bytes - 1 - i : i)]);
      value = value << 8 | byte;
    }
    return value;
  };
  if (tiff.size() < 8) return 1;
  const size_t folder = number(4, 4);
  if (folder > tiff.size() || tiff.size() - folder < 2) return 1;
  const size_t entries = std::min<size_t>(number(folder, 2), (tiff.size() - folder - 2) / 12);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = folder + 2 + i * 12;
    if (number(entry, 2) != kOrientation || number(entry + 2, 2) != kShort) continue;
    const uint32_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

/// The same of a JPEG, in its segment APP1.
int jpeg_orientation(std::string_view bytes) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr uint8_t kApp1 = 0xE1, kScan = 0xDA;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  for (size_t at = 2; at + 4 <= bytes.size() && byte(at) == 0xFF;) {
    const uint8_t marker = byte(at + 1);
    const size_t length = static_cast<size_t>(byte(at + 2)) << 8 | byte(at + 3);
    if (marker == kScan || length < 2 || at + 2 + length > bytes.size()) break;
    const std::string_view content = bytes.substr(at + 4, length - 2);
    if (marker == kApp1 && content.starts_with(kExif))
      return orientation_in(content.substr(kExif.size()));
    at += 2 + length;
  }
  return 1;
}

// ---- JPEG ------------------------------------------------------------------------------------

Image decode_jpeg(std::string_view bytes, const std::string& name) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  const auto require = [&](int status) {
    // Warnings too: a file that is cut off would be filled up with grey.
    if (status != 0) fail(name, cat("a broken JPEG: ", tjGetErrorStr2(decoder.get())));
  };
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  require(tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling,
                              &colours));
  require_usable_size(height, width, name);
  const bool cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
  Image image = Image::black(cmyk ? 4 : 3, height, width);
  require(tjDecompress2(decoder.get(), data, bytes.size(), image.pixels.data(), width, 0, height,
                        cmyk ? TJPF_CMYK : TJPF_RGB, TJFLAG_ACCURATEDCT));
  if (!cmyk) return image;
  // As every program of note writes them, inverted: 255 is no ink.
  Image rgb = Image::black(3, height, width);
  const uint8_t* from = image.pixels.data();
  for (uint8_t* to = rgb.pixels.data(); to != rgb.pixels.data() + rgb.pixels.size();
       to += 3, from += 4)
    for (int i = 0; i < 3; ++i) to[i] = static_cast<uint8_t>((from[i] * from[3] + 127) / 255);
  return rgb;
}

// ---- PNG -------------------------------------------------------------------------------------
// libpng reports errors by longjmp(). The functions that call it therefore hold nothing that needs
// a destructor, and say by their result whether they came through.

struct PngProblem {
  char text[160] = "";
};

[[noreturn]] void note_and_jump(png_structp png, png_const_charp text) {
  auto* problem = static_cast<PngProblem*>(png_get_error_ptr(png));
  std::snprintf(problem->text, sizeof problem->text, "%s", text);
  png_longjmp(png, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto* left = static_cast<std::string_view*>(png_get_io_ptr(png));
  if (left->size() < count) png_error(png, "the file is cut off");
  std::memcpy(to, left->data(), count);
  left->remove_prefix(count);
}

class PngDecoder {
 public:
  PngDecoder(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &problem_, note_and_jump, ignore_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) fail(name, "libpng cannot start");
  }
  ~PngDecoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  Image decode() {
    require(read_header());
    const int64_t height = png_get_image_height(png_, info_);
    const int64_t width = png_get_image_width(png_, info_);
    require_usable_size(height, width, name_);
    // Deflate makes nothing smaller than 1032 to 1, so a file cannot claim more than that.
    if (static_cast<uint64_t>(height) * static_cast<uint64_t>((width * bits_ + 7) / 8) >
        1032 * bytes_.size())
      fail(name_, cat("a broken PNG: claims ", width, " x ", height, " pixels, but is cut off"));
    Image image = Image::black(3, height, width);
    std::vector<png_bytep> rows;
    for (int64_t row = 0; row < height; ++row) rows.push_back(image.at(row, 0));
    require(read_rows(rows.data()));
    return orientation_ == 1 ? image : upright(image, orientation_);
  }

 private:
  void require(bool done) {
    if (!done) fail(name_, cat("a broken PNG: ", problem_.text));
  }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, &left_, read_bytes);
    png_read_info(png_, info_);
    bits_ = png_get_bit_depth(png_, info_) * png_get_channels(png_, info_);
#ifdef PNG_eXIf_SUPPORTED
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png_, info_, &size, &exif) != 0)
      orientation_ = orientation_in({reinterpret_cast<const char*>(exif), size});
#endif
    png_set_expand(png_);  // palettes, and grey of less than 8 bits
    png_set_scale_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  std::string_view bytes_, left_ = bytes_;
  const std::string& name_;
  PngProblem problem_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int bits_ = 0;  // of a pixel in the file
  int orientation_ = 1;
};

void append_bytes(png_structp png, png_bytep from, size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(from), count);
}

bool write_png(png_structp png, png_infop info, const Image& image, std::string* out) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(png, out, append_bytes, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8,
               image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int64_t row = 0; row < image.height; ++row) png_write_row(png, image.at(row, 0));
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

bool has_image_name(const fs::path& path) {
  std::string ending = utf8(path.extension());
  for (char& letter : ending)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

Image decode_image(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) fail(name, "an empty file; expected a PNG or JPEG");
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return PngDecoder(bytes, name).decode();
  if (bytes.starts_with("\xff\xd8\xff"))
    return upright(decode_jpeg(bytes, name), jpeg_orientation(bytes));
  fail(name, "neither a PNG nor a JPEG, by its first bytes; convert it to one of them");
}

Image read_image(const fs::path& path) { return decode_image(read_file(path), utf8(path)); }

std::string encode_png(const Image& image) {
  PngProblem problem;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &problem, note_and_jump, ignore_warning);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  std::string bytes;
  const bool done = info != nullptr && write_png(png, info, image, &bytes);
  png_destroy_write_struct(&png, &info);
  if (!done)
    throw Error(cat("a PNG of ", image.width, " x ", image.height, " pixels: ", problem.text));
  return bytes;
}

}  // namespace zoo
