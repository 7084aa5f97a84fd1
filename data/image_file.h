#pragma once
// PNG and JPEG files, through libpng and libjpeg-turbo.

#include <string>
#include <string_view>

#include "core/files.h"
#include "data/image.h"

namespace zoo {

/// Whether the name ends as a PNG or JPEG file's does, in any case.
bool has_image_name(const fs::path& path);

/// A PNG or JPEG, told apart by its first bytes, as red, green and blue. Grey is repeated, palettes
/// are looked up, transparency is dropped, 16 bits are rounded to 8, CMYK is multiplied with its
/// black, and the EXIF orientation is followed.
/// @param name in messages  @throws DataError for anything that is broken, cut off or too large
Image decode_image(std::string_view bytes, const std::string& name);
Image read_image(const fs::path& path);

/// The bytes of a PNG file.
std::string encode_png(const Image& image);

}  // namespace zoo
