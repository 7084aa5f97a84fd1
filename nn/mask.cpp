#include "nn/mask.h"

namespace zoo {

AttendOptions causal_mask(int64_t past, int64_t length, const Tensor& left_pad, const Tensor& bias,
                          torch::Device device) {
  AttendOptions options;
  if (!left_pad.defined() && !bias.defined() && (past == 0 || length == 1)) {
    options.causal = length > 1;
    return options;
  }
  const Tensor keys = torch::arange(past + length, torch::dtype(torch::kLong).device(device));
  const Tensor queries = keys.narrow(0, past, length).unsqueeze(1);  // (T, 1)
  Tensor mask = keys <= queries;                                     // (T, K)
  if (left_pad.defined()) {
    const Tensor real = keys >= left_pad.view({-1, 1, 1, 1});  // (B, 1, 1, K)
    mask = mask.logical_and(real).logical_or(keys == queries);
  }
  options.mask = bias.defined() ? bias.masked_fill(mask.logical_not(),
                                                   -std::numeric_limits<double>::infinity())
                                : mask;
  return options;
}

}  // namespace zoo
