#pragma once
// The safetensors format: 8 bytes of header length (little-endian), a JSON header, the tensors' bytes.
// Files are memory-mapped; a tensor is a view of the map until it is converted or written to.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/shape.h"

namespace zoo {

struct TensorInfo {
  std::string name;
  torch::Dtype dtype;
  std::vector<int64_t> shape;
  size_t offset = 0, bytes = 0;  ///< place in the data section
};

/// A safetensors file, opened and checked; no tensor is read until asked for.
class SafetensorsFile {
 public:
  /// @throws FormatError for every malformed header, before anything large is read or allocated
  explicit SafetensorsFile(const fs::path& path);

  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// A view of the mapped file that keeps the map alive; do not write to it.
  /// @throws FormatError if there is no such tensor
  Tensor tensor(const std::string& name) const;

 private:
  fs::path path_;
  std::shared_ptr<const MappedFile> file_;
  size_t data_start_ = 0;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Writes tensors in the order given; each is moved to the CPU and made contiguous on its own, so that
/// no second copy of the model is held. Data starts aligned to 8 bytes. @throws DataError
void write_safetensors(const fs::path& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace zoo
