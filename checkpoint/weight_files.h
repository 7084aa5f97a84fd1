#pragma once
// The tensors of a model folder: one safetensors file, or several with an index.

#include <map>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace zoo {

class WeightFiles {
 public:
  /// Opens model.safetensors, or the shards that model.safetensors.index.json names.
  /// @throws DataError if there are none (with the way to convert .bin and .pt files), FormatError
  /// if a file is malformed or the index does not fit its shards
  explicit WeightFiles(const fs::path& folder);

  bool contains(const std::string& name) const { return file_of_.contains(name); }
  std::vector<std::string> names() const;
  const TensorInfo& info(const std::string& name) const;
  Tensor tensor(const std::string& name) const;   ///< see SafetensorsFile::tensor()
  const fs::path& path() const { return path_; }  ///< the one file, or the index
  /// The dtype of the floating-point tensors; of several, the narrowest that holds them all.
  torch::Dtype dtype() const;

 private:
  fs::path path_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> file_of_;  ///< tensor name to its place in files_
};

/// Writes tensors into `folder`: model.safetensors, or model-00001-of-0000N.safetensors and an
/// index where they have more than `max_file_bytes` bytes together. A tensor is never divided.
void write_weight_files(const fs::path& folder, const std::vector<LazyTensor>& tensors,
                        int64_t max_file_bytes = INT64_MAX);

}  // namespace zoo
