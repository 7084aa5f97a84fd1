#include "data/image.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace zoo {

namespace {

/// What each new pixel of a line is made of: weights of neighbouring old ones, in fixed point.
struct LineFilter {
  static constexpr int kBits = 32 - 8 - 2;  // a sum of bytes, and two bits for what overshoots

  std::vector<int64_t> first;  // the first old pixel of each new one
  std::vector<int64_t> count;
  std::vector<int32_t> weights;  // `most` places for each new pixel
  int64_t most = 0;
};

double sinc(double x) {
  const double y = x * std::numbers::pi;
  return x == 0 ? 1 : std::sin(y) / y;
}

/// The filter's value at x, and how far from 0 it reaches.
struct Kernel {
  double support;
  double (*value)(double x);
};

Kernel kernel_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::bicubic:
      return {2, [](double x) {
                constexpr double a = -0.5;  // Keys 1981
                x = std::abs(x);
                if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
                return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
              }};
    case Interpolation::lanczos:
      return {3, [](double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }};
    default:
      return {1, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
  }
}

LineFilter line_filter(int64_t old_size, int64_t new_size, Interpolation interpolation) {
  const Kernel kernel = kernel_of(interpolation);
  const double scale = static_cast<double>(old_size) / static_cast<double>(new_size);
  const double stretch = std::max(scale, 1.0), support = kernel.support * stretch;
  LineFilter filter;
  filter.most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  filter.weights.assign(static_cast<size_t>(filter.most * new_size), 0);
  std::vector<double> weights;
  for (int64_t i = 0; i < new_size; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t begin = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t end = std::min(old_size, static_cast<int64_t>(center + support + 0.5));
    weights.clear();
    double sum = 0;
    for (int64_t place = begin; place < end; ++place) {
      weights.push_back(kernel.value((static_cast<double>(place) - center + 0.5) / stretch));
      sum += weights.back();
    }
    for (size_t k = 0; k < weights.size(); ++k) {
      const double share = sum == 0 ? weights[k] : weights[k] / sum;
      filter.weights[static_cast<size_t>(i * filter.most) + k] =
          static_cast<int32_t>(share * (1 << LineFilter::kBits) + (share < 0 ? -0.5 : 0.5));
    }
    filter.first.push_back(begin);
    filter.count.push_back(end - begin);
  }
  return filter;
}

/// New pixel `to` of a line whose pixels lie `stride` bytes apart.
uint8_t filtered(const LineFilter& filter, int64_t to, const uint8_t* line, int64_t stride) {
  const int32_t* const weights = filter.weights.data() + to * filter.most;
  const uint8_t* from = line + filter.first[to] * stride;
  int32_t sum = 1 << (LineFilter::kBits - 1);
  for (int64_t k = 0; k < filter.count[to]; ++k, from += stride) sum += *from * weights[k];
  return static_cast<uint8_t>(std::clamp(sum >> LineFilter::kBits, 0, 255));
}

Image resize_nearest(const Image& image, int64_t height, int64_t width) {
  Image result = Image::black(image.channels, height, width);
  const auto nearest = [](int64_t place, int64_t old_size, int64_t new_size) {
    const double scale = static_cast<double>(old_size) / static_cast<double>(new_size);
    return std::min(static_cast<int64_t>((static_cast<double>(place) + 0.5) * scale), old_size - 1);
  };
  for (int64_t row = 0; row < height; ++row) {
    const int64_t old_row = nearest(row, image.height, height);
    for (int64_t column = 0; column < width; ++column)
      std::copy_n(image.at(old_row, nearest(column, image.width, width)), image.channels,
                  result.at(row, column));
  }
  return result;
}

/// A picture of these sizes whose pixel (row, column) is the old one at from(row, column).
template <class From>
Image rearranged(const Image& image, int64_t height, int64_t width, const From& from) {
  Image result = Image::black(image.channels, height, width);
  for (int64_t row = 0; row < height; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const auto [old_row, old_column] = from(row, column);
      std::copy_n(image.at(old_row, old_column), image.channels, result.at(row, column));
    }
  return result;
}

}  // namespace

Image Image::black(int64_t channels, int64_t height, int64_t width) {
  return {channels, height, width,
          std::vector<uint8_t>(static_cast<size_t>(channels * height * width))};
}

Image with_channels(Image image, int64_t channels) {
  if (image.channels == channels) return image;
  Image result = Image::black(channels, image.height, image.width);
  const uint8_t* from = image.pixels.data();
  for (uint8_t* to = result.pixels.data(); to != result.pixels.data() + result.pixels.size();
       to += channels, from += image.channels) {
    if (channels == 1)
      *to =
          static_cast<uint8_t>((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
    else
      std::fill_n(to, channels, from[0]);
  }
  return result;
}

Image crop(const Image& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  Image result = Image::black(image.channels, height, width);
  const int64_t begin = std::max<int64_t>(0, -left), end = std::min(width, image.width - left);
  for (int64_t row = std::max<int64_t>(0, -top); row < std::min(height, image.height - top); ++row)
    if (begin < end)
      std::copy_n(image.at(top + row, left + begin), (end - begin) * image.channels,
                  result.at(row, begin));
  return result;
}

Image mirrored(const Image& image) { return upright(image, 2); }

Image upright(const Image& image, int orientation) {
  const int64_t bottom = image.height - 1, right = image.width - 1;
  const auto same_sizes = [&](const auto& from) {
    return rearranged(image, image.height, image.width, from);
  };
  const auto turned = [&](const auto& from) {
    return rearranged(image, image.width, image.height, from);
  };
  using Place = std::pair<int64_t, int64_t>;
  switch (orientation) {
    case 2:
      return same_sizes([&](int64_t y, int64_t x) { return Place(y, right - x); });
    case 3:
      return same_sizes([&](int64_t y, int64_t x) { return Place(bottom - y, right - x); });
    case 4:
      return same_sizes([&](int64_t y, int64_t x) { return Place(bottom - y, x); });
    case 5:
      return turned([&](int64_t y, int64_t x) { return Place(x, y); });
    case 6:
      return turned([&](int64_t y, int64_t x) { return Place(bottom - x, y); });
    case 7:
      return turned([&](int64_t y, int64_t x) { return Place(bottom - x, right - y); });
    case 8:
      return turned([&](int64_t y, int64_t x) { return Place(x, right - y); });
    default:
      return image;
  }
}

Image resize(const Image& image, int64_t height, int64_t width, Interpolation interpolation) {
  if (image.height == height && image.width == width) return image;
  if (interpolation == Interpolation::nearest) return resize_nearest(image, height, width);
  const int64_t channels = image.channels;
  // Along the rows, then along the columns; rounded to bytes between both.
  Image wide = image;
  if (image.width != width) {
    const LineFilter filter = line_filter(image.width, width, interpolation);
    wide = Image::black(channels, image.height, width);
    for (int64_t row = 0; row < image.height; ++row)
      for (int64_t column = 0; column < width; ++column)
        for (int64_t channel = 0; channel < channels; ++channel)
          wide.at(row, column)[channel] =
              filtered(filter, column, image.at(row, 0) + channel, channels);
  }
  if (image.height == height) return wide;
  const LineFilter filter = line_filter(image.height, height, interpolation);
  Image result = Image::black(channels, height, width);
  const int64_t stride = width * channels;
  for (int64_t row = 0; row < height; ++row)
    for (int64_t place = 0; place < stride; ++place)
      result.at(row, 0)[place] = filtered(filter, row, wide.pixels.data() + place, stride);
  return result;
}

Image fit(const Image& image, int64_t height, int64_t width, const ImageInputConfig& config) {
  if (config.crop_pct == 0) return resize(image, height, width, config.interpolation);
  // The smallest size that covers height / crop_pct and width / crop_pct in the picture's own
  // proportions, then its middle; rounded as torchvision's Resize and CenterCrop do.
  const auto wanted_height = static_cast<int64_t>(static_cast<double>(height) / config.crop_pct);
  const auto wanted_width = static_cast<int64_t>(static_cast<double>(width) / config.crop_pct);
  int64_t new_height = wanted_height, new_width = wanted_width;
  if (image.height * wanted_width < image.width * wanted_height)
    new_width = std::max(wanted_width, wanted_height * image.width / image.height);
  else
    new_height = std::max(wanted_height, wanted_width * image.height / image.width);
  const auto middle = [](int64_t whole, int64_t part) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(whole - part) / 2));
  };
  const Image resized = resize(image, new_height, new_width, config.interpolation);
  if (new_height == height && new_width == width) return resized;
  return crop(resized, middle(new_height, height), middle(new_width, width), height, width);
}

void normalize(const Image& image, const ImageInputConfig& config, std::span<float> out) {
  const int64_t count = image.height * image.width;
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    const auto of_channel = [&](const std::vector<double>& values) {
      return values.size() == 1 ? values[0] : values[channel];
    };
    const double mean = of_channel(config.mean), std = of_channel(config.std);
    float table[256];
    for (int value = 0; value < 256; ++value)
      table[value] = static_cast<float>((value / 255.0 - mean) / std);
    float* to = out.data() + channel * count;
    const uint8_t* from = image.pixels.data() + channel;
    for (int64_t i = 0; i < count; ++i, from += image.channels) to[i] = table[*from];
  }
}

void fill_input(Image image, int64_t channels, int64_t height, int64_t width,
                const ImageInputConfig& config, std::span<float> out) {
  normalize(fit(with_channels(std::move(image), channels), height, width, config), config, out);
}

}  // namespace zoo
