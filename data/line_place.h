#pragma once
// Which line of which file a DataError is about.

#include <string>

#include "core/error.h"

namespace zoo {

/// Puts "files:line: " before the message of a DataError that `work` throws.
void with_place(const std::string& files, int64_t line, const auto& work) {
  try {
    work();
  } catch (const DataError& error) {
    throw DataError(cat(files, ":", line, ": ", error.what()));
  }
}

}  // namespace zoo
