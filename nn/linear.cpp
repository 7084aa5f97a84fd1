#include "nn/linear.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace zoo {

namespace {

using OneDnnLinear = Tensor(const Tensor& x, const Tensor& weight,
                            const std::optional<Tensor>& bias, c10::string_view activation,
                            c10::List<std::optional<at::Scalar>> scalars,
                            std::optional<c10::string_view> algorithm);

/// oneDNN's fp32 linear, an operator that LibTorch registers on x86 but does not declare in a
/// header; nothing where it is absent.
const std::optional<c10::TypedOperatorHandle<OneDnnLinear>>& onednn_linear() {
  static const auto handle = []() -> std::optional<c10::TypedOperatorHandle<OneDnnLinear>> {
    if (!at::globalContext().userEnabledMkldnn()) return std::nullopt;
    const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!schema) return std::nullopt;
    try {
      return schema->typed<OneDnnLinear>();
    } catch (const c10::Error&) {
      return std::nullopt;  // a LibTorch in which the operator has another signature
    }
  }();
  return handle;
}

/// With few rows a product only streams the weights from memory. BLAS reads them at a third of the
/// speed there: at::linear takes its matrix kernel, which copies the weights into panels first.
constexpr int64_t kFewRows = 64;

}  // namespace

Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::optional<Tensor> maybe_bias =
      bias.defined() ? std::optional<Tensor>(bias) : std::nullopt;
  if (!at::GradMode::is_enabled() && x.is_cpu() && x.scalar_type() == torch::kFloat32 &&
      weight.scalar_type() == torch::kFloat32 && x.numel() <= kFewRows * weight.size(1) &&
      x.numel() > 0 && onednn_linear())
    return onednn_linear()->call(x, weight, maybe_bias, "none",
                                 c10::List<std::optional<at::Scalar>>(), std::nullopt);
  return at::linear(x, weight, maybe_bias);
}

LinearImpl::LinearImpl(int64_t in, int64_t out, bool with_bias) {
  weight = register_parameter("weight", torch::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", torch::empty({out}));
}

}  // namespace zoo
