#pragma once
// What benchmarks by length measure, how it grows, and its tables and charts. No torch in this
// header: analysis/bench_sweeps.h measures.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/power_fit.h"
#include "core/json.h"

namespace zoo {

/// One case at one length.
struct BenchPoint {
  std::string series;  ///< what was measured: "fused"
  std::string pass;    ///< "forward", "forward and backward"
  int64_t tokens = 0;  ///< the length
  double seconds = 0;  ///< of one call, the median of several
  double fastest = 0, slowest = 0;
  double bytes = 0;  ///< the most that a call held at once beside its inputs
  double flops = 0;  ///< of the matrix products, by their closed form
  /// Of layers (Vaswani et al. 2017, table 1): the longest way between two places, in layers or
  /// steps; and how many products must wait for each other. 0 elsewhere.
  int64_t path_length = 0, sequential_steps = 0;
};

/// How one quantity grows with the length: the exponent of a power law.
struct BenchFit {
  std::string series, pass;
  std::string quantity;  ///< "seconds", "bytes" or "flops"; the last is the theory of the first
  Fit fit;
};

/// Where two series take the same time.
struct BenchCrossing {
  std::string first, second, pass;
  double predicted = 0;            ///< where their FLOPs are the same
  std::optional<double> measured;  ///< tokens; nothing: at no measured length
};

struct BenchResult {
  std::string mode;  ///< "attention"
  Json setting;      ///< sizes, threads, device
  std::vector<BenchPoint> points;
  std::vector<BenchFit> fits;
  std::vector<BenchCrossing> crossings;
  /// Other numbers, by name.
  std::vector<std::pair<std::string, double>> facts;
};

/// How many of the longest lengths a fit is through: short calls cost what a call costs.
constexpr size_t kFittedLengths = 4;

/// Exponents of seconds (the fastest, since whatever else the machine does only adds to a time),
/// bytes and FLOPs of each series and pass, through the longest lengths.
/// Those with less than two lengths have none, and what is 0 somewhere has none.
std::vector<BenchFit> fit_points(const std::vector<BenchPoint>& points);

/// Where two series of one pass take the same time, by their fastest. @param predicted where by
/// their FLOPs
/// @throws ConfigError if a series was not measured
BenchCrossing find_crossing(const std::vector<BenchPoint>& points, const std::string& first,
                            const std::string& second, const std::string& pass, double predicted);

/// Everything; what is not finite is null.
Json to_json(const BenchResult& result);

/// A header and a line a point.
std::string to_csv(const BenchResult& result);

/// The fastest seconds over tokens on logarithmic axes, a line for each series and pass, as SVG.
std::string to_svg(const BenchResult& result);

}  // namespace zoo
