// Mode `time`: gradients by distance, and what bounds, fixes or flattens them.

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/gradnorm_modes.h"
#include "analysis/mean_field.h"
#include "analysis/median.h"
#include "analysis/power_fit.h"
#include "core/text.h"
#include "nn/recurrent.h"

namespace zoo {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The factor a step that theory gives r_k of one observed state; NaN: theory has none.
double theory_rate(const ProbeShape& shape, const GradnormOptions& options,
                   const std::string& observed) {
  // Weights uniform in +- 1/sqrt(d) have the variance 1 / (3 d).
  const bool standard = options.init == ProbeInit::standard;
  const double weight = standard ? 1 / std::sqrt(3) : options.rho;
  switch (shape.model) {
    case ProbeModel::linear:
      return weight;
    case ProbeModel::rnn: {
      const double input =
          standard ? static_cast<double>(shape.input + 2) / static_cast<double>(3 * shape.hidden)
                   : 0.25;
      return std::sqrt(mean_field_tanh(weight, input).chi);
    }
    case ProbeModel::lstm:  // what flows through h adds to it
      return observed == "c" ? sigmoid(options.forget_bias.value_or(0)) : kNone;
    case ProbeModel::gru:
      return sigmoid(0);
    case ProbeModel::rnn_attn:
    case ProbeModel::transformer:
      return kNone;
  }
  return kNone;
}

std::vector<double> newest_first(std::vector<double> norms) {
  std::reverse(norms.begin(), norms.end());
  return norms;
}

// Where the rate is read: k of 10 and 60 for T of 100.
std::pair<size_t, size_t> rate_range(size_t steps) {
  return {std::max<size_t>(1, steps / 10), steps * 6 / 10};
}

// The mean over seeds of ln r_k.
std::vector<double> mean_log(const std::vector<const GradnormCurve*>& curves) {
  std::vector<double> mean(curves.front()->g.size());
  for (const GradnormCurve* curve : curves) {
    const std::vector<double> r = curve->r();
    for (size_t k = 0; k < mean.size(); ++k)
      mean[k] += std::log(r[k]) / static_cast<double>(curves.size());
  }
  return mean;
}

double rate_of(const std::vector<double>& logs) {
  const auto [first, last] = rate_range(logs.size());
  return std::exp((logs[last] - logs[first]) / static_cast<double>(last - first));
}

GradnormFit fit_of(const std::vector<const GradnormCurve*>& curves) {
  GradnormFit fit{.model = curves.front()->model, .observed = curves.front()->observed};
  const std::vector<double> logs = mean_log(curves);
  fit.rate = rate_of(logs);
  fit.horizon = fit.rate < 1 ? std::log(0.01) / std::log(fit.rate) : kInfinity;
  const auto [first, last] = rate_range(logs.size());
  std::vector<double> x, y;
  for (size_t k = first; k <= last; ++k) {
    x.push_back(static_cast<double>(k));
    y.push_back(logs[k]);
  }
  const Fit line = fit_line(x, y);
  fit.slope = line.slope, fit.low = line.low, fit.high = line.high;
  return fit;
}

// The curve of "h" (or "x0") of one drawn network.
GradnormCurve curve_of(Probe& probe, int64_t batch, int64_t T, bool float32 = false) {
  const Tensor x = probe_inputs(batch, T, probe.shape().input, float32);
  const ProbeTrace trace = probe.forward(x, /*every_place=*/false);
  GradnormCurve curve;
  curve.g =
      newest_first(gradient_norms(probe_loss(trace.output, ProbeLoss::probe), trace.observed[0]));
  return curve;
}

// The mean rate over seeds of networks drawn in one way, and then changed.
double mean_rate(const ProbeShape& shape, const ProbeDraw& how, const GradnormOptions& options,
                 const std::function<void(Probe&)>& change = {}) {
  std::vector<GradnormCurve> curves;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Probe probe = drawn_probe(shape, how, options.seed + seed);
    if (change) change(probe);
    curves.push_back(curve_of(probe, 16, 100));
  }
  std::vector<const GradnormCurve*> all;
  for (const GradnormCurve& curve : curves) all.push_back(&curve);
  return rate_of(mean_log(all));
}

// The largest relative error of r_k against rate^k.
double error_of(const GradnormCurve& curve, double rate) {
  double worst = 0;
  const std::vector<double> r = curve.r();
  for (size_t k = 0; k < r.size(); ++k)
    worst = std::max(worst, std::abs(r[k] / std::pow(rate, static_cast<double>(k)) - 1));
  return worst;
}

// ---- The checks, by their numbers in docs/gradnorm.md.

void check_linear(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  for (const bool float32 : {false, true}) {
    double worst = 0;
    for (const double rho : {0.9, 1.0, 1.1}) {
      Probe probe = drawn_probe({.model = ProbeModel::linear}, {ProbeInit::orth, rho, {}},
                                options.seed, float32);
      worst = std::max(worst, error_of(curve_of(probe, 16, 100, float32), rho));
    }
    checks.push_back({"G1",
                      cat("linear RNN, W = rho Q: r_k = rho^k for rho 0.9, 1, 1.1 and T 100 (",
                          float32 ? "float32" : "float64", ", relative error)"),
                      worst, 0, float32 ? 1e-4 : 1e-12});
  }
}

// Pascanu et al. 2013, section 2.1: no step can stretch a gradient by more than ||W|| max |phi'|.
void check_bound(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  double violations = 0, compared = 0;
  for (const auto& [init, rho] : {std::pair{ProbeInit::orth, 1.1},
                                  {ProbeInit::gauss, 2.0},
                                  {ProbeInit::gauss, 0.9},
                                  {ProbeInit::standard, 1.0}}) {
    Probe probe = drawn_probe({.model = ProbeModel::rnn}, {init, rho, {}}, options.seed);
    const Tensor x = probe_inputs(16, 100, 64, /*float32=*/false);
    const ProbeTrace trace = probe.forward(x, /*every_place=*/false);
    const std::vector<Tensor>& h = trace.observed[0].steps;
    const auto gradients = torch::autograd::grad({probe_loss(trace.output, ProbeLoss::probe)}, h,
                                                 {}, /*retain_graph=*/true);
    const torch::NoGradGuard no_grad;
    const double norm = torch::linalg_matrix_norm(probe.weight_hh, 2).item<double>();
    Tensor bound = gradients.back().norm(2, 1);  // (B)
    double product = 1;
    for (size_t t = h.size() - 1; t-- > 0;) {
      bound = bound * norm * (1 - h[t + 1].square()).amax(1);
      product *= norm;
      const Tensor found = gradients[t].norm(2, 1);
      // The bound's own rounding, of some 300 products, is left to it.
      violations += (found > bound * (1 + 1e-12)).sum().item<double>();
      violations +=
          (bound > gradients.back().norm(2, 1) * product * (1 + 1e-12)).sum().item<double>();
      compared += static_cast<double>(found.numel());
    }
  }
  checks.push_back({"G3",
                    cat("tanh RNN: ||dL/dh_t|| <= ||dL/dh_T|| prod ||W|| max(1 - h^2) <= ... "
                        "||W||^k (violations in ",
                        compared, " places)"),
                    violations, 0, 0});
}

void check_mean_field(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  for (const auto& [width, tolerance] : {std::pair{int64_t{256}, 0.03}, {int64_t{64}, 0.06}}) {
    for (const double weight : {0.5, 0.9, 1.0, 1.5, 2.0}) {
      const double theory = std::sqrt(mean_field_tanh(weight, 0.25).chi);
      const double found = mean_rate({.model = ProbeModel::rnn, .input = width, .hidden = width},
                                     {ProbeInit::gauss, weight, {}}, options);
      checks.push_back({"G4",
                        cat("tanh RNN, W of N(0, ", weight, "^2 / d), d ", width, ": rate ",
                            fixed(theory, 4), " by mean field"),
                        found, theory * (1 - tolerance), theory * (1 + tolerance)});
    }
  }
}

void check_gates(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  constexpr int64_t kWidth = 16, kSteps = 100;
  // All weights and biases 0, but for the bias of the gate that keeps the state: the second third
  // or quarter of the rows.
  const auto only_bias = [&](ProbeModel model, double bias) {
    Probe probe = drawn_probe({.model = model, .input = kWidth, .hidden = kWidth},
                              {ProbeInit::standard, 1, {}}, options.seed);
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : probe.parameters()) parameter.zero_();
    probe.bias_ih.narrow(0, kWidth, kWidth).fill_(bias);
    return probe;
  };
  double lstm = 0, gru = 0;
  for (const double bias : {0.0, 1.0, 3.0}) {
    Probe keeps = only_bias(ProbeModel::lstm, bias);
    const ProbeTrace trace =
        keeps.forward(probe_inputs(4, kSteps, kWidth, false), /*every_place=*/false);
    const Observed& c = trace.observed[1];
    GradnormCurve curve;
    curve.g =
        newest_first(gradient_norms(probe_loss(c.steps.back().unsqueeze(1), ProbeLoss::probe), c));
    lstm = std::max(lstm, error_of(curve, sigmoid(bias)));
    Probe updates = only_bias(ProbeModel::gru, bias);
    gru = std::max(gru, error_of(curve_of(updates, 4, kSteps), sigmoid(bias)));
  }
  checks.push_back({"G5",
                    "LSTM without weights: dc_T/dc_t = sigmoid(b_f)^k for b_f 0, 1, 3 (relative "
                    "error)",
                    lstm, 0, 1e-12});
  checks.push_back({"G6",
                    "GRU without weights: dh_T/dh_t = sigmoid(b_z)^k for b_z 0, 1, 3 (relative "
                    "error)",
                    gru, 0, 1e-12});
}

void check_forget_bias(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  double previous = 0, biased = 0;
  for (const double bias : {0.0, 1.0, 3.0}) {
    const double rate =
        mean_rate({.model = ProbeModel::lstm}, {ProbeInit::standard, 1, bias}, options);
    checks.push_back({"G5b",
                      cat("LSTM, torch's init, forget bias ", bias,
                          bias == 0 ? ": rate" : ": a larger rate than with the one before"),
                      rate, previous, kInfinity});
    previous = rate;
    if (bias == 1) biased = rate;
  }
  // Tallec & Ollivier 2018, "Can recurrent neural networks warp time?", section 2: memories of all
  // lengths up to that of the sequence.
  const double chrono = mean_rate(
      {.model = ProbeModel::lstm}, {ProbeInit::standard, 1, 0.0}, options, [](Probe& probe) {
        const torch::NoGradGuard no_grad;
        const int64_t width = probe.shape().hidden;
        const Tensor bias = (1 + 98 * torch::rand({width}, torch::kFloat64)).log();  // T of 100
        probe.bias_ih.narrow(0, width, width).copy_(bias);
        probe.bias_ih.narrow(0, 0, width).copy_(-bias);
      });
  checks.push_back({"G5b",
                    "LSTM, torch's init, forget biases log U(1, T - 1): a larger rate than with 1",
                    chrono, biased, kInfinity});
}

void check_attention(const GradnormOptions& options, GradnormResult& result) {
  std::vector<TheoryCheck>& checks = result.checks;
  const std::vector<double> lengths{10, 20, 40, 70, 100};
  for (const ProbeModel model : {ProbeModel::rnn_attn, ProbeModel::rnn}) {
    std::vector<double> oldest;  // ||dL/dh_1|| for each T
    for (const double T : lengths) {
      double sum = 0;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        Probe probe =
            drawn_probe({.model = model}, {ProbeInit::orth, 0.9, {}}, options.seed + seed);
        sum += std::log(curve_of(probe, 16, static_cast<int64_t>(T)).g.back());
      }
      oldest.push_back(std::exp(sum / 5));
      result.lengths.push_back(
          {std::string(enum_name(model)), static_cast<int64_t>(T), oldest.back()});
    }
    if (model == ProbeModel::rnn_attn) {
      checks.push_back({"G7",
                        "RNN with Bahdanau's attention, W = 0.9 Q: ||dL/dh_1|| ~ 1/T (slope in "
                        "log-log, T 10 to 100)",
                        fit_power(lengths, oldest).slope, -1.3, -0.7});
      continue;
    }
    // Without attention the logarithm is straight in T: its residuals are small beside its fall.
    std::vector<double> logs;
    for (const double value : oldest) logs.push_back(std::log(value));
    const Fit line = fit_line(lengths, logs);
    double total = 0, rest = 0;
    for (size_t i = 0; i < logs.size(); ++i) {
      total += std::pow(logs[i] - mean_of(logs), 2);
      rest += std::pow(logs[i] - line.intercept - line.slope * lengths[i], 2);
    }
    checks.push_back({"G7", "the same without attention: ln ||dL/dh_1|| is linear in T (R^2)",
                      1 - rest / total, 0.99, 1});
  }
}

// Attention that cannot choose: the mean of the values so far.
void check_uniform_attention(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  constexpr int64_t kWidth = 64, kSteps = 100;
  Probe probe = drawn_probe({.model = ProbeModel::transformer, .input = kWidth, .hidden = kWidth},
                            {}, options.seed);
  auto& attention = probe.blocks->at<BlockImpl>(0).attention;
  const Tensor& qkv = attention->qkv->weight;
  {
    const torch::NoGradGuard no_grad;
    qkv.narrow(0, 0, 2 * kWidth).zero_();
  }
  Tensor x = probe_inputs(4, kSteps, kWidth, false).requires_grad_();
  const Tensor v = torch::randn({kWidth}, torch::kFloat64);
  const Tensor y = x + attention->forward(x, probe.scope(x), 0);
  const Tensor loss = y.select(1, kSteps - 1).matmul(v).sum();
  const Tensor found = torch::autograd::grad({loss}, {x})[0];  // (B, T, D)
  const torch::NoGradGuard no_grad;
  const Tensor spread =
      attention->out->weight.matmul(qkv.narrow(0, 2 * kWidth, kWidth)).t().matmul(v) / kSteps;
  Tensor expected = spread.expand({4, kSteps, kWidth}).clone();
  expected.select(1, kSteps - 1) += v;
  checks.push_back({"G8a",
                    "attention with W_Q = W_K = 0: dL/dx_t = (W_O W_V)^T v / T for each t < T "
                    "(largest error)",
                    (found - expected).abs().max().item<double>(), 0, 1e-12});
}

void check_transformer(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  for (const int64_t layers : {1, 2, 4, 8}) {
    std::vector<double> scaled, slopes, first;  // of T 100, then T 400
    for (const int64_t T : {100, 400}) {
      std::vector<double> medians, slope, ratio;
      for (uint64_t seed = 0; seed < 5; ++seed) {
        Probe probe =
            drawn_probe({.model = ProbeModel::transformer, .hidden = 256, .layers = layers}, {},
                        options.seed + seed);
        std::vector<double> g = curve_of(probe, T == 100 ? 16 : 4, T).g;
        g.erase(g.begin());  // places before T
        std::vector<double> k, logs;
        for (size_t i = 0; i < g.size(); ++i) {
          k.push_back(static_cast<double>(i + 1));
          logs.push_back(std::log(g[i]));
        }
        medians.push_back(median(g));
        slope.push_back(fit_line(k, logs).slope);
        ratio.push_back(g.back() / median(g));
      }
      scaled.push_back(static_cast<double>(T) * mean_of(medians));
      slopes.push_back(mean_of(slope));
      first.push_back(mean_of(ratio));
    }
    const std::string name = cat("causal Transformer, pre-norm, ", layers, " layers: ");
    checks.push_back({"G8b", name + "T times the median of g_t, of T 400 against T 100",
                      scaled[1] / scaled[0], 0.7, 1.3});
    checks.push_back({"G8b", name + "slope of ln g over k, the lesser of both",
                      std::min(slopes[0], slopes[1]), -0.005, kInfinity});
    checks.push_back({"G8b", name + "the first token's gradient over the median, the lesser",
                      std::min(first[0], first[1]), 0.8, kInfinity});
  }
}

// The curves of one model, all seeds of a state side by side.
std::vector<GradnormCurve> curves_of(const GradnormOptions& options, const ProbeShape& shape,
                                     ProbeLoss loss) {
  std::vector<std::vector<GradnormCurve>> states;
  for (int64_t seed = 0; seed < options.seeds; ++seed) {
    const uint64_t own = options.seed + static_cast<uint64_t>(seed);
    Probe probe =
        drawn_probe(shape, {options.init, options.rho, options.forget_bias}, own, options.float32);
    const Tensor x = probe_inputs(options.batch, options.T, shape.input, options.float32);
    const ProbeTrace trace = probe.forward(x, loss == ProbeLoss::mean_ce);
    const Tensor scalar = probe_loss(trace.output, loss);
    states.resize(trace.observed.size());
    for (size_t i = 0; i < states.size(); ++i) {
      const Observed& observed = trace.observed[i];
      GradnormCurve curve{
          .model = std::string(enum_name(shape.model)), .observed = observed.name, .seed = own};
      curve.g = newest_first(gradient_norms(scalar, observed));
      const double rate = theory_rate(shape, options, observed.name);
      for (size_t k = 0; k < curve.g.size(); ++k)
        curve.theory.push_back(std::pow(rate, static_cast<double>(k)));
      curve.exact = shape.model == ProbeModel::linear && options.init == ProbeInit::orth;
      states[i].push_back(std::move(curve));
    }
  }
  std::vector<GradnormCurve> all;
  for (std::vector<GradnormCurve>& state : states)
    std::move(state.begin(), state.end(), std::back_inserter(all));
  return all;
}

}  // namespace

void gradnorm_time(const GradnormOptions& options, GradnormResult& result) {
  const auto seeds = static_cast<size_t>(options.seeds);
  const auto state_of = [&](const std::vector<GradnormCurve>& curves, size_t first) {
    std::vector<const GradnormCurve*> state;
    for (size_t i = first; i < first + seeds; ++i) state.push_back(&curves[i]);
    return state;
  };
  for (const ProbeModel model : options.models) {
    if (options.on_start) options.on_start(std::string(enum_name(model)));
    const ProbeShape shape = probe_shape(options, model);
    std::vector<GradnormCurve> curves = curves_of(options, shape, options.loss);
    const std::vector<GradnormCurve> mean = curves_of(options, shape, ProbeLoss::mean_ce);
    for (size_t first = 0; first < curves.size(); first += seeds) {
      // What a Transformer's last layer says of one place depends on no other place of its output.
      if (options.loss != ProbeLoss::mean_ce && curves[first].g[1] == 0) continue;
      GradnormFit fit = fit_of(state_of(curves, first));
      fit.theory_rate = theory_rate(shape, options, fit.observed);
      fit.mean_ce_rate = rate_of(mean_log(state_of(mean, first)));
      result.fits.push_back(std::move(fit));
    }
    std::move(curves.begin(), curves.end(), std::back_inserter(result.curves));
  }
  if (!options.checks) return;
  if (options.on_start) options.on_start("checks");
  check_linear(options, result.checks);
  check_bound(options, result.checks);
  check_mean_field(options, result.checks);
  check_gates(options, result.checks);
  check_forget_bias(options, result.checks);
  check_attention(options, result);
  check_uniform_attention(options, result.checks);
  check_transformer(options, result.checks);
}

}  // namespace zoo
