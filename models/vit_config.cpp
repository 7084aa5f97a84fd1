#include "models/vit_config.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "models/presets.h"

namespace zoo {

int64_t VitConfig::stem_layers() const {
  return stem == PatchStem::conv ? std::countr_zero(static_cast<uint64_t>(patch_size)) : 0;
}

int64_t VitConfig::stem_channels(int64_t layer) const {
  return layer == 0 ? channels : std::max<int64_t>(8, d_model >> (stem_layers() - layer + 1));
}

std::string VitConfig::check() const {
  if (stem == PatchStem::conv &&
      (patch_size < 2 || !std::has_single_bit(static_cast<uint64_t>(patch_size))))
    return cat("stem \"conv\" halves pictures: patch_size must be 2, 4, 8, …, found ", patch_size);
  if (image_height % patch_size != 0 || image_width % patch_size != 0)
    return cat("patch_size ", patch_size, " must divide image_height ", image_height,
               " and image_width ", image_width);
  for (const auto& [key, values] : {std::pair{"mean", &input.mean}, std::pair{"std", &input.std}})
    if (values->size() != 1 && std::ssize(*values) != channels)
      return cat("input.", key, " has ", values->size(),
                 " numbers; give one, or one for each of the ", channels, " channels");
  if (position == PatchPosition::sinusoidal && d_model % 4 != 0)
    return cat("position \"sinusoidal\" needs a d_model that 4 divides, found ", d_model);
  return check_widths(block, NoPositionConfig{}, d_model);
}

namespace {

/// Steiner et al. 2022, "How to train your ViT?", table 2; Dosovitskiy et al. 2021, table 1: heads
/// are 64 wide.
VitConfig vit(int64_t num_layers, int64_t d_model) {
  VitConfig config;
  config.num_layers = num_layers;
  config.d_model = d_model;
  config.block.attention.num_heads = d_model / 64;
  return config;
}

/// For small pictures: mean pooling, which needs fewer of them than a class token (Beyer et al.
/// 2022, "Better plain ViT baselines for ImageNet-1k").
VitConfig small(int64_t size, int64_t channels, int64_t patch_size, int64_t num_layers,
                int64_t d_model, int64_t num_heads) {
  VitConfig config;
  config.image_height = config.image_width = size;
  config.channels = channels;
  config.patch_size = patch_size;
  config.num_layers = num_layers;
  config.d_model = d_model;
  config.pooling = ImagePooling::mean;
  config.block.attention.num_heads = num_heads;
  config.block.feed_forward = MlpConfig{.d_ff = 2 * d_model};
  return config;
}

const std::vector<Preset<VitConfig>>& presets() {
  static const std::vector<Preset<VitConfig>> all = {
      {"vit-tiny", vit(12, 192)},
      {"vit-small", vit(12, 384)},
      {"vit-base", vit(12, 768)},
      {"vit-large", vit(24, 1024)},
      {"vit-digits", small(8, 1, 2, 4, 48, 4)},
      {"vit-mnist", small(28, 1, 4, 6, 128, 4)},
      {"vit-cifar", small(32, 3, 4, 9, 192, 6)},
  };
  return all;
}

}  // namespace

std::vector<std::string> VitConfig::preset_names() { return names_of(presets()); }

VitConfig VitConfig::preset(const std::string& name) { return find_preset(presets(), name); }

}  // namespace zoo
