#include "models/vit.h"

#include <cmath>

namespace zoo {

Tensor resize_grid(const Tensor& grid, int64_t rows, int64_t columns) {
  if (grid.size(0) == rows && grid.size(1) == columns) return grid;
  const Tensor image = grid.permute({2, 0, 1}).unsqueeze(0);  // (1, D, R, S)
  return at::upsample_bicubic2d(image, {rows, columns}, /*align_corners=*/false)
      .squeeze(0)
      .permute({1, 2, 0});
}

Tensor patch_pixels(const Tensor& images, int64_t patch_size) {
  const int64_t rows = images.size(2) / patch_size, columns = images.size(3) / patch_size;
  return images.unflatten(2, {rows, patch_size})
      .unflatten(4, {columns, patch_size})  // (B, X, R, P, S, P)
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({images.size(0), rows * columns, -1});
}

Tensor halving_windows(const Tensor& images) {
  return at::im2col(images, {3, 3}, /*dilation=*/{1, 1}, /*padding=*/{1, 1}, /*stride=*/{2, 2})
      .transpose(1, 2);
}

Tensor resize_positions(const Tensor& weight, const VitConfig& from, const VitConfig& to) {
  const int64_t first = from.has_class_token() ? 1 : 0;
  const Tensor grid =
      weight.narrow(0, first, from.rows() * from.columns()).view({from.rows(), from.columns(), -1});
  return torch::cat(
      {weight.narrow(0, 0, first), resize_grid(grid, to.rows(), to.columns()).flatten(0, 1)}, 0);
}

Tensor sinusoidal_grid(int64_t rows, int64_t columns, int64_t d_model) {
  const int64_t quarter = d_model / 4;
  const Tensor rates = torch::pow(10000, -torch::arange(quarter, torch::kFloat64) / quarter);
  const auto waves = [&](int64_t count) {
    const Tensor angles = torch::outer(torch::arange(count, torch::kFloat64), rates);
    return torch::cat({angles.sin(), angles.cos()}, 1);  // (count, D / 2)
  };
  return torch::cat({waves(rows).unsqueeze(1).expand({rows, columns, d_model / 2}),
                     waves(columns).unsqueeze(0).expand({rows, columns, d_model / 2})},
                    2);
}

Vit::Vit(const VitConfig& config) : config_(config) {
  const auto fail = [](const std::string& problem) {
    throw ConfigError(cat("model \"vit\": ", problem));
  };
  if (const std::string problem = config.check(); !problem.empty()) fail(problem);
  if (config.labels.empty())
    fail("labels is empty; name the classes, or give data that decide them");
  const int64_t d_model = config.d_model;
  if (config.stem == PatchStem::conv) {
    stem = register_module("stem", torch::nn::ModuleList());
    for (int64_t layer = 1; layer <= config.stem_layers(); ++layer)
      stem->push_back(
          Linear(9 * config.stem_channels(layer - 1), config.stem_channels(layer), true));
  }
  patch_embedding =
      register_module("patch_embedding", Linear(config.patch_inputs(), d_model, true));
  if (config.has_class_token()) class_token = register_module("class_token", Embedding(1, d_model));
  if (config.position == PatchPosition::learned)
    position = register_module("position", Embedding(config.tokens(), d_model));
  blocks = register_module("blocks", torch::nn::ModuleList());
  for (int64_t layer = 0; layer < config.num_layers; ++layer)
    blocks->push_back(Block(config.block, d_model, config.dropout.residual));
  // With post-norm the last block ends in one.
  if (config.block.placement == NormPlacement::pre)
    final_norm = register_module("final_norm", make_norm(config.block.norm, d_model));
  classifier = register_module("classifier", Linear(d_model, std::ssize(config.labels), true));
}

Tensor Vit::drop(const Tensor& x, double rate) const {
  return is_training() && rate > 0 ? at::dropout(x, rate, true) : x;
}

Tensor Vit::embed_patches(const Tensor& images) {
  if (config_.stem == PatchStem::linear)
    return patch_embedding->forward(patch_pixels(images, config_.patch_size));
  Tensor picture = images, pixels;  // (B, X, Y, Z), (B, Y Z, X)
  for (const auto& layer : *stem) {
    const int64_t rows = picture.size(2) / 2, columns = picture.size(3) / 2;
    pixels = layer->as<LinearImpl>()->forward(halving_windows(picture)).relu();
    picture = pixels.transpose(1, 2).unflatten(2, {rows, columns});
  }
  return patch_embedding->forward(pixels);
}

Tensor Vit::add_positions(const Tensor& patches, int64_t rows, int64_t columns) const {
  const int64_t first = config_.has_class_token() ? 1 : 0;
  Tensor tokens = patches;  // (B, R S, D)
  if (first == 1) {
    const Tensor token = class_token->weight.expand({patches.size(0), 1, config_.d_model});
    tokens = torch::cat({token, patches}, 1);
  }
  if (config_.position == PatchPosition::none) return tokens;
  Tensor places;  // (R S, D)
  if (config_.position == PatchPosition::sinusoidal) {
    places = sinusoidal_grid(rows, columns, config_.d_model).flatten(0, 1).to(patches.options());
  } else {
    const Tensor grid = position->weight.narrow(0, first, config_.rows() * config_.columns())
                            .view({config_.rows(), config_.columns(), config_.d_model});
    places = resize_grid(grid, rows, columns).reshape({rows * columns, config_.d_model});
  }
  if (first == 0) return tokens + places;
  // The class token has a learned place of its own, which no other size touches.
  const Tensor own = config_.position == PatchPosition::learned
                         ? position->weight.narrow(0, 0, 1)
                         : torch::zeros({1, config_.d_model}, places.options());
  return tokens + torch::cat({own, places}, 0);
}

Tensor Vit::encode(const Tensor& images, Tap* tap) {
  require_shape(images, {-1, config_.channels, -1, -1}, "images");
  const int64_t patch = config_.patch_size;
  if (images.size(2) % patch != 0 || images.size(3) % patch != 0 || images.numel() == 0)
    throw ShapeError(cat("images: ", images.size(2), " x ", images.size(3),
                         " pixels, which the patch size ", patch, " does not divide"));
  const int64_t rows = images.size(2) / patch, columns = images.size(3) / patch;
  const Tensor patches = embed_patches(images);                                       // (B, R S, D)
  Tensor x = drop(add_positions(patches, rows, columns), config_.dropout.embedding);  // (B, T, D)
  AttentionScope scope;
  const Position nowhere = make_position(NoPositionConfig{}, {0, 0, 0, 0});
  scope.position = nowhere.get();
  scope.options.dropout = is_training() ? config_.dropout.attention : 0;
  scope.tap = tap;
  const auto show = [&] {
    if (tap != nullptr && tap->want_hidden) tap->hidden.push_back(x);
  };
  show();
  for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
    x = blocks->at<BlockImpl>(layer).forward(x, scope, layer);
    show();
  }
  return final_norm ? final_norm->forward(x) : x;
}

Tensor Vit::logits(const Tensor& hidden) {
  return classifier->forward(config_.has_class_token() ? hidden.select(1, 0) : hidden.mean(1));
}

ImageShape Vit::image_shape() const {
  return {config_.channels, config_.image_height, config_.image_width, config_.patch_size};
}

std::shared_ptr<ImageEncoder> Vit::replica() const {
  const DropoutConfig& dropout = config_.dropout;
  const bool draws = dropout.embedding > 0 || dropout.attention > 0 || dropout.residual > 0;
  return draws ? nullptr : std::make_shared<Vit>(config_);
}

}  // namespace zoo
