// Against torch::optim, LibTorch's own loop over tensors.

#include "training/optimizer.h"

#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace zoo {
namespace {

using testing::message_of;

struct Net : torch::nn::Module {
  Net() {
    first = register_module("first", torch::nn::Linear(5, 7));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({7})));
    second = register_module("second", torch::nn::Linear(7, 3));
  }
  Tensor forward(const Tensor& x) {
    return second->forward(norm->forward(torch::tanh(first->forward(x))));
  }
  torch::nn::Linear first{nullptr}, second{nullptr};
  torch::nn::LayerNorm norm{nullptr};
};

std::pair<std::shared_ptr<Net>, std::shared_ptr<Net>> twins() {
  torch::manual_seed(3);
  auto a = std::make_shared<Net>(), b = std::make_shared<Net>();
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < a->parameters().size(); ++i) b->parameters()[i].copy_(a->parameters()[i]);
  return {a, b};
}

/// 100 steps of both; the largest difference of a parameter.
double difference_after_training(
    const OptimizerConfig& config, double learning_rate,
    const std::function<std::unique_ptr<torch::optim::Optimizer>(Net&)>& make) {
  const auto [ours, theirs] = twins();
  Optimizer optimizer(config, *ours);
  const auto reference = make(*theirs);
  for (int step = 0; step < 100; ++step) {
    const Tensor x = torch::randn({8, 5}), y = torch::randn({8, 3});
    optimizer.zero_grad();
    torch::mse_loss(ours->forward(x), y).backward();
    optimizer.step(learning_rate);
    reference->zero_grad();
    torch::mse_loss(theirs->forward(x), y).backward();
    reference->step();
  }
  double largest = 0;
  for (size_t i = 0; i < ours->parameters().size(); ++i)
    largest = std::max(
        largest, (ours->parameters()[i] - theirs->parameters()[i]).abs().max().item<double>());
  return largest;
}

TEST(Optimizer, AdamWEqualsTheLoop) {
  const double difference = difference_after_training(
      AdamWConfig{.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1}, 1e-2,
      [](Net& net) {
        std::vector<Tensor> matrices, others;
        for (const Tensor& p : net.parameters()) (p.dim() >= 2 ? matrices : others).push_back(p);
        const auto options = torch::optim::AdamWOptions(1e-2).betas({0.9, 0.95}).eps(1e-8);
        auto decayed = std::make_unique<torch::optim::AdamWOptions>(options);
        decayed->weight_decay(0.1);
        auto plain = std::make_unique<torch::optim::AdamWOptions>(options);
        plain->weight_decay(0);
        std::vector<torch::optim::OptimizerParamGroup> groups;
        groups.emplace_back(matrices, std::move(decayed));
        groups.emplace_back(others, std::move(plain));
        return std::make_unique<torch::optim::AdamW>(groups, options);
      });
  EXPECT_LE(difference, 1e-6);
}

TEST(Optimizer, AdamEqualsTheLoop) {
  EXPECT_LE(difference_after_training(AdamConfig{}, 1e-2,
                                      [](Net& net) {
                                        return std::make_unique<torch::optim::Adam>(
                                            net.parameters(), torch::optim::AdamOptions(1e-2));
                                      }),
            1e-6);
}

TEST(Optimizer, SgdEqualsTheLoop) {
  for (const bool nesterov : {false, true})
    EXPECT_LE(difference_after_training(
                  SgdConfig{.momentum = 0.9, .nesterov = nesterov}, 1e-2,
                  [&](Net& net) {
                    return std::make_unique<torch::optim::SGD>(
                        net.parameters(),
                        torch::optim::SGDOptions(1e-2).momentum(0.9).nesterov(nesterov));
                  }),
              1e-6);
}

// TRN-7
TEST(Optimizer, DecaysMatricesOnlyAndATiedOneOnce) {
  struct Tied : torch::nn::Module {
    Tied() {
      embedding = register_parameter("embedding", torch::ones({4, 3}));
      output = register_parameter("output", embedding);
      scale = register_parameter("scale", torch::ones(3));
      bias = register_parameter("bias", torch::full({3}, 2.f));
    }
    Tensor embedding, output, scale, bias;
  } module;
  Optimizer optimizer(AdamWConfig{.weight_decay = 0.5}, module);
  EXPECT_EQ(optimizer.parameters().size(), 3u);
  for (const auto& [name, parameter] : optimizer.parameters())
    const_cast<Tensor&>(parameter).mutable_grad() = torch::zeros_like(parameter);
  optimizer.step(0.1);
  EXPECT_TRUE(torch::allclose(module.embedding, torch::full({4, 3}, 0.95f)));
  EXPECT_TRUE(module.scale.equal(torch::ones(3)));
  EXPECT_TRUE(module.bias.equal(torch::full({3}, 2.f)));
}

TEST(GradientNorm, IsFiniteWheneverTheGradientsAre) {
  EXPECT_NEAR(gradient_norm({torch::tensor({3.f}), torch::tensor({4.f, 0.f})}).item<double>(), 5,
              1e-6);
  EXPECT_NEAR(gradient_norm({torch::tensor({1e20f, 1.f, 2.f})}).item<double>() / 1e20, 1, 1e-6);
  EXPECT_TRUE(std::isinf(gradient_norm({torch::tensor({INFINITY, 1.f})}).item<double>()));
  EXPECT_TRUE(std::isnan(gradient_norm({torch::tensor({NAN, 1.f})}).item<double>()));
  EXPECT_EQ(gradient_norm({}).item<double>(), 0);
  // A float32 sum over a million numbers has an error of 1e-5.
  torch::manual_seed(1);
  const std::vector<Tensor> large = {torch::randn({1000, 1003}), torch::randn({7})};
  const double exact =
      torch::cat({large[0].flatten(), large[1]}).to(torch::kFloat64).norm().item<double>();
  EXPECT_NEAR(gradient_norm(large).item<double>() / exact, 1, 1e-7);
}

TEST(Optimizer, RefusesAStateOfAnotherShape) {
  EXPECT_EQ(
      message_of<FormatError>([] { copy_state(torch::zeros(3), torch::zeros(4), "count"); }),
      "optimizer state count: shape (4), the model's parameter needs (3); resume with the config "
      "the run was started with");
  torch::nn::Module empty;
  EXPECT_EQ(message_of([&] { Optimizer(AdamConfig{}, empty); }),
            "training.freeze: no parameter is left to train; leave out some of its patterns");
}

}  // namespace
}  // namespace zoo
