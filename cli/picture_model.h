#pragma once
// A vision model opened for a command, and what makes pictures its input.

#include <functional>
#include <optional>
#include <string>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "data/image_set.h"

namespace zoo::cli {

/// Flags that change how pictures are read; the model says what holds without them.
struct PictureFlags {
  std::optional<std::string> image_size, interpolation, mean, std;
  std::optional<double> crop_pct;

  void declare(Flags& flags);
  bool any() const { return image_size || interpolation || mean || std || crop_pct; }
};

struct PictureModel {
  LoadedModel loaded;
  std::shared_ptr<ImageEncoder> model;
  ImageInputConfig input;
  int64_t height = 0, width = 0;  ///< that pictures are brought to
};

/// @throws ConfigError for another kind of model, or for flags that do not fit it
PictureModel load_picture_model(const std::string& path, const PictureFlags& flags,
                                const GlobalOptions& globals);

/// One picture of a set, as the model saw it.
struct SeenPicture {
  int64_t index = 0;
  std::string problem;   ///< why it could not be read; then the rest is not set
  Tensor input;          ///< (X, Y, Z), on the CPU
  Tensor probabilities;  ///< (C) float32, on the CPU
};

/// Reads the pictures of `indices` on several threads, asks the model about batches of them, and
/// calls use() for each, in order.
void see_pictures(const PictureModel& opened, const ImageSet& set,
                  const std::vector<int64_t>& indices, int64_t batch_size,
                  const std::function<void(const SeenPicture&)>& use);

}  // namespace zoo::cli
