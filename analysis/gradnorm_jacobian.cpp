// Mode `jacobian`: how far a step in the state of long ago moves that of today, in all directions.

#include <cmath>
#include <limits>

#include "analysis/gradnorm_modes.h"

namespace zoo {
namespace {

JacobianRow row_of(const std::string& model, uint64_t seed, int64_t k, const Tensor& jacobian) {
  const Tensor sigma = torch::linalg_svdvals(jacobian.to(torch::kFloat64));
  const Tensor shares = sigma / sigma.sum();
  JacobianRow row{.model = model, .seed = seed, .k = k};
  row.sigma_max = sigma[0].item<double>();
  row.sigma_min = sigma[-1].item<double>();
  row.rank_eff = std::exp(-torch::xlogy(shares, shares).sum().item<double>());
  row.lyapunov = k == 0 ? 0 : std::log(row.sigma_max) / static_cast<double>(k);
  return row;
}

// Distances from 0 to `last`, every one at first and then ever fewer.
std::vector<int64_t> distances(int64_t last) {
  std::vector<int64_t> all;
  for (int64_t k = 0; k <= last; k += std::max<int64_t>(1, k / 8)) all.push_back(k);
  return all;
}

// W = V Lambda V^-1 with eigenvalues that are known.
void check_eigenvalues(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  constexpr int64_t kWidth = 8, kSteps = 91;
  Probe probe = drawn_probe({.model = ProbeModel::linear, .input = kWidth, .hidden = kWidth},
                            {ProbeInit::orth, 1, {}}, options.seed);
  const Tensor eigenvalues = torch::linspace(0.5, 0.95, kWidth, torch::kFloat64);
  // Vectors that are far from parallel keep V's inverse exact.
  const Tensor v =
      torch::eye(kWidth, torch::kFloat64) + 0.2 * torch::randn({kWidth, kWidth}, torch::kFloat64);
  const Tensor inverse = torch::linalg_inv(v);
  {
    const torch::NoGradGuard no_grad;
    probe.weight_hh.copy_(v.matmul(eigenvalues.diag()).matmul(inverse));
  }
  const std::vector<Tensor> found =
      state_jacobians(probe, probe_inputs(1, kSteps, kWidth, false)[0]);
  double worst = 0;
  for (int64_t k = 0; k < kSteps; ++k) {
    const Tensor expected = v.matmul(eigenvalues.pow(k).diag()).matmul(inverse);
    worst = std::max(worst, (found[static_cast<size_t>(k)] - expected).norm().item<double>() /
                                expected.norm().item<double>());
  }
  checks.push_back(
      {"G2", "linear RNN: dh_T/dh_t = V Lambda^k V^-1 (relative error, k to 90)", worst, 0, 1e-10});
  const double rate = std::exp(
      (std::log(found[90].norm().item<double>()) - std::log(found[50].norm().item<double>())) / 40);
  checks.push_back({"G2", "linear RNN: the rate tends to the spectral radius, 0.95 (k 50 to 90)",
                    rate, 0.95 * 0.99, 0.95 * 1.01});
}

// The largest singular value by power iteration with products of the Jacobian and its transpose
// alone, which no one has to write down: v -> J v by differentiating u -> J^T u.
double power_iteration(Probe& probe, const Tensor& x, int64_t k) {
  const ProbeTrace trace = probe.forward(x.unsqueeze(0), /*every_place=*/false);
  const std::vector<Tensor>& states = trace.observed[0].steps;  // T of (1, D)
  const Tensor& from = states[states.size() - 1 - static_cast<size_t>(k)];
  const Tensor& to = states.back();
  const Tensor u = torch::zeros_like(to).requires_grad_();
  const Tensor product =  // J^T u
      torch::autograd::grad({to}, {from}, {u}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  Tensor v = torch::randn_like(from).detach();
  double sigma = 0;
  for (int step = 0; step < 5000; ++step) {
    v = v / v.norm();
    const Tensor moved = torch::autograd::grad({product}, {u}, {v}, /*retain_graph=*/true)[0];
    const double previous = sigma;
    sigma = moved.norm().item<double>();
    if (std::abs(sigma - previous) <= 1e-13 * sigma) break;
    v = torch::autograd::grad({to}, {from}, {moved}, /*retain_graph=*/true)[0];
  }
  return sigma;
}

void check_power_iteration(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  double worst = 0;
  for (const double weight : {0.9, 1.5}) {
    Probe probe =
        drawn_probe({.model = ProbeModel::rnn}, {ProbeInit::gauss, weight, {}}, options.seed);
    const Tensor x = probe_inputs(1, 60, 64, false)[0];
    const std::vector<Tensor> full = state_jacobians(probe, x);
    for (const int64_t k : {5, 20, 50}) {
      const double sigma = torch::linalg_svdvals(full[static_cast<size_t>(k)])[0].item<double>();
      worst = std::max(worst, std::abs(power_iteration(probe, x, k) / sigma - 1));
    }
  }
  checks.push_back({"G11",
                    "tanh RNN: power iteration by products with J and J^T finds the largest "
                    "singular value of the full Jacobian (relative error)",
                    worst, 0, 1e-6});

  double rho_error = 0;
  for (const double rho : {0.9, 1.0, 1.1}) {
    Probe probe =
        drawn_probe({.model = ProbeModel::linear}, {ProbeInit::orth, rho, {}}, options.seed);
    const std::vector<Tensor> full = state_jacobians(probe, probe_inputs(1, 100, 64, false)[0]);
    for (const int64_t k : {1, 10, 99}) {
      const Tensor sigma = torch::linalg_svdvals(full[static_cast<size_t>(k)]);
      rho_error =
          std::max(rho_error,
                   (sigma / std::pow(rho, static_cast<double>(k)) - 1).abs().max().item<double>());
    }
  }
  checks.push_back({"G11", "linear RNN, W = rho Q: every singular value is rho^k (relative error)",
                    rho_error, 0, 1e-6});
}

}  // namespace

void gradnorm_jacobian(const GradnormOptions& options, GradnormResult& result) {
  for (const ProbeModel model : options.models) {
    const ProbeShape shape = probe_shape(options, model);
    const std::string name(enum_name(model));
    if (options.on_start) options.on_start(name);
    for (int64_t seed = 0; seed < options.seeds; ++seed) {
      const uint64_t own = options.seed + static_cast<uint64_t>(seed);
      Probe probe = drawn_probe(shape, {options.init, options.rho, options.forget_bias}, own,
                                options.float32);
      const Tensor x = probe_inputs(1, options.T, shape.input, options.float32)[0];
      const std::vector<Tensor> jacobians = state_jacobians(probe, x);
      for (const int64_t k : distances(options.T - 1))
        result.jacobian.push_back(row_of(name, own, k, jacobians[static_cast<size_t>(k)]));
    }
  }
  if (!options.checks) return;
  if (options.on_start) options.on_start("checks");
  check_eigenvalues(options, result.checks);
  check_power_iteration(options, result.checks);
}

}  // namespace zoo
