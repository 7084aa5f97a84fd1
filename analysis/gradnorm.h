#pragma once
// How gradients travel through sequence models, beside what theory says of it: by distance in time,
// by depth, and as Jacobians. Every curve has its theory line, and every theory its check.
//
// Distance k = T - t. g_k is the root of the mean over the batch of ||dL/dh_{T-k}||^2, where h is
// the state of a recurrent network and the input (or a layer's output) of a Transformer; r_k is
// g_k / g_0. rate is the factor a step, exp((ln r_60 - ln r_10) / 50) for T of 100; horizon the
// distance at which 1 % is left, ln 0.01 / ln rate. No torch in this header.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/theory_check.h"
#include "core/fields.h"
#include "core/json.h"
#include "nn/config.h"

namespace zoo {

/// The networks whose gradients are looked at.
enum class ProbeModel { linear, rnn, lstm, gru, rnn_attn, transformer };
template <>
struct EnumNames<ProbeModel> {
  static constexpr std::array values{std::pair{ProbeModel::linear, "linear"},
                                     std::pair{ProbeModel::rnn, "rnn"},
                                     std::pair{ProbeModel::lstm, "lstm"},
                                     std::pair{ProbeModel::gru, "gru"},
                                     std::pair{ProbeModel::rnn_attn, "rnn-attn"},
                                     std::pair{ProbeModel::transformer, "transformer"}};
};

/// How recurrent weights are drawn; a Transformer's are Xavier's always.
enum class ProbeInit {
  orth,      ///< rho times an orthogonal matrix (Saxe et al. 2014)
  gauss,     ///< W_ij of N(0, rho^2 / d), inputs of variance 1/4 (Pascanu et al. 2013; mean field)
  standard,  ///< uniform in +- 1/sqrt(d), biases too: torch's
};
template <>
struct EnumNames<ProbeInit> {
  static constexpr std::array values{std::pair{ProbeInit::orth, "orth"},
                                     std::pair{ProbeInit::gauss, "gauss"},
                                     std::pair{ProbeInit::standard, "default"}};
};

enum class ProbeLoss {
  probe,    ///< v . h_T with v of N(0, I): no output layer mixes in
  last_ce,  ///< cross-entropy of a class drawn at random, at place T
  mean_ce,  ///< the mean of it over all places, which hides what vanishes
};
template <>
struct EnumNames<ProbeLoss> {
  static constexpr std::array values{std::pair{ProbeLoss::probe, "probe"},
                                     std::pair{ProbeLoss::last_ce, "last-ce"},
                                     std::pair{ProbeLoss::mean_ce, "mean-ce"}};
};

enum class GradnormMode { time, depth, jacobian };
template <>
struct EnumNames<GradnormMode> {
  static constexpr std::array values{std::pair{GradnormMode::time, "time"},
                                     std::pair{GradnormMode::depth, "depth"},
                                     std::pair{GradnormMode::jacobian, "jacobian"}};
};

struct GradnormOptions {
  std::vector<ProbeModel> models{ProbeModel::rnn, ProbeModel::lstm, ProbeModel::gru,
                                 ProbeModel::rnn_attn, ProbeModel::transformer};
  int64_t T = 100;  ///< steps, at least 10
  /// Width of inputs, of the LSTM and of the Transformer; the other widths follow, so that all have
  /// the LSTM's number of parameters within 5 %.
  int64_t d = 64;
  int64_t batch = 16, seeds = 5;
  int64_t layers = 1;  ///< of the Transformer
  bool float32 = false;
  ProbeInit init = ProbeInit::gauss;
  double rho = 1;
  std::optional<double> forget_bias;  ///< of the LSTM; unset: as drawn
  std::optional<NormPlacement> norm;  ///< of the Transformer; unset: pre, and both in depth mode
  std::vector<int64_t> depths{2, 4, 6, 8, 12, 24};
  ProbeLoss loss = ProbeLoss::probe;
  uint64_t seed = 1337;
  bool checks = true;  ///< run the checks of the mode beside the curves
  std::function<void(const std::string&)> on_start;  ///< told what begins
};

/// Gradients by distance, of one model and seed.
struct GradnormCurve {
  std::string model, observed;  ///< observed: "h", "c", or "x0" to "xL" of a Transformer
  uint64_t seed = 0;
  std::vector<double> g;       ///< of k = 0 to T - 1
  std::vector<double> theory;  ///< of r_k, NaN where there is none
  bool exact = false;          ///< the theory holds for each network, not just in the mean
  std::vector<double> r() const;
  double max_relative_error() const;  ///< of r against the theory; NaN without
};

/// What a straight line says of the curves of one model, in the mean over seeds.
struct GradnormFit {
  std::string model, observed;
  double rate = 0, horizon = 0;         ///< horizon: infinite where nothing vanishes
  double slope = 0, low = 0, high = 0;  ///< of ln r over k, with its 95 % interval
  double theory_rate = 0;               ///< NaN: none
  double mean_ce_rate = 0;  ///< of the same networks with ProbeLoss::mean_ce, which hides vanishing
};

struct DepthRow {
  NormPlacement norm{};
  int64_t depth = 0, layer = 0;  ///< layer: 1 to depth; 0: the input
  std::string parameter;         ///< "w2", "w1", "qkv", "out"; "x": the vectors behind the layer
  double grad_norm = 0;          ///< Frobenius
  /// Of "x": the mean of ||x||^2 / d, and where theory has it; else NaN.
  double hidden_sq_over_d, low, high;
  uint64_t seed = 0;
};

struct JacobianRow {
  std::string model;
  uint64_t seed = 0;
  int64_t k = 0;
  double sigma_max = 0, sigma_min = 0;  ///< of dh_T/dh_{T-k}
  /// exp of the entropy of the singular values' shares (Roy & Vetterli 2007, section 2).
  double rank_eff = 0;
  double lyapunov = 0;  ///< ln sigma_max / k
};

/// The oldest state's gradient in sequences of one length, the geometric mean over seeds.
struct LengthRow {
  std::string model;
  int64_t T = 0;
  double oldest = 0;  ///< ||dL/dh_1||
};

struct GradnormResult {
  GradnormMode mode{};
  GradnormOptions options;
  std::vector<std::pair<std::string, int64_t>> parameters;  ///< model, count
  std::vector<GradnormCurve> curves;
  std::vector<GradnormFit> fits;
  std::vector<LengthRow> lengths;  ///< of check G7
  std::vector<DepthRow> depth;
  std::vector<JacobianRow> jacobian;
  std::vector<TheoryCheck> checks;
};

/// Runs one mode on the CPU. The same options give the same result with one thread.
/// @throws ConfigError for options that do not fit together
GradnormResult gradnorm(GradnormMode mode, const GradnormOptions& options);

/// {version, mode, seed, dtype, machine, config, parameters, curves, fits, depth, jacobian,
/// checks}.
Json to_json(const GradnormResult& result);

/// The table of the mode, time.csv, depth.csv or jacobian.csv, with a line of names.
std::string to_csv(const GradnormResult& result);

/// File names and contents of the mode's pictures, such as time.svg.
std::vector<std::pair<std::string, std::string>> charts(const GradnormResult& result);

/// Writes gradnorm.json, the table and the pictures into `folder`. @throws DataError
void write_gradnorm(const GradnormResult& result, const std::string& folder);

}  // namespace zoo
