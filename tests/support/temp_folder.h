#pragma once
// A folder for one test, removed with everything in it at the end.

#include <stdlib.h>

#include <string>

#include "core/error.h"
#include "core/files.h"

namespace zoo::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = utf8(fs::temp_directory_path() / "zoo-test-XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr) throw DataError(pattern + ": cannot be made");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path operator/(const fs::path& name) const { return path_ / name; }

 private:
  fs::path path_;
};

}  // namespace zoo::testing
