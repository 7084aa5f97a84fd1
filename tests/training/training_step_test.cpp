#include "training/training_step.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/parallel.h"
#include "models/zoo.h"
#include "tests/support/message_of.h"
#include "tests/training/fake_task.h"

namespace zoo {
namespace {

using testing::LogitsTask;
using testing::message_of;

TrainingConfig plain_sgd(double learning_rate) {
  TrainingConfig config;
  config.optimizer = SgdConfig{.momentum = 0};
  config.learning_rate = learning_rate;
  config.schedule = ConstantScheduleConfig{};
  config.clip_norm = 0;
  return config;
}

StepOutcome run(LogitsTask& task, const TrainingConfig& config, const std::vector<Batch>& window) {
  TrainingStep step(task, config, Schedule(config.schedule, config.learning_rate, 0, 1),
                    torch::kCPU);
  return step.run(window, 1);
}

// TRN-1: loss and gradient worked out by hand; the mean of means would be 1.532606.
TEST(TrainingStep, MicroBatchesEqualTheJoinedBatchPerToken) {
  LogitsTask task(torch::tensor({1.f, 0.f, -1.f}));
  const StepOutcome outcome =
      run(task, plain_sgd(1), {LogitsTask::of({0, 0, 0, 1}), LogitsTask::of({2})});
  EXPECT_EQ(outcome.target_count, 5);
  EXPECT_NEAR(outcome.loss_sum.item<double>() / 5, 1.007606, 1e-6);

  LogitsTask zeros(torch::zeros(3));
  run(zeros, plain_sgd(1), {LogitsTask::of({0, 0, 0, 1}), LogitsTask::of({2})});
  const Tensor gradient = -zeros.model.logits.detach();  // learning rate 1 from zero
  EXPECT_TRUE(torch::allclose(gradient, torch::tensor({-.266667f, .133333f, .133333f}), 0, 1e-5));
}

// TRN-3
TEST(TrainingStep, PaddingAloneTeachesNothing) {
  LogitsTask task(torch::tensor({1.f, 0.f, -1.f}));
  const Tensor before = task.model.logits.detach().clone();
  StepOutcome outcome = run(task, plain_sgd(1), {LogitsTask::of({kNoTarget, kNoTarget})});
  EXPECT_EQ(outcome.target_count, 0);
  EXPECT_EQ(outcome.loss_sum.item<double>(), 0);
  EXPECT_TRUE(task.model.logits.equal(before));

  LogitsTask joined(torch::tensor({1.f, 0.f, -1.f}));
  run(joined, plain_sgd(1), {LogitsTask::of({0, 1})});
  run(task, plain_sgd(1), {LogitsTask::of({kNoTarget}), LogitsTask::of({0, 1})});
  EXPECT_TRUE(task.model.logits.equal(joined.model.logits));
  EXPECT_TRUE(task.model.logits.isfinite().all().item<bool>());
}

// A small GPT, without the data of a real task.
struct GptTask : LogitsTask {
  explicit GptTask(bool with_replicas) : LogitsTask(torch::zeros(1)), replicas(with_replicas) {
    GptConfig config = GptConfig::preset("modern");
    config.vocab_size = 11;
    config.num_layers = 1;
    config.d_model = 16;
    torch::manual_seed(1);
    gpt = make_causal_lm(config);
  }
  torch::nn::Module& module() override { return *gpt; }
  Tensor loss_sum(torch::nn::Module& module, const Batch& batch) override {
    const Tensor logits = static_cast<CausalLm&>(module).forward(batch.inputs);
    return at::cross_entropy_loss(logits.flatten(0, 1), batch.targets.flatten(), {},
                                  at::Reduction::Sum, kNoTarget);
  }
  std::shared_ptr<torch::nn::Module> replica() const override {
    return replicas ? gpt->replica() : nullptr;
  }
  bool replicas;
  std::shared_ptr<CausalLm> gpt;
};

TEST(TrainingStep, ThreadsSideBySideEqualOne) {
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  const Tensor rows = torch::arange(35).remainder(11).view({5, 7});
  Tensor targets = (rows + 1).remainder(11);
  targets[4].fill_(kNoTarget);  // one thread has less to learn than the others
  const std::vector<Batch> window = {{rows, targets, 5, 28}, {rows.flip(1), targets, 5, 28}};
  std::vector<GptTask> tasks = {GptTask(true), GptTask(false)};
  for (GptTask& task : tasks) {
    TrainingConfig config = plain_sgd(1);
    TrainingStep step(task, config, Schedule(config.schedule, 1, 0, 1), torch::kCPU);
    for (int64_t i = 1; i <= 3; ++i) step.run(window, i);
    EXPECT_EQ(Replicas(task, torch::kCPU).count(), task.replicas && has_parallel_threads() ? 3 : 1);
  }
  const auto side_by_side = tasks[0].gpt->parameters(), alone = tasks[1].gpt->parameters();
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_TRUE(torch::allclose(side_by_side[i], alone[i], 1e-4, 1e-6)) << i;
  at::set_num_threads(threads);
}

// A loss whose gradient is what the test says.
struct GradientTask : LogitsTask {
  explicit GradientTask(Tensor wanted) : LogitsTask(torch::zeros(3)), gradient(std::move(wanted)) {}
  Tensor loss_sum(torch::nn::Module&, const Batch&) override {
    return (model.logits * gradient).sum();
  }
  Tensor gradient;
};

// TRN-9
TEST(TrainingStep, AGradientThatIsNotFiniteIsSkipped) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN()}) {
    GradientTask task(torch::tensor({bad, 1.f, 2.f}));
    TrainingConfig config = plain_sgd(1);
    for (const OptimizerConfig& optimizer :
         {OptimizerConfig(SgdConfig{}), OptimizerConfig(AdamWConfig{}),
          OptimizerConfig(AdamConfig{})}) {
      config.optimizer = optimizer;
      config.clip_norm = 1;
      TrainingStep step(task, config, Schedule(config.schedule, 1, 0, 1), torch::kCPU);
      const std::vector<Batch> window = {LogitsTask::of({0})};
      EXPECT_EQ(step.run(window, 1).skipped.item<double>(), 1);
      EXPECT_EQ(step.run(window, 2).skipped.item<double>(), 1);
      EXPECT_EQ(step.skipped_in_a_row(), 2);
      EXPECT_TRUE(task.model.logits.equal(torch::zeros(3)));
      for (const auto& [name, tensor] : step.state())
        EXPECT_TRUE(tensor.equal(torch::zeros_like(tensor))) << name;
    }
  }
}

TEST(TrainingStep, AHugeGradientIsClippedAndNotLost) {
  GradientTask task(torch::tensor({1e20f, 1.f, 2.f}));
  TrainingConfig config = plain_sgd(1);
  config.clip_norm = 1;
  const StepOutcome outcome = run(task, config, {LogitsTask::of({0})});
  EXPECT_NEAR(outcome.grad_norm.item<double>() / 1e20, 1, 1e-6);
  EXPECT_EQ(outcome.skipped.item<double>(), 0);
  EXPECT_TRUE(torch::allclose(task.model.logits.detach(), torch::tensor({-1.f, -1e-20f, -2e-20f}),
                              1e-5, 0));
}

TEST(TrainingStep, ClippingKeepsTheDirection) {
  GradientTask task(torch::tensor({3.f, 0.f, 4.f}));
  TrainingConfig config = plain_sgd(1);
  config.clip_norm = 1;
  run(task, config, {LogitsTask::of({0})});
  EXPECT_TRUE(
      torch::allclose(task.model.logits.detach(), torch::tensor({-.6f, 0.f, -.8f}), 1e-6, 0));
  config.clip_norm = 6;
  GradientTask small(torch::tensor({3.f, 0.f, 4.f}));
  run(small, config, {LogitsTask::of({0})});
  EXPECT_TRUE(
      torch::allclose(small.model.logits.detach(), torch::tensor({-3.f, 0.f, -4.f}), 1e-6, 0));
}

// What a watch sees: the batches, then gradients as they are, then what the update was made from.
TEST(TrainingStep, LetsAWatchLookIntoIt) {
  struct Watch : StepWatch {
    void begin(int64_t step, std::span<const Batch> window) override {
      said += cat("begin ", step, " ", window.size(), "; ");
    }
    void before_update(const StepView& view) override {
      said += cat("before ", view.outcome.grad_norm.item<double>(), " ",
                  view.parameters[0].second.grad()[2].item<double>(), " ",
                  view.parameters[0].second[2].item<double>(), "; ");
    }
    void after_update(const StepView& view) override {
      said += cat("after ", view.parameters[0].first, " ",
                  view.parameters[0].second.grad().norm().item<double>(), " ",
                  view.parameters[0].second.norm().item<double>(), "; ");
    }
    std::string said;
  } watch;
  for (const OptimizerConfig& optimizer :
       {OptimizerConfig(SgdConfig{.momentum = 0}), OptimizerConfig(AdamWConfig{}),
        OptimizerConfig(AdamConfig{})}) {
    GradientTask task(torch::tensor({0.f, 0.f, 4.f}));
    TrainingConfig config = plain_sgd(1);
    config.optimizer = optimizer;
    config.clip_norm = 1;
    TrainingStep step(task, config, Schedule(config.schedule, 1, 0, 1), torch::kCPU);
    const std::vector<Batch> window = {LogitsTask::of({0}), LogitsTask::of({kNoTarget})};
    step.set_watch(&watch);
    watch.said = "";
    EXPECT_GE(step.run(window, 5).watch_seconds, 0);
    EXPECT_EQ(watch.said, "begin 5 2; before 4 4 0; after logits 1 1; ");
  }
}

// Polyak averaging: mean' = d mean + (1 - d) weights.
TEST(TrainingStep, KeepsARunningMeanOfTheWeights) {
  GradientTask task(torch::tensor({1.f, 0.f, 0.f}));
  TrainingConfig config = plain_sgd(1);
  config.ema = 0.75;
  TrainingStep step(task, config, Schedule(config.schedule, 1, 0, 1), torch::kCPU);
  const std::vector<Batch> window = {LogitsTask::of({0})};
  step.run(window, 1);  // weight -1, mean -.25
  step.run(window, 2);  // weight -2, mean -.6875
  step.swap_mean_weights();
  EXPECT_FLOAT_EQ(task.model.logits[0].item<float>(), -.6875f);
  step.swap_mean_weights();
  EXPECT_FLOAT_EQ(task.model.logits[0].item<float>(), -2);
}

TEST(Precision, AutomaticIsFp32OnTheCpuAndFp16IsRefusedThere) {
  EXPECT_EQ(resolve_precision(Precision::automatic, torch::kCPU), Precision::fp32);
  EXPECT_EQ(message_of<ConfigError>([] { resolve_precision(Precision::fp16, torch::kCPU); }),
            "training.precision: fp16 is for CUDA, found the CPU; use bf16, fp32 or auto");
}

TEST(Autocast, CastsMatrixProductsWhileItLives) {
  const Tensor a = torch::ones({2, 2});
  {
    const Autocast autocast(Precision::bf16, torch::kCPU);
    EXPECT_EQ(torch::mm(a, a).dtype(), torch::kBFloat16);
  }
  EXPECT_EQ(torch::mm(a, a).dtype(), torch::kFloat32);
}

}  // namespace
}  // namespace zoo
