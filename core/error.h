#pragma once
// Every failure below cli/ is one of these exceptions; nothing aborts, exits, asserts on input or
// prints. A message says: where · what was found · what is allowed · what to do.

#include <sstream>
#include <stdexcept>
#include <string>

namespace zoo {

/// Joins its arguments as `operator<<` writes them: cat("row ", 3) is "row 3".
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Base of all errors of the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A config, flag or argument that cannot be used (exit code 2).
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A file, folder or data set that is missing, unreadable or unusable (exit code 3).
class DataError : public Error {
 public:
  using Error::Error;
};

/// A file whose bytes do not follow its format (exit code 3).
class FormatError : public DataError {
 public:
  using DataError::DataError;
};

/// Tensors whose shapes do not fit together; a mistake of the caller (exit code 1).
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// NaN or infinity where a number is needed, or a check that failed (exit code 4).
class NumericError : public Error {
 public:
  using Error::Error;
};

}  // namespace zoo
