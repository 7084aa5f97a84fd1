#include "core/shape.h"

namespace zoo {

std::string shape_text(torch::IntArrayRef sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i > 0 ? ", " : "") + (sizes[i] < 0 ? std::string("*") : std::to_string(sizes[i]));
  return text + ")";
}

std::string shape_text(const Tensor& tensor) {
  return tensor.defined() ? shape_text(tensor.sizes()) : "(undefined)";
}

void require_shape(const Tensor& tensor, std::initializer_list<int64_t> wanted, const char* name) {
  bool fits = tensor.defined() && tensor.dim() == static_cast<int64_t>(wanted.size());
  int64_t dim = 0;
  for (const int64_t size : wanted) {
    fits = fits && (size < 0 || tensor.size(dim) == size);
    ++dim;
  }
  if (!fits)
    throw ShapeError(cat(name, ": shape ", shape_text(tensor), ", expected ",
                         shape_text(torch::IntArrayRef(wanted.begin(), wanted.size()))));
}

}  // namespace zoo
