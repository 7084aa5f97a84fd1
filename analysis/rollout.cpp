#include "analysis/rollout.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace zoo {

namespace {

constexpr int64_t kHeatSide = 448;  // pixels, at least, of a picture with its heat

/// From black by red and yellow to white.
std::array<double, 3> heat_color(double heat) {
  const auto part = [&](double begin) { return std::clamp((heat - begin) * 3, 0.0, 1.0); };
  return {part(0), part(1.0 / 3), part(2.0 / 3)};
}

}  // namespace

Tensor attention_rollout(const std::vector<Tensor>& attention) {
  Tensor rollout;  // (B, T, T)
  for (const Tensor& layer : attention) {
    const Tensor heads = layer.mean(1);  // (B, T, T)
    const Tensor mixed = (heads + torch::eye(heads.size(1), heads.options())) / 2;
    rollout = rollout.defined() ? mixed.matmul(rollout) : mixed;
  }
  return rollout;
}

Tensor patch_relevance(const Tensor& rollout, int64_t rows, int64_t columns) {
  const int64_t others = rollout.size(1) - rows * columns;  // 1 with a class token
  const Tensor to_class = others > 0 ? rollout.select(1, 0) : rollout.mean(1);  // (B, T)
  const Tensor patches = to_class.narrow(1, others, rows * columns);
  return (patches / patches.sum(1, true)).view({-1, rows, columns});
}

Tensor patch_relevance(ImageEncoder& model, const Tensor& images) {
  const torch::NoGradGuard no_grad;
  Tap tap{.want_attention = true};
  model.encode(images, &tap);
  const int64_t patch = model.image_shape().patch_size;
  return patch_relevance(attention_rollout(tap.attention), images.size(2) / patch,
                         images.size(3) / patch);
}

Image relevance_picture(const Tensor& input, const ImageInputConfig& config,
                        const Tensor& relevance) {
  const int64_t height = input.size(1), width = input.size(2);
  const auto to_image = [](const Tensor& bytes) {  // (Y, Z, X) uint8
    const Tensor packed = bytes.contiguous();
    const auto* data = packed.const_data_ptr<uint8_t>();
    return Image{packed.size(2), packed.size(0), packed.size(1), {data, data + packed.numel()}};
  };
  const auto per_channel = [&](const std::vector<double>& values) {
    return torch::tensor(values, torch::kFloat32).view({-1, 1, 1});
  };
  const Tensor seen = (input * per_channel(config.std) + per_channel(config.mean)) * 255;
  // From the least to the most: what all patches have in common tells nothing.
  const Tensor above = relevance - relevance.min();  // (R, S)
  const Tensor heat = above / above.max().clamp_min(1e-12) * 255;
  const auto bytes = [](const Tensor& x) { return x.round().clamp(0, 255).to(torch::kUInt8); };
  const int64_t factor =
      std::max<int64_t>(1, (kHeatSide + std::min(height, width) - 1) / std::min(height, width));
  const auto enlarged = [&](const Image& image) {
    return resize(image, height * factor, width * factor, Interpolation::bicubic);
  };
  const Image grey = enlarged(with_channels(to_image(bytes(seen).permute({1, 2, 0})), 1));
  const Image heats = enlarged(to_image(bytes(heat).unsqueeze(2)));
  Image result = Image::black(3, grey.height, grey.width);
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    const std::array<double, 3> color = heat_color(heats.pixels[i] / 255.0);
    for (size_t k = 0; k < 3; ++k)
      result.pixels[3 * i + k] =
          static_cast<uint8_t>(std::lround(0.5 * grey.pixels[i] + 127.5 * color[k]));
  }
  return result;
}

}  // namespace zoo
