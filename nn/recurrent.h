#pragma once
// Recurrent layers: tanh (Elman 1990), LSTM (Hochreiter & Schmidhuber 1997, with forget gates: Gers
// et al. 2000) and GRU (Cho et al. 2014, with the reset gate after the product, as cuDNN and torch
// have it). Parameters, order of gates and results are torch's.

#include <vector>

#include "core/shape.h"
#include "nn/config.h"
#include "nn/step_product.h"

namespace zoo {

/// What the layers remember.
struct RecurrentState {
  Tensor h;  ///< (L, B, H), or (2 L, B, H) in both directions: forward and backward of each layer
  Tensor c;  ///< the LSTM's cell, same shape; else undefined
};

struct RecurrentOptions {
  RecurrentCell cell = RecurrentCell::gru;
  int64_t input = 0, hidden = 0, layers = 1;
  bool bidirectional = false;
  double dropout = 0;       ///< between layers, while training
  bool orthogonal = false;  ///< recurrent weights are drawn orthogonal (Saxe et al. 2014)
  double forget_bias = 0;   ///< first bias of the LSTM's forget gate (Jozefowicz et al. 2015)
};

class RecurrentImpl : public torch::nn::Module {
 public:
  /// Parameters are allocated, not drawn: see nn/init.h.
  explicit RecurrentImpl(const RecurrentOptions& options);

  struct Result {
    Tensor output;         ///< (B, T, H), or (B, T, 2 H): forward, then backward; 0 at padding
    RecurrentState state;  ///< after each row's last real token
  };
  /// Reads whole sequences with torch's kernels.
  /// @param x (B, T, I)  @param lengths (B) int64: rows are padded at the right, which changes no
  /// result; undefined: none is  @param start an undefined h starts from zeros
  Result forward(const Tensor& x, const Tensor& lengths, const RecurrentState& start = {});

  /// The recurrence one step at a time: see RecurrentSteps.
  const RecurrentOptions& options() const { return options_; }
  /// weight_ih (gates H, I), weight_hh (gates H, H), bias_ih, bias_hh (gates H) of each layer,
  /// forward before backward: torch's names and order.
  const std::vector<Tensor>& weights() const { return weights_; }

 private:
  RecurrentOptions options_;
  std::vector<Tensor> weights_;
};
TORCH_MODULE(Recurrent);

/// Blocks of H rows in a layer's weights: tanh 1; LSTM 4, input, forget, cell, output; GRU 3,
/// reset, update, new.
int64_t gates_of(RecurrentCell cell);

/// What the layers remember between two steps: h and c of each layer, (B, H).
struct StepState {
  StepState() = default;
  explicit StepState(const RecurrentState& state)
      : h(state.h.unbind(0)),
        c(state.c.defined() ? state.c.unbind(0) : std::vector<Tensor>(h.size())) {}
  std::vector<Tensor> h, c;  ///< c is undefined but for the LSTM
};

/// A recurrence taken a step at a time, for decoders whose next input depends on their last output.
/// Made once for a sequence: its weights' gradients are taken once for all steps.
class RecurrentSteps {
 public:
  RecurrentSteps() = default;
  /// @param known how many of the first layer's I inputs do not depend on earlier steps
  RecurrentSteps(const RecurrentImpl& layers, int64_t known);

  /// What the known inputs give to the first layer's gates, for any number of steps at once.
  /// @param x (..., known)  @return (..., gates H)
  Tensor known_gates(const Tensor& x) const;
  /// One step. @param gates (B, gates H), from known_gates()  @param rest (B, I - known), or
  /// undefined where all is known  @return the top layer's output, (B, H)
  Tensor step(const Tensor& gates, const Tensor& rest, StepState& state) const;

 private:
  RecurrentCell cell_ = RecurrentCell::gru;
  double dropout_ = 0;
  Tensor known_weight_, known_bias_;
  StepProduct rest_;
  std::vector<StepProduct> input_, hidden_;  // per layer; input_[0] is unused
  std::vector<Tensor> input_bias_, hidden_bias_;
};

/// The gates' arithmetic of one step. @param from_input, from_hidden (B, gates H), with biases
/// @return the new h, (B, H); c (B, H) is replaced (LSTM)
Tensor recurrent_cell(RecurrentCell cell, const Tensor& from_input, const Tensor& from_hidden,
                      const Tensor& h, Tensor& c);

}  // namespace zoo
