#include "nn/recurrent.h"

#include <ATen/autocast_mode.h>

#include "nn/linear.h"

namespace zoo {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Cho et al. 2014, appendix A: r, z = sigmoid(...); n = tanh(x_n + r h_n); h' = n + z (h - n).
struct GruCell : Function<GruCell> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& hh,
                        const Tensor& h) {
    const int64_t width = h.size(1);
    const Tensor gates = (x.narrow(1, 0, 2 * width) + hh.narrow(1, 0, 2 * width)).sigmoid_();
    const Tensor r = gates.narrow(1, 0, width), z = gates.narrow(1, width, width);
    const Tensor hh_n = hh.narrow(1, 2 * width, width);
    const Tensor n = at::addcmul(x.narrow(1, 2 * width, width), r, hh_n).tanh_();
    context->save_for_backward({gates, n, hh, h});
    return at::lerp(n, h, z);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor& dh = gradients[0];
    const auto saved = context->get_saved_variables();
    const Tensor &gates = saved[0], &n = saved[1], &hh = saved[2], &h = saved[3];
    const int64_t width = h.size(1);
    const Tensor r = gates.narrow(1, 0, width), z = gates.narrow(1, width, width);
    Tensor dx = torch::empty_like(hh), dhh = torch::empty_like(hh);
    const Tensor dh_z = dh * z;
    const Tensor dn = at::tanh_backward(dh - dh_z, n);  // before the tanh
    const Tensor dgates = torch::cat({dn * hh.narrow(1, 2 * width, width), dh * (h - n)}, 1);
    const Tensor dsums = at::sigmoid_backward(dgates, gates);
    dx.narrow(1, 0, 2 * width).copy_(dsums);
    dx.narrow(1, 2 * width, width).copy_(dn);
    dhh.narrow(1, 0, 2 * width).copy_(dsums);
    dhh.narrow(1, 2 * width, width).copy_(dn * r);
    return {dx, dhh, dh_z};
  }
};

/// Gers et al. 2000: c' = f c + i g; h' = o tanh(c').
struct LstmCell : Function<LstmCell> {
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& hh,
                               const Tensor& c) {
    const int64_t width = c.size(1);
    Tensor gates = x + hh;  // i, f, g, o
    gates.narrow(1, 0, 2 * width).sigmoid_();
    gates.narrow(1, 2 * width, width).tanh_();
    gates.narrow(1, 3 * width, width).sigmoid_();
    const auto parts = gates.chunk(4, 1);
    const Tensor new_c = at::addcmul(parts[1] * c, parts[0], parts[2]);
    const Tensor bent = new_c.tanh();
    context->save_for_backward({gates, c, bent});
    return {parts[3] * bent, new_c};
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor &dh = gradients[0], &dc_above = gradients[1];
    const auto saved = context->get_saved_variables();
    const Tensor &gates = saved[0], &c = saved[1], &bent = saved[2];
    const auto parts = gates.chunk(4, 1);
    const Tensor &i = parts[0], &f = parts[1], &g = parts[2], &o = parts[3];
    const Tensor dc = dc_above + at::tanh_backward(dh * o, bent);
    const Tensor dgates =
        torch::cat({at::sigmoid_backward(dc * g, i), at::sigmoid_backward(dc * c, f),
                    at::tanh_backward(dc * i, g), at::sigmoid_backward(dh * bent, o)},
                   1);
    return {dgates, dgates, dc * f};
  }
};

std::string suffix_of(int64_t layer, int64_t direction) {
  return cat("_l", layer, direction == 0 ? "" : "_reverse");
}

}  // namespace

int64_t gates_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::tanh:
      return 1;
    case RecurrentCell::lstm:
      return 4;
    case RecurrentCell::gru:
      return 3;
  }
  throw ConfigError("recurrent cell: unknown value");
}

Tensor recurrent_cell(RecurrentCell cell, const Tensor& from_input, const Tensor& from_hidden,
                      const Tensor& h, Tensor& c) {
  switch (cell) {
    case RecurrentCell::tanh:
      return (from_input + from_hidden).tanh();
    case RecurrentCell::gru:
      return GruCell::apply(from_input, from_hidden, h);
    case RecurrentCell::lstm: {
      const auto results = LstmCell::apply(from_input, from_hidden, c);
      c = results[1];
      return results[0];
    }
  }
  throw ConfigError("recurrent cell: unknown value");
}

RecurrentImpl::RecurrentImpl(const RecurrentOptions& options) : options_(options) {
  const int64_t directions = options.bidirectional ? 2 : 1;
  const int64_t rows = gates_of(options.cell) * options.hidden;
  for (int64_t layer = 0; layer < options.layers; ++layer)
    for (int64_t direction = 0; direction < directions; ++direction) {
      const int64_t input = layer == 0 ? options.input : directions * options.hidden;
      const std::string suffix = suffix_of(layer, direction);
      const auto add = [&](const char* name, torch::IntArrayRef sizes) {
        weights_.push_back(register_parameter(name + suffix, torch::empty(sizes)));
      };
      add("weight_ih", {rows, input});
      add("weight_hh", {rows, options.hidden});
      add("bias_ih", {rows});
      add("bias_hh", {rows});
    }
}

RecurrentImpl::Result RecurrentImpl::forward(const Tensor& x, const Tensor& lengths,
                                             const RecurrentState& start) {
  require_shape(x, {-1, -1, options_.input}, "recurrent layers: x");
  // Autocast knows only some of these kernels, and steps this small gain nothing from 16 bits.
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const bool lstm = options_.cell == RecurrentCell::lstm;
  const Tensor input = x.to(weights_[0].scalar_type());
  RecurrentState state = start;
  const int64_t states = options_.layers * (options_.bidirectional ? 2 : 1);
  if (!state.h.defined())
    state.h = torch::zeros({states, x.size(0), options_.hidden}, input.options());
  if (lstm && !state.c.defined()) state.c = torch::zeros_like(state.h);

  // torch's functions take either the rows' data with the sizes of its steps, or a padded tensor.
  const auto run = [&](const Tensor& data, const Tensor& batch_sizes) -> Tensor {
    const auto call = [&](auto function, const auto& h) {
      constexpr bool kBias = true, kBatchFirst = true;
      return batch_sizes.defined()
                 ? function(data, batch_sizes, h, weights_, kBias, options_.layers,
                            options_.dropout, is_training(), options_.bidirectional)
                 : function(data, h, weights_, kBias, options_.layers, options_.dropout,
                            is_training(), options_.bidirectional, kBatchFirst);
    };
    const auto with_h = [&](auto function) {
      auto [output, h] = call(function, state.h);
      state.h = h;
      return output;
    };
    switch (options_.cell) {
      case RecurrentCell::tanh:
        return with_h([](const auto&... args) { return at::rnn_tanh(args...); });
      case RecurrentCell::gru:
        return with_h([](const auto&... args) { return at::gru(args...); });
      case RecurrentCell::lstm: {
        auto [output, h, c] = call([](const auto&... args) { return at::lstm(args...); },
                                   std::vector<Tensor>{state.h, state.c});
        state = {h, c};
        return output;
      }
    }
    throw ConfigError("recurrent cell: unknown value");
  };

  if (!lengths.defined() || lengths.eq(x.size(1)).all().item<bool>())
    return {run(input, {}), state};
  namespace rnn = torch::nn::utils::rnn;
  const auto packed = rnn::pack_padded_sequence(input, lengths.to(torch::kCPU),
                                                /*batch_first=*/true, /*enforce_sorted=*/false);
  const auto by_length = [](RecurrentState& s, const Tensor& order) {
    s.h = s.h.index_select(1, order);
    if (s.c.defined()) s.c = s.c.index_select(1, order);
  };
  by_length(state, packed.sorted_indices());
  const Tensor data = run(packed.data(), packed.batch_sizes());
  by_length(state, packed.unsorted_indices());
  const rnn::PackedSequence result(data, packed.batch_sizes(), packed.sorted_indices(),
                                   packed.unsorted_indices());
  const Tensor output = std::get<0>(rnn::pad_packed_sequence(
      result, /*batch_first=*/true, /*padding_value=*/0.0, /*total_length=*/x.size(1)));
  return {output, state};
}

// ---- a step at a time ------------------------------------------------------------------------

RecurrentSteps::RecurrentSteps(const RecurrentImpl& layers, int64_t known)
    : cell_(layers.options().cell), dropout_(layers.is_training() ? layers.options().dropout : 0) {
  const std::vector<Tensor>& weights = layers.weights();
  const int64_t rest = layers.options().input - known;
  known_weight_ = weights[0].narrow(1, 0, known);
  known_bias_ = weights[2];
  if (rest > 0) rest_ = StepProduct(weights[0].narrow(1, known, rest).t());
  for (int64_t layer = 0; layer < layers.options().layers; ++layer) {
    const Tensor* of_layer = &weights[static_cast<size_t>(4 * layer)];
    input_.push_back(layer == 0 ? StepProduct() : StepProduct(of_layer[0].t()));
    hidden_.emplace_back(of_layer[1].t());
    input_bias_.push_back(of_layer[2]);
    hidden_bias_.push_back(of_layer[3]);
  }
}

Tensor RecurrentSteps::known_gates(const Tensor& x) const {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return project(x.to(known_weight_.scalar_type()), known_weight_, known_bias_);
}

Tensor RecurrentSteps::step(const Tensor& gates, const Tensor& rest, StepState& state) const {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  Tensor from_input = rest.defined() ? rest_(rest, gates) : gates;
  for (size_t layer = 0; layer < hidden_.size(); ++layer) {
    if (layer > 0) {
      const Tensor& below = state.h[layer - 1];
      from_input = input_[layer](dropout_ > 0 ? at::dropout(below, dropout_, true) : below,
                                 input_bias_[layer]);
    }
    Tensor& h = state.h[layer];
    h = recurrent_cell(cell_, from_input, hidden_[layer](h, hidden_bias_[layer]), h,
                       state.c[layer]);
  }
  return state.h.back();
}

}  // namespace zoo
