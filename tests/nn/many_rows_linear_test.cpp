#include "nn/many_rows_linear.h"

#include <gtest/gtest.h>

#include "nn/linear.h"
#include "nn/stream_linear.h"

namespace zoo {
namespace {

constexpr int64_t kRows = kMostStreamedRows + 24;

double largest(const Tensor& x) { return x.abs().max().item<double>(); }

class ManyRowsLinearTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_many_rows_linear(x_, w_)) GTEST_SKIP() << "not on this processor or LibTorch";
  }
  Tensor x_ = torch::randn({4, kRows / 4, 48}), w_ = torch::randn({80, 48}),
         b_ = torch::randn({80});
};

TEST_F(ManyRowsLinearTest, IsALinearLayer) {
  const torch::NoGradGuard no_grad;
  const auto check = [&](const Tensor& weight, const Tensor& bias) {
    const auto given =
        bias.defined() ? std::optional<Tensor>(bias.to(torch::kFloat64)) : std::nullopt;
    const Tensor wanted = at::linear(x_.to(torch::kFloat64), weight.to(torch::kFloat64), given);
    EXPECT_LE(largest(many_rows_linear(x_, weight, bias) - wanted), 2e-5);
  };
  check(w_, b_);
  check(w_, {});
  check(torch::randn({48, 80}).t(), b_);  // stored the other way round
  x_ = x_.transpose(0, 1);                // rows that do not lie one after the other
  check(w_, b_);
}

TEST_F(ManyRowsLinearTest, ARowDoesNotDependOnTheOthers) {
  const torch::NoGradGuard no_grad;
  const Tensor x = torch::randn({3 * kRows, 48});
  const Tensor all = project(x, w_, b_);
  EXPECT_TRUE(torch::equal(project(x.narrow(0, 0, kRows), w_, b_), all.narrow(0, 0, kRows)));
}

TEST_F(ManyRowsLinearTest, GradientsAreThoseOfFloat64) {
  const auto gradients = [&](torch::Dtype dtype) {
    std::vector<Tensor> leaves;
    for (const Tensor& tensor : {x_, w_, b_})
      leaves.push_back(tensor.detach().to(dtype, false, /*copy=*/true).requires_grad_());
    const Tensor y = project(leaves[0], leaves[1], leaves[2]);
    // And of the gradient's own square, for the second order.
    const auto first = torch::autograd::grad({y.pow(2).sum()}, leaves, {}, true, true);
    (first[0].pow(2).mean() + first[1].pow(2).mean()).backward();
    std::vector<Tensor> all(first.begin(), first.end());
    for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
    return all;
  };
  const auto found = gradients(torch::kFloat32), wanted = gradients(torch::kFloat64);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_LE(largest(found[i] - wanted[i]), 1e-5 * largest(wanted[i])) << i;
}

}  // namespace
}  // namespace zoo
