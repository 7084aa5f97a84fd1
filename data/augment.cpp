#include "data/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace zoo {

namespace {

double draw_normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.next_uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.next_uniform());
}

/// From Gamma(shape, 1).
double draw_gamma(double shape, RandomStream& random) {
  // Section 6 of the paper: a small shape is made from one above 1.
  if (shape < 1)
    return draw_gamma(shape + 1, random) * std::pow(1 - random.next_uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random), v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - random.next_uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

int64_t draw_place(int64_t room, RandomStream& random) {
  return static_cast<int64_t>(random.next_below(static_cast<uint64_t>(room) + 1));
}

double draw_between(double low, double high, RandomStream& random) {
  return low + (high - low) * random.next_uniform();
}

struct Rectangle {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

/// A rectangle of a share of the area and of proportions drawn on a logarithmic scale; of no height
/// if ten draws do not fit.
Rectangle draw_rectangle(int64_t height, int64_t width, double least_area, double most_area,
                         double most_ratio, RandomStream& random) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area =
        static_cast<double>(height * width) * draw_between(least_area, most_area, random);
    const double ratio =
        std::exp(draw_between(-std::log(most_ratio), std::log(most_ratio), random));
    const int64_t tall = std::llround(std::sqrt(area / ratio));
    const int64_t wide = std::llround(std::sqrt(area * ratio));
    if (tall < 1 || wide < 1 || tall > height || wide > width) continue;
    return {draw_place(height - tall, random), draw_place(width - wide, random), tall, wide};
  }
  return {};
}

}  // namespace

Image fit_randomly(const Image& image, int64_t height, int64_t width, const ImageInputConfig& input,
                   const AugmentConfig& config, RandomStream& random) {
  Image result;
  Rectangle part;
  if (config.random_resized_crop < 1)
    part =
        draw_rectangle(image.height, image.width, config.random_resized_crop, 1, 4.0 / 3, random);
  if (part.height > 0)
    result = resize(crop(image, part.top, part.left, part.height, part.width), height, width,
                    input.interpolation);
  else
    result = fit(image, height, width, input);
  if (const int64_t border = config.random_crop; border > 0) {
    const int64_t top = draw_place(2 * border, random) - border;
    result = crop(result, top, draw_place(2 * border, random) - border, height, width);
  }
  if (config.horizontal_flip > 0 && random.next_uniform() < config.horizontal_flip)
    result = mirrored(result);
  return result;
}

void erase_randomly(std::span<float> pixels, int64_t height, int64_t width,
                    const AugmentConfig& config, RandomStream& random) {
  if (config.random_erasing == 0 || random.next_uniform() >= config.random_erasing) return;
  const Rectangle part = draw_rectangle(height, width, 0.02, 0.33, 10.0 / 3, random);
  for (size_t plane = 0; plane < pixels.size(); plane += static_cast<size_t>(height * width))
    for (int64_t row = part.top; row < part.top + part.height; ++row)
      for (int64_t column = part.left; column < part.left + part.width; ++column)
        pixels[plane + row * width + column] = static_cast<float>(draw_normal(random));
}

Mix draw_mix(int64_t height, int64_t width, const AugmentConfig& config, RandomStream& random) {
  Mix mix;
  mix.cut = config.cutmix > 0 && (config.mixup == 0 || random.next_uniform() < 0.5);
  const double alpha = mix.cut ? config.cutmix : config.mixup;
  if (alpha == 0) return mix;
  mix.share = draw_beta(alpha, alpha, random);
  if (!mix.cut) return mix;
  // Around a random centre, cut off at the borders; then the area alone counts.
  const double side = std::sqrt(1 - mix.share);
  const auto draw_side = [&](int64_t whole, int64_t& begin, int64_t& size) {
    const auto half = static_cast<int64_t>(static_cast<double>(whole) * side) / 2;
    const int64_t center = draw_place(whole - 1, random);
    begin = std::max<int64_t>(0, center - half);
    size = std::min(whole, center + half) - begin;
  };
  draw_side(height, mix.top, mix.height);
  draw_side(width, mix.left, mix.width);
  mix.share = 1 - static_cast<double>(mix.height * mix.width) / static_cast<double>(height * width);
  return mix;
}

double draw_beta(double a, double b, RandomStream& random) {
  const double x = draw_gamma(a, random), y = draw_gamma(b, random);
  return x + y == 0 ? 0.5 : x / (x + y);
}

}  // namespace zoo
