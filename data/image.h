#pragma once
// Pictures in memory, and their geometry. Letters of the shapes: X colours, Y rows and Z columns of
// pixels.

#include <cstdint>
#include <span>
#include <vector>

#include "nn/image_config.h"

namespace zoo {

/// A picture: rows from the top, pixels from the left, a byte for each colour of a pixel.
struct Image {
  int64_t channels = 3;  ///< X: 3 are red, green and blue; 1 is grey
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;  ///< (Y, Z, X)

  /// Black, of these sizes.
  static Image black(int64_t channels, int64_t height, int64_t width);
  const uint8_t* at(int64_t row, int64_t column) const {
    return pixels.data() + (row * width + column) * channels;
  }
  uint8_t* at(int64_t row, int64_t column) {
    return pixels.data() + (row * width + column) * channels;
  }
};

/// Grey from colours by their luminance (ITU-R BT.601, in 16 bits of fixed point, as Pillow does),
/// colours from grey by repeating it. @param channels 1 or 3
Image with_channels(Image image, int64_t channels);

/// The part that begins at (top, left). What lies outside of the picture is black.
Image crop(const Image& image, int64_t top, int64_t left, int64_t height, int64_t width);

/// Left and right changed.
Image mirrored(const Image& image);

/// A picture as its EXIF orientation tag means it to be seen. @param orientation 1 to 8
Image upright(const Image& image, int orientation);

/// Other sizes; bit for bit what Pillow's Image.resize() gives up to its release 12. (Release 13
/// takes columns before rows where the height shrinks much more than the width, which moves some
/// bytes by one.)
Image resize(const Image& image, int64_t height, int64_t width, Interpolation interpolation);

/// The part of a picture that a model reads, in the model's sizes (crop_pct and interpolation).
Image fit(const Image& image, int64_t height, int64_t width, const ImageInputConfig& config);

/// (pixel / 255 - mean) / std. @param out (X, Y, Z)
void normalize(const Image& image, const ImageInputConfig& config, std::span<float> out);

/// with_channels(), fit() and normalize(): what a model reads of a picture as it is.
/// @param out (X, Y, Z)
void fill_input(Image image, int64_t channels, int64_t height, int64_t width,
                const ImageInputConfig& config, std::span<float> out);

}  // namespace zoo
