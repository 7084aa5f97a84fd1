#include "nn/step_product.h"

#include <ATen/autocast_mode.h>

#include "nn/linear.h"

namespace zoo {

// How the gradient of what all steps share is put off: the shared tensor is made into an empty
// "anchor", which is an input of every step. Autograd goes back through the anchor when it has been
// through all steps, and by then they have written into the notes.

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// What the steps of a product note while autograd goes back.
struct ProductNotes : torch::CustomClassHolder {
  std::vector<Tensor> inputs, gradients;
};

struct AdditiveNotes : torch::CustomClassHolder {
  Tensor keys, v;  ///< gradients so far: (B, S, A), (A)
};

using Notes = c10::intrusive_ptr<torch::CustomClassHolder>;

bool needs_gradient(std::initializer_list<Tensor> tensors) {
  if (!at::GradMode::is_enabled()) return false;
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

/// Stands for a tensor that is not there, which a Function does not take.
Tensor nothing(const Tensor& like) {
  return torch::empty({0}, like.options().requires_grad(false));
}

void keep_notes(AutogradContext* context, const Notes& notes) {
  if (notes) context->saved_data["notes"] = c10::IValue::make_capsule(notes);
}

/// Null if the steps have none.
template <class Kind>
c10::intrusive_ptr<Kind> notes_of(AutogradContext* context) {
  const auto found = context->saved_data.find("notes");
  if (found == context->saved_data.end()) return {};
  return c10::static_intrusive_pointer_cast<Kind>(found->second.toCapsule());
}

Tensor product(const Tensor& x, const Tensor& matrix, const Tensor& addend) {
  if (!at::GradMode::is_enabled() && matrix.dim() == 2) {
    const bool is_bias = addend.defined() && addend.dim() == 1;
    const Tensor y = project(x, matrix.t(), is_bias ? addend : Tensor());
    return is_bias || !addend.defined() ? y : y + addend;
  }
  if (!addend.defined()) return at::matmul(x, matrix);
  return matrix.dim() == 2 ? at::addmm(addend, x, matrix) : at::baddbmm(addend, x, matrix);
}

struct ProductAnchor : Function<ProductAnchor> {
  static Tensor forward(AutogradContext* context, const Tensor& matrix, const Notes& notes) {
    keep_notes(context, notes);
    return nothing(matrix);
  }
  static variable_list backward(AutogradContext* context, const variable_list&) {
    const auto notes = notes_of<ProductNotes>(context);
    if (notes->inputs.empty()) return {Tensor(), Tensor()};
    // (T B, in)^T (T B, out), or (B, T, in)^T (B, T, out).
    const int64_t dim = notes->inputs.front().dim() - 2;
    const Tensor x = torch::cat(std::exchange(notes->inputs, {}), dim);
    const Tensor dy = torch::cat(std::exchange(notes->gradients, {}), dim);
    return {at::matmul(x.transpose(-2, -1), dy), Tensor()};
  }
};

struct ProductStep : Function<ProductStep> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& anchor,
                        const Tensor& addend, const Tensor& matrix, const Notes& notes) {
    (void)anchor;
    keep_notes(context, notes);
    context->save_for_backward({x, matrix});
    return product(x, matrix, addend.numel() > 0 ? addend : Tensor());
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &matrix = saved[1], &dy = gradients[0];
    if (const auto notes = notes_of<ProductNotes>(context)) {
      notes->inputs.push_back(x);
      notes->gradients.push_back(dy);
    }
    const Tensor dx =
        context->needs_input_grad(0) ? at::matmul(dy, matrix.transpose(-2, -1)) : Tensor();
    return {dx, Tensor(), context->needs_input_grad(2) ? dy : Tensor(), Tensor(), Tensor()};
  }
};

struct AdditiveAnchor : Function<AdditiveAnchor> {
  static Tensor forward(AutogradContext* context, const Tensor& keys, const Tensor& v,
                        const Notes& notes) {
    (void)v;
    keep_notes(context, notes);
    return nothing(keys);
  }
  static variable_list backward(AutogradContext* context, const variable_list&) {
    const auto notes = notes_of<AdditiveNotes>(context);
    return {std::exchange(notes->keys, {}), std::exchange(notes->v, {}), Tensor()};
  }
};

struct AdditiveStep : Function<AdditiveStep> {
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& anchor,
                        const Tensor& keys, const Tensor& v, const Notes& notes) {
    (void)anchor;
    keep_notes(context, notes);
    const Tensor bent = (keys + query.unsqueeze(1)).tanh_();  // (B, S, A)
    context->save_for_backward({bent, v});
    return at::matmul(bent, v);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &bent = saved[0], &v = saved[1], &dy = gradients[0];  // (B, S, A), (A), (B, S)
    const Tensor sums = at::tanh_backward(dy.unsqueeze(2) * v, bent);  // of query + keys
    const Tensor dquery = sums.sum(1);
    if (const auto notes = notes_of<AdditiveNotes>(context)) {
      const Tensor dv = at::mv(bent.flatten(0, 1).t(), dy.flatten());
      notes->v = notes->v.defined() ? notes->v.add_(dv) : dv;
      notes->keys = notes->keys.defined() ? notes->keys.add_(sums) : sums;
    }
    return {dquery, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

StepProduct::StepProduct(const Tensor& matrix) : matrix_(matrix.detach()) {
  // Decoding reads it again and again: laid out as project() likes it, which it mostly is.
  if (!at::GradMode::is_enabled() && matrix.dim() == 2) matrix_ = matrix_.t().contiguous().t();
  anchor_ = nothing(matrix);
  if (!needs_gradient({matrix})) return;
  notes_ = c10::make_intrusive<ProductNotes>();
  anchor_ = ProductAnchor::apply(matrix, notes_);
}

Tensor StepProduct::operator()(const Tensor& x, const Tensor& addend) const {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor input = x.to(matrix_.scalar_type());
  const Tensor base = addend.defined() ? addend.to(matrix_.scalar_type()) : addend;
  if (!needs_gradient({input, base, anchor_})) return product(input, matrix_, base);
  return ProductStep::apply(input, anchor_, base.defined() ? base : nothing(input), matrix_,
                            notes_);
}

StepAdditiveScores::StepAdditiveScores(const Tensor& keys, const Tensor& v)
    : keys_(keys.detach()), v_(v.detach().to(keys.scalar_type())) {
  anchor_ = nothing(keys);
  if (!needs_gradient({keys, v})) return;
  notes_ = c10::make_intrusive<AdditiveNotes>();
  anchor_ = AdditiveAnchor::apply(keys, v, notes_);
}

Tensor StepAdditiveScores::operator()(const Tensor& query) const {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor input = query.to(keys_.scalar_type());
  if (!needs_gradient({input, anchor_}))
    return at::matmul((keys_ + input.unsqueeze(1)).tanh_(), v_);
  return AdditiveStep::apply(input, anchor_, keys_, v_, notes_);
}

}  // namespace zoo
