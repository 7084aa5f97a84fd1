#pragma once
// The three modes of gradnorm, and what they share. Inside analysis/.

#include "analysis/gradnorm.h"
#include "analysis/probe.h"

namespace zoo {

void gradnorm_time(const GradnormOptions& options, GradnormResult& result);
void gradnorm_depth(const GradnormOptions& options, GradnormResult& result);
void gradnorm_jacobian(const GradnormOptions& options, GradnormResult& result);

/// The network of a model at the options' sizes, all of one number of parameters.
ProbeShape probe_shape(const GradnormOptions& options, ProbeModel model);

/// Inputs of N(0, 1), (B, T, I), the same numbers in float32.
Tensor probe_inputs(int64_t batch, int64_t T, int64_t width, bool float32);

/// A network drawn after `seed`; what is drawn next follows from it too.
Probe drawn_probe(const ProbeShape& shape, const ProbeDraw& how, uint64_t seed,
                  bool float32 = false);

double mean_of(const std::vector<double>& values);

}  // namespace zoo
