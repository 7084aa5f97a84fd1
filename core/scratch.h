#pragma once
// A folder for a short while.

#include <stdlib.h>

#include "core/error.h"
#include "core/files.h"

namespace zoo {

/// A new folder of this process in the system's temporary folder, removed at the end.
class ScratchFolder {
 public:
  /// @throws DataError
  ScratchFolder() {
    std::string pattern = utf8(fs::temp_directory_path() / "transformer-zoo-XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr)
      throw DataError(cat(pattern, ": cannot be made; set TMPDIR to a folder that can be written"));
    path_ = utf8_path(pattern);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace zoo
