#include "nn/stream_linear.h"

#include <ATen/record_function.h>

#include <ATen/Parallel.h>

#include "nn/stream_kernel.h"

namespace zoo {

bool can_stream_linear(const Tensor& x, const Tensor& weight) {
  return !at::GradMode::is_enabled() && has_stream_kernel() && x.is_cpu() && weight.is_cpu() &&
         x.scalar_type() == torch::kFloat32 && weight.scalar_type() == torch::kFloat32 &&
         weight.is_contiguous() && x.size(-1) == weight.size(1) && x.numel() > 0 &&
         x.numel() <= kMostStreamedRows * weight.size(1);
}

Tensor stream_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  // For profilers, which see LibTorch's operators in this way. Free where none listens.
  RECORD_FUNCTION("zoo::stream_linear", (std::vector<c10::IValue>{x, weight}));
  const Tensor input = x.contiguous();
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  Tensor y = torch::empty(sizes, x.options());
  const StreamProblem problem{.x = input.const_data_ptr<float>(),
                              .w = weight.const_data_ptr<float>(),
                              .bias = bias.defined() ? bias.const_data_ptr<float>() : nullptr,
                              .y = y.mutable_data_ptr<float>(),
                              .rows = input.numel() / weight.size(1),
                              .in = weight.size(1),
                              .out = weight.size(0)};
  run_stream_kernel(problem, at::in_parallel_region() ? 1 : at::get_num_threads());
  return y;
}

}  // namespace zoo
