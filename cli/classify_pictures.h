#pragma once
// transformer-cli classify of a vision model.

#include "cli/picture_model.h"

namespace zoo::cli {

struct ClassifyPictures {
  std::vector<std::string> inputs;  ///< pictures, folders, IDX and CIFAR files
  std::string list;                 ///< a file that names more of them, a line each; "-": stdin
  std::string rollout;              ///< a folder for pictures of what attention looks at; "": none
  PictureFlags pictures;

  void declare(Flags& flags);
  bool any() const { return !list.empty() || !rollout.empty() || pictures.any(); }

  /// Prints a line for each picture. @param labels a file as read_labels() reads; "": the model's
  /// @throws DataError at the end if some pictures could not be read
  void run(const std::string& model, const std::string& labels, int64_t top,
           const GlobalOptions& globals) const;
};

}  // namespace zoo::cli
