#include "nn/linear.h"

#include "nn/many_rows_linear.h"
#include "nn/stream_linear.h"

#if defined(__x86_64__)
// MKL, which multiplies matrices inside LibTorch on x86, takes its AVX-512 kernels only on
// processors whose maker is Intel, whatever the instructions that they have; it asks this function.
// The definition in a program comes before the one in LibTorch. Measured: a training step of 0.8M
// parameters is 1.1 times as fast on an AMD EPYC of Zen 4.
extern "C" __attribute__((visibility("default"))) int mkl_serv_intel_cpu_true() { return 1; }
#endif

namespace zoo {

Tensor project(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (can_stream_linear(x, weight)) return stream_linear(x, weight, bias);
  if (can_many_rows_linear(x, weight)) return many_rows_linear(x, weight, bias);
  return at::linear(x, weight, bias.defined() ? std::optional<Tensor>(bias) : std::nullopt);
}

LinearImpl::LinearImpl(int64_t in, int64_t out, bool with_bias) {
  weight = register_parameter("weight", torch::empty({out, in}));
  if (with_bias) bias = register_parameter("bias", torch::empty({out}));
}

}  // namespace zoo
