#include "nn/many_rows_linear.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "nn/linear.h"
#include "nn/stream_kernel.h"
#include "nn/stream_linear.h"

namespace zoo {

namespace {

/// The operator that torch.compile's CPU backend makes linear layers into. It is not a part of the
/// C++ interface, so that its absence is no error.
const std::optional<c10::OperatorHandle>& linear_operator() {
  static const std::optional<c10::OperatorHandle> found =
      at::globalContext().hasMKLDNN()
          ? c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""})
          : std::nullopt;
  return found;
}

/// @param bias as many_rows_linear()'s  @return without gradients
Tensor run(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  // Called with boxed arguments, whose form is the same in all releases.
  std::vector<c10::IValue> stack = {
      x.contiguous(), weight, bias, "none", c10::List<std::optional<at::Scalar>>(), ""};
  linear_operator()->callBoxed(&stack);
  return stack[0].toTensor();
}

struct ManyRowsLinear : torch::autograd::Function<ManyRowsLinear> {
  using Context = torch::autograd::AutogradContext;
  using Tensors = torch::autograd::variable_list;

  static Tensor forward(Context* context, const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["has_bias"] = bias.has_value();
    return run(x, weight, bias);
  }

  static Tensors backward(Context* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &dy = gradients[0];  // (..., out)
    Tensor dx, dw, db;
    if (context->needs_input_grad(0)) dx = project(dy, weight.t(), {});
    const Tensor rows = dy.flatten(0, -2);  // (R, out)
    // BLAS is as fast where rows are summed over, which oneDNN reads across memory.
    if (context->needs_input_grad(1)) dw = at::mm(rows.t(), x.flatten(0, -2));
    // Of an absent bias autograd knows nothing.
    if (context->saved_data["has_bias"].toBool() && context->needs_input_grad(2)) db = rows.sum(0);
    return {dx, dw, db};
  }
};

bool is_dense(const Tensor& matrix) { return matrix.is_contiguous() || matrix.t().is_contiguous(); }

}  // namespace

bool can_many_rows_linear(const Tensor& x, const Tensor& weight) {
  return x.is_cpu() && weight.is_cpu() && x.scalar_type() == torch::kFloat32 &&
         weight.scalar_type() == torch::kFloat32 && x.size(-1) == weight.size(1) &&
         x.numel() > kMostStreamedRows * weight.size(1) && is_dense(weight) &&
         has_stream_kernel() && !at::autocast::is_autocast_enabled(torch::kCPU) &&
         at::globalContext().userEnabledMkldnn() && linear_operator();
}

Tensor many_rows_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const auto given = bias.defined() ? std::optional<Tensor>(bias) : std::nullopt;
  const bool learns = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad() ||
                                                     (given && bias.requires_grad()));
  return learns ? ManyRowsLinear::apply(x, weight, given) : run(x, weight, given);
}

}  // namespace zoo
