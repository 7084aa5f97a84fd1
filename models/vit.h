#pragma once
// Vision Transformer: Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words: Transformers for
// Image Recognition at Scale". Every part is chosen by config. Letters of the shapes: B pictures, X
// channels, Y rows and Z columns of pixels, P the patch size, R rows and S columns of patches, T
// tokens (R S, and 1 with a class token), D width, C classes.

#include "models/contracts.h"
#include "models/vit_config.h"
#include "nn/block.h"
#include "nn/embedding.h"
#include "nn/linear.h"

namespace zoo {

/// Vectors of places for a grid of other sizes: those of a learned grid by bicubic interpolation,
/// corners not aligned, as Hugging Face's ViT does.
/// @param grid (R, S, D)  @return (rows, columns, D)
Tensor resize_grid(const Tensor& grid, int64_t rows, int64_t columns);

/// Fixed vectors of places: sines and cosines of the row in the first half of the width, of the
/// column in the second (Vaswani et al. 2017, section 3.5, for each; Chen et al. 2021, "MoCo v3").
/// @return (rows, columns, D)
Tensor sinusoidal_grid(int64_t rows, int64_t columns, int64_t d_model);

/// The pixels of each patch, in the order of a convolution's kernel: with a matrix (D, X P P) on
/// top it is a convolution whose stride is the patch size (equal to 1e-6, one product, and no
/// slower). That very convolution would be a risk: oneDNN's gradient of it never ends for some
/// shapes, such as 4 x 4 patches of two colour pictures of 8 x 8 pixels in LibTorch 2.13.
/// @param images (B, X, R P, S P)  @return (B, R S, X P P)
Tensor patch_pixels(const Tensor& images, int64_t patch_size);

/// What a 3 x 3 convolution of stride 2 reads for each of its outputs, with a border of zeros: with
/// a matrix (C, 9 X) on top it is that convolution. @param images (B, X, 2 R, 2 S)
/// @return (B, R S, 9 X): channels, then rows, then columns of a window
Tensor halving_windows(const Tensor& images);

/// The learned positions of a model for pictures of another size. @param weight (T, D) of `from`
/// @return (T, D) of `to`
Tensor resize_positions(const Tensor& weight, const VitConfig& from, const VitConfig& to);

class Vit final : public ImageEncoder {
 public:
  /// Allocates the parameters without drawing them (see nn/init.h).
  /// @throws ConfigError if it has no labels or widths do not fit
  explicit Vit(const VitConfig& config);

  using ImageEncoder::encode;
  Tensor encode(const Tensor& images, Tap* tap) override;
  Tensor logits(const Tensor& hidden) override;
  std::shared_ptr<ImageEncoder> replica() const override;
  const std::vector<std::string>& labels() const override { return config_.labels; }
  ImageShape image_shape() const override;
  const ImageInputConfig& input() const override { return config_.input; }
  const VitConfig& config() const { return config_; }

  torch::nn::ModuleList stem;       ///< convolutions as LinearImpl, 9 X to X'; empty without
  Linear patch_embedding{nullptr};  ///< X P P to D: channels, then rows, then columns of a patch
  Embedding class_token{nullptr};   ///< (1, D); null with mean pooling
  Embedding position{nullptr};      ///< (T, D): the class token's, then row by row; learned only
  torch::nn::ModuleList blocks;     ///< L times BlockImpl
  Norm final_norm{nullptr};
  Linear classifier{nullptr};  ///< D to C

 private:
  Tensor drop(const Tensor& x, double rate) const;
  Tensor embed_patches(const Tensor& images);
  Tensor add_positions(const Tensor& patches, int64_t rows, int64_t columns) const;

  VitConfig config_;
};

}  // namespace zoo
