#pragma once
// Letters of the shapes written beside tensors, everywhere in this project:
//   B batch   T tokens (queries)   K keys (past and present)   S source tokens   D d_model   F d_ff
//   V vocabulary   H query heads   G key/value heads   E width of one head
//   L layers   N max_length

#include <torch/torch.h>

#include <initializer_list>
#include <string>

#include "core/error.h"

namespace zoo {

using torch::Tensor;

/// "(2, 3)"; a negative size is "*".
std::string shape_text(torch::IntArrayRef sizes);
std::string shape_text(const Tensor& tensor);

/// Throws ShapeError unless `tensor` has the shape `wanted`, in which -1 stands for any size.
void require_shape(const Tensor& tensor, std::initializer_list<int64_t> wanted, const char* name);

}  // namespace zoo
