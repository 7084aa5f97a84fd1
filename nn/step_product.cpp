#include "nn/step_product.h"

#include "nn/linear.h"

namespace zoo {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// The link from the steps to what they share: an empty tensor, whose node autograd runs when the
/// last of them is through.
Tensor make_anchor(const Tensor& like) { return torch::empty({0}, like.options()); }

bool needs_gradient(std::initializer_list<Tensor> tensors) {
  if (!at::GradMode::is_enabled()) return false;
  for (const Tensor& tensor : tensors)
    if (tensor.defined() && tensor.requires_grad()) return true;
  return false;
}

}  // namespace

// ---- products --------------------------------------------------------------------------------

struct StepProduct::Notes {
  Tensor matrix;  ///< without gradient
  Tensor anchor;  ///< defined if the matrix needs a gradient
  std::vector<Tensor> inputs, gradients;  ///< of each step, while autograd goes back
};

namespace {

/// Takes the matrix's gradient from what the steps have noted.
struct CollectProduct : Function<CollectProduct> {
  static Tensor forward(AutogradContext* context, const Tensor& matrix,
                        const std::shared_ptr<StepProduct::Notes>& notes) {
    context->saved_data["notes"] = c10::IValue();
    notes_of(context) = notes;
    return make_anchor(matrix);
  }
};

}  // namespace
}  // namespace zoo
