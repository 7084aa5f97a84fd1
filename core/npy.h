#pragma once
// NumPy's file format, version 1.0, as numpy.load reads it.

#include "core/files.h"
#include "core/shape.h"

namespace zoo {

/// Writes a tensor as float32, rows first. @throws DataError
void write_npy(const fs::path& path, const Tensor& tensor);

}  // namespace zoo
