// Gradients by distance against finite differences, and the checks of each mode.
#include "analysis/gradnorm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/gradnorm_modes.h"
#include "analysis/mean_field.h"
#include "nn/recurrent.h"

namespace zoo {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Golden: Gauss-Hermite integration with 180 nodes of numpy 2's hermgauss, float64.
TEST(MeanField, IsThatOfGaussHermite) {
  const std::pair<double, double> golden[] = {{0.5, 0.4142237972},
                                              {0.9, 0.7014928265},
                                              {1.0, 0.7615010750},
                                              {1.5, 0.9834107989},
                                              {2.0, 1.1279315217}};
  for (const auto& [weight, rate] : golden)
    EXPECT_NEAR(std::sqrt(mean_field_tanh(weight, 0.25).chi), rate, 2e-8) << weight;
  EXPECT_EQ(mean_field_tanh(0, 0.25).q, 0.25);
}

// dL/dh_t by central differences: the state at t is moved, and the rest of the steps taken anew.
class Rerun {
 public:
  explicit Rerun(const Probe& probe) : probe_(probe) {}

  // The outputs' probe v . h_T, from the state `h` behind step `from`. x (B, T, I), h (B, D)
  double loss(const Tensor& x, int64_t from, Tensor h, const Tensor& v) const {
    for (int64_t t = from + 1; t < x.size(1); ++t) {
      const Tensor in = x.select(1, t).matmul(probe_.weight_ih.t()) + probe_.bias_ih;
      const Tensor rest = h.matmul(probe_.weight_hh.t()) + probe_.bias_hh;
      if (probe_.shape().model == ProbeModel::rnn) {
        h = (in + rest).tanh();
      } else {
        const auto i = in.chunk(3, 1), r = rest.chunk(3, 1);
        const Tensor reset = (i[0] + r[0]).sigmoid(), update = (i[1] + r[1]).sigmoid();
        h = (1 - update) * (i[2] + reset * r[2]).tanh() + update * h;
      }
    }
    return h.matmul(v).sum().item<double>();
  }

 private:
  const Probe& probe_;
};

TEST(Gradnorm, RecurrentCurvesAreThoseOfFiniteDifferences) {
  for (const ProbeModel model : {ProbeModel::rnn, ProbeModel::gru}) {
    Probe probe =
        drawn_probe({.model = model, .input = 4, .hidden = 4}, {ProbeInit::standard, 1, {}}, 3);
    const Tensor x = probe_inputs(2, 8, 4, false);
    const ProbeTrace trace = probe.forward(x, false);
    torch::manual_seed(11);
    const std::vector<double> found =
        gradient_norms(probe_loss(trace.output, ProbeLoss::probe), trace.observed[0]);
    torch::manual_seed(11);
    const Tensor v = torch::randn({4}, torch::kFloat64);

    const torch::NoGradGuard no_grad;
    const Rerun rerun(probe);
    constexpr double kStep = 1e-5;
    for (int64_t t = 0; t < 8; ++t) {
      const Tensor& h = trace.observed[0].steps[static_cast<size_t>(t)];
      double squares = 0;
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t d = 0; d < 4; ++d) {
          Tensor up = h.clone(), down = h.clone();
          up[b][d] += kStep, down[b][d] -= kStep;
          squares +=
              std::pow((rerun.loss(x, t, up, v) - rerun.loss(x, t, down, v)) / (2 * kStep), 2);
        }
      }
      EXPECT_NEAR(found[static_cast<size_t>(t)], std::sqrt(squares / 2), 1e-6)
          << enum_name(model) << " t " << t;
    }
  }
}

TEST(Gradnorm, TransformerCurveIsThatOfFiniteDifferences) {
  Probe probe = drawn_probe(
      {.model = ProbeModel::transformer, .input = 4, .hidden = 8, .layers = 2, .positions = false},
      {}, 3);
  const Tensor x = probe_inputs(2, 8, 4, false);
  const ProbeTrace trace = probe.forward(x, false);
  torch::manual_seed(11);
  const std::vector<double> found =
      gradient_norms(probe_loss(trace.output, ProbeLoss::probe), trace.observed[0]);
  const auto loss = [&](const Tensor& in) {
    torch::manual_seed(11);
    return probe_loss(probe.forward(in, false).output, ProbeLoss::probe).item<double>();
  };
  const torch::NoGradGuard no_grad;
  constexpr double kStep = 1e-5;
  for (int64_t t = 0; t < 8; ++t) {
    double squares = 0;
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t d = 0; d < 4; ++d) {
        Tensor up = x.clone(), down = x.clone();
        up[b][t][d] += kStep, down[b][t][d] -= kStep;
        squares += std::pow((loss(up) - loss(down)) / (2 * kStep), 2);
      }
    }
    EXPECT_NEAR(found[static_cast<size_t>(t)], std::sqrt(squares / 2), 1e-6) << t;
  }
}

TEST(Gradnorm, ProbesLstmIsTheLibrarysCell) {
  Probe probe = drawn_probe({.model = ProbeModel::lstm, .input = 5, .hidden = 6},
                            {ProbeInit::standard, 1, 1.0}, 7);
  const Tensor x = probe_inputs(3, 4, 5, false);
  const ProbeTrace trace = probe.forward(x, false);
  Tensor h = torch::zeros({3, 6}, torch::kFloat64), c = h.clone();
  for (int64_t t = 0; t < 4; ++t)
    h = recurrent_cell(RecurrentCell::lstm,
                       x.select(1, t).matmul(probe.weight_ih.t()) + probe.bias_ih,
                       h.matmul(probe.weight_hh.t()) + probe.bias_hh, h, c);
  EXPECT_LT((trace.observed[0].steps.back() - h).abs().max().item<double>(), 1e-14);
  EXPECT_LT((trace.observed[1].steps.back() - c).abs().max().item<double>(), 1e-14);
}

// The state is h and c together: with a step of distance 0 nothing has happened.
TEST(Gradnorm, JacobianOfNoStepIsTheIdentity) {
  for (const ProbeModel model :
       {ProbeModel::linear, ProbeModel::rnn, ProbeModel::lstm, ProbeModel::gru}) {
    Probe probe =
        drawn_probe({.model = model, .input = 4, .hidden = 4}, {ProbeInit::standard, 1, {}}, 3);
    const std::vector<Tensor> all = state_jacobians(probe, probe_inputs(1, 12, 4, false)[0]);
    ASSERT_EQ(all.size(), 12U);
    const Tensor one = torch::eye(all[0].size(0), torch::kFloat64);
    EXPECT_TRUE(torch::equal(all[0], one)) << enum_name(model);
    EXPECT_EQ(one.size(0), model == ProbeModel::lstm ? 8 : 4);
  }
}

TEST(Gradnorm, ModelsHaveTheSameNumberOfParameters) {
  const GradnormOptions options;
  double least = 1e18, most = 0;
  for (const ProbeModel model : options.models) {
    const auto count = static_cast<double>(Probe(probe_shape(options, model)).parameter_count());
    least = std::min(least, count), most = std::max(most, count);
  }
  EXPECT_LE(most / least, 1.05);
  GradnormOptions deep;
  deep.layers = 8;
  EXPECT_THROW(gradnorm(GradnormMode::time, deep), ConfigError);
}

TEST(Gradnorm, MeanOfAllLossesHidesWhatVanishes) {
  GradnormOptions options;
  options.models = {ProbeModel::rnn};
  options.d = 16, options.seeds = 1, options.checks = false;
  options.loss = ProbeLoss::last_ce;
  const GradnormResult last = gradnorm(GradnormMode::time, options);
  options.loss = ProbeLoss::mean_ce;
  const GradnormResult mean = gradnorm(GradnormMode::time, options);
  EXPECT_LT(last.curves[0].r()[60], 1e-4);
  EXPECT_GT(mean.curves[0].r()[60], 0.1);
}

TEST(Gradnorm, TheSameSeedGivesTheSameBytes) {
  at::set_num_threads(1);
  GradnormOptions options;
  options.d = 8, options.T = 20, options.seeds = 2, options.checks = false;
  for (const GradnormMode mode : {GradnormMode::time, GradnormMode::jacobian}) {
    const GradnormResult a = gradnorm(mode, options), b = gradnorm(mode, options);
    EXPECT_EQ(to_csv(a), to_csv(b));
    EXPECT_EQ(to_json(a).dump(), to_json(b).dump());
    EXPECT_EQ(charts(a), charts(b));
    options.seed = 2;
    EXPECT_NE(to_csv(a), to_csv(gradnorm(mode, options)));
    options.seed = 1337;
  }
}

TEST(Gradnorm, RefusesWhatDoesNotFit) {
  GradnormOptions options;
  options.d = 6;
  EXPECT_THROW(gradnorm(GradnormMode::depth, options), ConfigError);
  options.models = {};
  EXPECT_THROW(gradnorm(GradnormMode::time, options), ConfigError);
  options.models = {ProbeModel::rnn};
  options.T = 5;
  EXPECT_THROW(gradnorm(GradnormMode::time, options), ConfigError);
  options.depths = {};
  options.d = 8;
  EXPECT_THROW(gradnorm(GradnormMode::depth, options), ConfigError);
}

TEST(Gradnorm, ChecksNameTheirBounds) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ((TheoryCheck{"", "", 0, 0, 1e-12}).bound(), "<= 1e-12");
  EXPECT_EQ((TheoryCheck{"", "", 0, 0.7, 1.3}).bound(), "0.7 .. 1.3");
  EXPECT_EQ((TheoryCheck{"", "", 0, 0.8, infinite}).bound(), ">= 0.8");
  EXPECT_EQ((TheoryCheck{"", "", 0, -infinite, 0.35}).bound(), "<= 0.35");
  EXPECT_EQ((TheoryCheck{"", "", 0, -infinite, infinite}).bound(), "reported");
  EXPECT_FALSE((TheoryCheck{"", "", kNone, 0, 1}).pass()) << "NaN passes nothing";
}

// What docs/gradnorm.md says of the networks as they are drawn.
TEST(GradnormChecks, Time) {
  GradnormOptions options;
  options.models = {ProbeModel::linear};
  options.init = ProbeInit::orth, options.rho = 0.9, options.seeds = 1;
  const GradnormResult result = gradnorm(GradnormMode::time, options);
  EXPECT_LT(result.curves[0].max_relative_error(), 1e-12);
  EXPECT_NEAR(result.fits[0].rate, 0.9, 1e-12);
  EXPECT_NEAR(result.fits[0].horizon, std::log(0.01) / std::log(0.9), 1e-9);
  for (const TheoryCheck& check : result.checks)
    EXPECT_TRUE(check.pass()) << check.id << " " << check.claim << ": " << check.value << ", "
                              << check.bound();
}

TEST(GradnormChecks, Depth) {
  GradnormOptions options;
  options.T = 16, options.d = 128, options.seeds = 2;
  const GradnormResult result = gradnorm(GradnormMode::depth, options);
  for (const TheoryCheck& check : result.checks)
    EXPECT_TRUE(check.pass()) << check.id << " " << check.claim << ": " << check.value << ", "
                              << check.bound();
}

TEST(GradnormChecks, Jacobian) {
  GradnormOptions options;
  options.seeds = 1, options.T = 20;
  const GradnormResult result = gradnorm(GradnormMode::jacobian, options);
  for (const TheoryCheck& check : result.checks)
    EXPECT_TRUE(check.pass()) << check.id << " " << check.claim << ": " << check.value << ", "
                              << check.bound();
}

}  // namespace
}  // namespace zoo
