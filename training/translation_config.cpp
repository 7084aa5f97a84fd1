#include "training/translation_config.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace zoo {

namespace {

// `done` are the steps done.
double ratio(const ConstantForcingConfig& c, double) { return c.ratio; }
double ratio(const LinearForcingConfig& c, double done) {
  return std::max(c.minimum, c.start - c.slope * done);
}
double ratio(const ExponentialForcingConfig& c, double done) { return std::pow(c.base, done); }
double ratio(const InverseSigmoidForcingConfig& c, double done) {
  return c.k / (c.k + std::exp(done / c.k));
}

}  // namespace

std::string ParallelTextConfig::check() const {
  if (source.size() == target.size()) return "";
  return cat("source, target: ", source.size(), " and ", target.size(),
             " files; each source file needs the file of its translations");
}

double teacher_forcing_at(const TeacherForcingConfig& config, int64_t step) {
  return std::visit([&](const auto& c) { return ratio(c, static_cast<double>(step - 1)); }, config);
}

bool always_forces(const TeacherForcingConfig& config) {
  if (const auto* constant = std::get_if<ConstantForcingConfig>(&config))
    return constant->ratio == 1;
  const auto* linear = std::get_if<LinearForcingConfig>(&config);
  return linear != nullptr && linear->start == 1 && (linear->slope == 0 || linear->minimum == 1);
}

}  // namespace zoo
