#pragma once
// The safetensors format: 8 bytes of header length (little-endian), a JSON header, the tensors'
// bytes. Files are memory-mapped, so that opening one costs nothing and a model can live in the map
// itself.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/shape.h"

namespace zoo {

/// "float32": the name that Python and our flags use, not LibTorch's "Float".
std::string dtype_name(torch::Dtype dtype);

struct TensorInfo {
  torch::Dtype dtype = torch::kFloat32;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;  ///< its bytes in the data section
};

/// A safetensors file, opened and checked; no tensor is read until asked for.
/// F64, F32, F16, BF16, I64, I32, I16, I8, U8 and BOOL.
class SafetensorsFile {
 public:
  /// @throws DataError if it cannot be opened, FormatError for every malformed header, before
  /// anything large is read or allocated
  explicit SafetensorsFile(const fs::path& path);

  const fs::path& path() const { return path_; }
  const std::map<std::string, TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The tensor as a view of the mapped file, which it keeps alive. Writing to it copies the pages
  /// concerned and never reaches the file. (Data that is not aligned to its element is copied.)
  /// @throws FormatError if there is no such tensor
  Tensor tensor(const std::string& name) const;

 private:
  fs::path path_;
  std::shared_ptr<const MappedFile> file_;
  size_t data_start_ = 0;
  std::map<std::string, TensorInfo> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor that is made when its turn to be written comes, and dropped then.
struct LazyTensor {
  std::string name;
  torch::Dtype dtype = torch::kFloat32;
  std::vector<int64_t> shape;
  std::function<Tensor()> make;  ///< of that dtype and shape, on any device
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Writes tensors of any device, one after the other, so that no second copy of the model is held.
/// The data starts at a multiple of 64 bytes and every tensor at a multiple of its element's size.
/// The file is written aside and renamed. @throws DataError if it cannot be written (a full disk
/// included), Error for a dtype that the format lacks or a name given twice
void write_safetensors(const fs::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata = {});
/// The same, holding one tensor at a time.
void stream_safetensors(const fs::path& path, const std::vector<LazyTensor>& tensors,
                        const std::map<std::string, std::string>& metadata = {});

}  // namespace zoo
