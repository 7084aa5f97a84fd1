#pragma once
// Mean-field theory of wide random recurrent networks (Poole et al. 2016, "Exponential expressivity
// in deep neural networks through transient chaos", section 2; Schoenholz et al. 2017). Holds for
// infinite width and inputs drawn anew each step; no torch.

namespace zoo {

/// h_t = tanh(W h_{t-1} + u_t) with W_ij of N(0, weight^2 / d) and u of N(0, input_variance).
struct MeanField {
  double q = 0;    ///< variance of what tanh reads: q = weight^2 E[tanh(sqrt(q) z)^2] + input
  double chi = 0;  ///< weight^2 E[tanh'(sqrt(q) z)^2]: gradients grow by sqrt(chi) a step
};

/// The fixed point.
/// @param weight, input_variance at least 0
MeanField mean_field_tanh(double weight, double input_variance);

}  // namespace zoo
