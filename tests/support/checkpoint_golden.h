#pragma once
// The folders of tests/golden/checkpoint, which other libraries made.

#include <string>

#include "checkpoint/checkpoint.h"

namespace zoo::testing {

inline fs::path golden(const std::string& name) {
  return fs::path(ZOO_SOURCE_DIR) / "tests/golden/checkpoint" / name;
}

/// Writes a golden folder's model and what is expected of it for
/// tests/golden/checkpoint/check_export.py.
inline void write_for_python(const std::string& name) {
  const LoadedModel loaded = load_model(golden(name));
  const fs::path folder = fs::path("exports") / name;
  fs::create_directories(folder);
  save_model(folder, *loaded.model, loaded.config, nullptr, {}, nullptr);
  fs::copy_file(golden(name) / "expected.safetensors", folder / "expected.safetensors",
                fs::copy_options::overwrite_existing);
}

}  // namespace zoo::testing
