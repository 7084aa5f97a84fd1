#include "nn/linear.h"

#include "nn/stream_linear.h"

namespace zoo {

Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (can_stream_linear(x, weight)) return stream_linear(x, weight, bias);
  return at::linear(x, weight, bias.defined() ? std::optional<Tensor>(bias) : std::nullopt);
}

LinearImpl::LinearImpl(int64_t in, int64_t out, bool with_bias) {
  weight = register_parameter("weight", torch::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", torch::empty({out}));
}

}  // namespace zoo
