#pragma once
// The config of the Vision Transformer and its presets. No torch in this header.

#include <string>
#include <vector>

#include "nn/config.h"
#include "nn/image_config.h"

namespace zoo {

/// How the places of a picture's patches enter the model.
enum class PatchPosition { learned, sinusoidal, none };
template <>
struct EnumNames<PatchPosition> {
  static constexpr std::array values{std::pair{PatchPosition::learned, "learned"},
                                     std::pair{PatchPosition::sinusoidal, "sinusoidal"},
                                     std::pair{PatchPosition::none, "none"}};
};

/// How patches become vectors.
enum class PatchStem { linear, conv };
template <>
struct EnumNames<PatchStem> {
  static constexpr std::array values{std::pair{PatchStem::linear, "linear"},
                                     std::pair{PatchStem::conv, "conv"}};
};

/// What the classes are told from.
enum class ImagePooling { class_token, mean };
template <>
struct EnumNames<ImagePooling> {
  static constexpr std::array values{std::pair{ImagePooling::class_token, "class_token"},
                                     std::pair{ImagePooling::mean, "mean"}};
};

struct VitConfig {
  static constexpr std::string_view kType = "vit";
  static constexpr std::string_view kAbout =
      "Vision Transformer: a picture's patches as tokens (Dosovitskiy et al. 2021, \"An Image is "
      "Worth 16x16 Words\", section 3.1), with every part chosen by config";
  int64_t image_height = 224, image_width = 224;
  int64_t channels = 3;
  int64_t patch_size = 16;
  PatchStem stem = PatchStem::linear;
  int64_t num_layers = 12;
  int64_t d_model = 768;
  PatchPosition position = PatchPosition::learned;
  ImagePooling pooling = ImagePooling::class_token;
  BlockConfig block{.norm = LayerNormConfig{.eps = 1e-12},
                    .placement = NormPlacement::pre,
                    .attention = {.num_heads = 12},
                    .feed_forward = MlpConfig{}};
  DropoutConfig dropout;
  InitConfig init;
  ImageInputConfig input;
  std::vector<std::string> labels;

  void fields(auto&& visit) {
    visit("image_height", image_height, at_least(1),
          "rows of pixels that positions are learned for; other sizes are read too");
    visit("image_width", image_width, at_least(1), "columns of pixels");
    visit("channels", channels, between(1, 4), "colours: 3, or 1 for grey pictures");
    visit("patch_size", patch_size, at_least(1), "rows and columns of pixels in a patch");
    visit("stem", stem,
          "linear: a product with the patch's pixels; conv: 3 x 3 convolutions of stride 2 with "
          "ReLU, which halve the picture down to a patch_size of 2, 4, 8, … and double their "
          "channels up to d_model / 2, then a product (Xiao et al. 2021, \"Early Convolutions Help "
          "Transformers See Better\", section 4)");
    visit("num_layers", num_layers, at_least(1), "blocks");
    visit("d_model", d_model, at_least(1), "width of the residual stream");
    visit("position", position,
          "learned: a vector for each patch; sinusoidal: fixed ones of two dimensions, half of the "
          "width for rows and half for columns; none");
    visit("pooling", pooling,
          "class_token: a token of its own beside the patches; mean: the mean over the patches");
    visit("block", block, "every block's parts");
    visit("dropout", dropout, "dropout rates while training");
    visit("init", init, "how parameters are drawn");
    visit("input", input, "how a picture becomes what the model reads");
    visit("labels", labels, "names of the classes; none: those of the training data");
  }
  std::string check() const;

  int64_t rows() const { return image_height / patch_size; }  ///< of patches
  int64_t columns() const { return image_width / patch_size; }
  /// Convolutions before the product.
  int64_t stem_layers() const;
  /// Channels behind the convolution `layer`, from 1 on; of 0 the picture's.
  int64_t stem_channels(int64_t layer) const;
  /// Numbers that the product reads of a patch.
  int64_t patch_inputs() const {
    return stem == PatchStem::conv ? stem_channels(stem_layers())
                                   : channels * patch_size * patch_size;
  }
  bool has_class_token() const { return pooling == ImagePooling::class_token; }
  /// Tokens that the blocks read: the patches, and the class token.
  int64_t tokens() const { return rows() * columns() + (has_class_token() ? 1 : 0); }

  /// vit-tiny, vit-small, vit-base, vit-large, vit-digits, vit-mnist, vit-cifar
  static std::vector<std::string> preset_names();
  static VitConfig preset(const std::string& name);

  bool operator==(const VitConfig&) const = delete;  // compare config_to_json() instead
};

}  // namespace zoo
