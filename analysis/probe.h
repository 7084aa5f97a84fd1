#pragma once
// Small networks whose insides can be differentiated: what `gradnorm` measures. They are made of
// the library's own cells and blocks. Letters of the shapes: core/shape.h; I is the width of
// inputs.

#include "analysis/gradnorm.h"
#include "core/shape.h"
#include "nn/block.h"
#include "nn/source_attention.h"

namespace zoo {

struct ProbeShape {
  ProbeModel model = ProbeModel::rnn;
  int64_t input = 64;  ///< I; of a Transformer its width D
  int64_t hidden =
      64;  ///< D of a recurrent network, the inner width of a Transformer's feed-forward
  int64_t layers = 1;  ///< of a Transformer
  NormPlacement norm = NormPlacement::pre;
  bool causal = true;     ///< a Transformer's mask
  bool positions = true;  ///< a Transformer adds sinusoids to its inputs
};

struct ProbeDraw {
  ProbeInit init = ProbeInit::gauss;
  double rho = 1;
  std::optional<double> forget_bias;
};

/// Tensors that a gradient is taken of: T of (B, D), one for each step, or one of (B, T, D).
struct Observed {
  std::string name;
  std::vector<Tensor> steps;
};

struct ProbeTrace {
  Tensor output;  ///< (B, T, D), or (B, 1, D) if the last place alone was asked for
  std::vector<Observed> observed;  ///< of an LSTM h and c, the gradient of c through h included
  Observed cells;                  ///< of an LSTM: c as the next step reads it, apart from h
};

class Probe : public torch::nn::Module {
 public:
  explicit Probe(const ProbeShape& shape);
  /// Draws all weights in float64 from torch's default generator.
  void draw(const ProbeDraw& how);

  /// @param x (B, T, I)  @param every_place outputs of all places are wanted
  ProbeTrace forward(const Tensor& x, bool every_place);

  const ProbeShape& shape() const { return shape_; }
  int64_t width() const;  ///< D of the output
  int64_t parameter_count() const;

  // Recurrent networks; undefined for a Transformer. G is the number of gates.
  Tensor weight_ih, weight_hh;  ///< (G D, I), (G D, D)
  Tensor bias_ih, bias_hh;      ///< (G D); undefined for the linear network
  SourceScore score{nullptr};   ///< of rnn-attn
  // The Transformer.
  torch::nn::ModuleList blocks;
  Norm final_norm{nullptr};  ///< with pre-norm

  /// What the blocks share for T tokens. @param x (B, T, D)
  AttentionScope scope(const Tensor& x) const;

 private:
  ProbeTrace recur(const Tensor& x, bool every_place);
  ProbeTrace transform(const Tensor& x);

  ProbeShape shape_;
};

/// The least `hidden` with which a network has `parameters` parameters or more.
/// @throws ConfigError if it has more with the least width already
ProbeShape with_parameters(ProbeShape shape, int64_t parameters);

/// The loss whose gradients are looked at, summed over the batch.
/// @param output (B, T or 1, D), of Probe::forward()
/// @return a scalar; draws v, or the output layer and the classes, from torch's default generator
Tensor probe_loss(const Tensor& output, ProbeLoss loss);

/// g_t of the observed tensors: the root of the mean over the batch of ||dL/dh_t||^2.
/// @param loss summed over the batch, so that rows do not share its gradient
/// @return T numbers in the order of time
std::vector<double> gradient_norms(const Tensor& loss, const Observed& observed);

/// dh_T/dh_{T-k} of one sequence, for all of its steps.
/// @param x (T, I)  @return T tensors (D', D'), that of k at place k; D' is 2 D for an LSTM, whose
/// state is h and c together; of a Transformer, its output by its input
std::vector<Tensor> state_jacobians(Probe& probe, const Tensor& x);

}  // namespace zoo
