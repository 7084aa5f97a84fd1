#include "analysis/flop_counter.h"

#include <ATen/record_function.h>

#include <string_view>

#include "core/shape.h"

namespace zoo {

namespace {

using Arguments = c10::ArrayRef<const c10::IValue>;

double real(int64_t number) { return static_cast<double>(number); }

Tensor tensor_at(Arguments arguments, size_t place) { return arguments[place].toTensor(); }

/// Multiply-adds of a (..., in) with an (in, out) matrix.
double rows_times(const Tensor& x, int64_t out) { return real(x.numel()) * real(out); }

/// Multiply-adds of an operator; 0 for one that multiplies no matrices.
double multiply_adds(std::string_view name, Arguments arguments) {
  // x (..., n, m) with y (..., m, p); the addend, if there is one, comes first.
  for (const auto& [product, first] : {std::pair<std::string_view, size_t>{"aten::mm", 0},
                                       {"aten::bmm", 0},
                                       {"aten::addmm", 1},
                                       {"aten::baddbmm", 1}})
    if (name == product)
      return rows_times(tensor_at(arguments, first), tensor_at(arguments, first + 1).size(-1));
  if (name == "aten::mv") return real(tensor_at(arguments, 0).numel());
  if (name == "aten::dot") return real(tensor_at(arguments, 0).numel());
  // x (..., in), weight (out, in).
  if (name == "mkldnn::_linear_pointwise" || name == "zoo::stream_linear")
    return rows_times(tensor_at(arguments, 0), tensor_at(arguments, 1).size(0));
  // x (T, B, I), weight_ih (gates H, I), weight_hh (gates H, H): one layer in one direction.
  if (name == "aten::mkldnn_rnn_layer") {
    const Tensor x = tensor_at(arguments, 0);
    return real(x.size(0) * x.size(1)) *
           real(tensor_at(arguments, 1).numel() + tensor_at(arguments, 2).numel());
  }
  // q (B, H, T, E), k and v (B, G, K, E): scores and weighted values.
  for (const std::string_view fused : {"aten::_scaled_dot_product_flash_attention_for_cpu",
                                       "aten::_scaled_dot_product_flash_attention",
                                       "aten::_scaled_dot_product_efficient_attention",
                                       "aten::_scaled_dot_product_cudnn_attention"})
    if (name == fused) {
      const Tensor q = tensor_at(arguments, 0), v = tensor_at(arguments, 2);
      return real(q.numel() / q.size(-1)) * real(v.size(-2)) * real(q.size(-1) + v.size(-1));
    }
  return 0;
}

thread_local double* counted = nullptr;

std::unique_ptr<at::ObserverContext> on_operator(const at::RecordFunction& function) {
  if (counted != nullptr) *counted += multiply_adds(function.name(), function.inputs());
  return nullptr;
}

}  // namespace

double count_flops(const std::function<void()>& work) {
  double products = 0;
  struct Scope {
    explicit Scope(double* sum)
        : handle(at::addThreadLocalCallback(at::RecordFunctionCallback(on_operator)
                                                .needsInputs(true)
                                                .scopes({at::RecordScope::FUNCTION}))) {
      counted = sum;
    }
    ~Scope() {
      at::removeCallback(handle);
      counted = nullptr;
    }
    at::CallbackHandle handle;
  } const scope(&products);
  work();
  return 2 * products;
}

}  // namespace zoo
