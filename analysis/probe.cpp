#include "analysis/probe.h"

#include <cmath>

#include "nn/feed_forward/mlp.h"
#include "nn/recurrent.h"

namespace zoo {
namespace {

constexpr int64_t kHeads = 4;
constexpr int64_t kClasses = 32;
constexpr double kInputVariance =
    0.25;  // of what the inputs add to a neuron, with ProbeInit::gauss

RecurrentCell cell_of(ProbeModel model) {
  if (model == ProbeModel::lstm) return RecurrentCell::lstm;
  return model == ProbeModel::gru ? RecurrentCell::gru : RecurrentCell::tanh;
}

// LibTorch's own orthogonal_() works in float32. (D, D)
// LibTorch's own orthogonal_() works in float32. (D, D)
Tensor orthogonal(int64_t width) {
  const auto [q, r] = torch::linalg_qr(torch::randn({width, width}, torch::kFloat64));
  return q * r.diagonal().sign();  // so that all orthogonal matrices are as probable
}

// Draws a matrix of gates, one at a time.
void draw_gates(Tensor& weight, const ProbeDraw& how, bool recurrent) {
  const int64_t width = weight.size(0), inputs = weight.size(1);
  if (recurrent && how.init == ProbeInit::orth) {
    for (Tensor gate : weight.split(inputs)) gate.copy_(how.rho * orthogonal(inputs));
    return;
  }
  const double variance = recurrent ? how.rho * how.rho : kInputVariance;
  weight.copy_(torch::randn({width, inputs}, torch::kFloat64) *
               std::sqrt(variance / static_cast<double>(inputs)));
}

}  // namespace

Probe::Probe(const ProbeShape& shape) : shape_(shape) {
  if (shape.model == ProbeModel::transformer) {
    BlockConfig block;
    block.placement = shape.norm;
    block.attention.num_heads = kHeads;
    block.feed_forward = MlpConfig{.d_ff = shape.hidden, .activation = Activation::relu};
    blocks = register_module("blocks", torch::nn::ModuleList());
    for (int64_t layer = 0; layer < shape.layers; ++layer)
      blocks->push_back(Block(block, shape.input, /*residual_dropout=*/0));
    if (shape.norm == NormPlacement::pre)
      final_norm = register_module("final_norm", make_norm(block.norm, shape.input));
    return;
  }
  const int64_t rows = gates_of(cell_of(shape.model)) * shape.hidden;
  weight_ih = register_parameter("weight_ih", torch::empty({rows, shape.input}));
  weight_hh = register_parameter("weight_hh", torch::empty({rows, shape.hidden}));
  if (shape.model != ProbeModel::linear) {
    bias_ih = register_parameter("bias_ih", torch::empty(rows));
    bias_hh = register_parameter("bias_hh", torch::empty(rows));
  }
  if (shape.model == ProbeModel::rnn_attn)
    score = register_module(
        "score", make_source_score(BahdanauAttentionConfig{}, {shape.hidden, shape.hidden}));
}

void Probe::draw(const ProbeDraw& how) {
  const torch::NoGradGuard no_grad;
  to(torch::kFloat64);
  if (shape_.model == ProbeModel::transformer) {
    for (auto& item : named_parameters()) {
      const bool bias = item.key().find("bias") != std::string::npos;
      Tensor& value = item.value();
      if (value.dim() < 2)
        value.fill_(bias ? 0 : 1);
      else  // queries, keys and values are three matrices
        for (const Tensor& matrix : value.split(
                 item.key().find("qkv") == std::string::npos ? value.size(0) : shape_.input))
          torch::nn::init::xavier_uniform_(matrix);
    }
    return;
  }
  if (how.init == ProbeInit::standard) {
    const double bound = 1 / std::sqrt(static_cast<double>(shape_.hidden));
    for (Tensor& parameter : parameters(/*recurse=*/false)) parameter.uniform_(-bound, bound);
  } else {
    draw_gates(weight_ih, how, /*recurrent=*/false);
    draw_gates(weight_hh, how, /*recurrent=*/true);
    if (bias_ih.defined()) bias_ih.zero_(), bias_hh.zero_();
  }
  if (shape_.model == ProbeModel::lstm && how.forget_bias) {
    bias_ih.narrow(0, shape_.hidden, shape_.hidden).fill_(*how.forget_bias);
    bias_hh.narrow(0, shape_.hidden, shape_.hidden).zero_();
  }
  if (score)
    for (Tensor& parameter : score->parameters()) torch::nn::init::xavier_uniform_(parameter);
}

int64_t Probe::width() const {
  return shape_.model == ProbeModel::transformer ? shape_.input : shape_.hidden;
}

int64_t Probe::parameter_count() const {
  int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

ProbeTrace Probe::forward(const Tensor& x, bool every_place) {
  require_shape(x, {-1, -1, shape_.input}, "x");
  if (shape_.model != ProbeModel::transformer) return recur(x, every_place);
  ProbeTrace trace = transform(x);
  if (!every_place) trace.output = trace.output.narrow(1, x.size(1) - 1, 1);
  return trace;
}

ProbeTrace Probe::recur(const Tensor& x, bool every_place) {
  const bool linear = shape_.model == ProbeModel::linear;
  const RecurrentCell cell = cell_of(shape_.model);
  const Tensor from_input = project(x, weight_ih, bias_ih);  // (B, T, G D)
  Tensor h = torch::zeros({x.size(0), shape_.hidden}, x.options());
  Tensor c = torch::zeros_like(h);
  Observed states{"h", {}}, cells{"c", {}}, kept{"c alone", {}};
  for (int64_t t = 0; t < x.size(1); ++t) {
    const Tensor from_hidden = project(h, weight_hh, bias_hh);  // (B, G D)
    if (linear) {
      h = from_input.select(1, t) + from_hidden;
    } else if (cell == RecurrentCell::lstm) {
      // The library's cell gives h and c at once, so that dL/dc_t would lack what flows through
      // h_t.
      const auto gates = (from_input.select(1, t) + from_hidden).chunk(4, 1);
      const Tensor all = gates[1].sigmoid() * c + gates[0].sigmoid() * gates[2].tanh();
      h = gates[3].sigmoid() * all.tanh();
      c = all.alias();
      cells.steps.push_back(all);
      kept.steps.push_back(c);
    } else {
      h = recurrent_cell(cell, from_input.select(1, t), from_hidden, h, c);
    }
    states.steps.push_back(h);
  }
  ProbeTrace trace;
  if (score) {
    // The last states ask all states up to their own place what they hold.
    const Tensor memory = torch::stack(states.steps, 1);  // (B, T, D)
    const Tensor query = every_place ? memory : h.unsqueeze(1);
    Tensor scores = (*score->steps(score->keys(memory)))(query);  // (B, T or 1, T)
    if (every_place)
      scores = scores.masked_fill(
          torch::ones({x.size(1), x.size(1)}, torch::kBool).triu(1).to(x.device()), -INFINITY);
    trace.output = scores.softmax(-1).matmul(memory);
  } else {
    trace.output = every_place ? torch::stack(states.steps, 1) : h.unsqueeze(1);
  }
  trace.observed.push_back(std::move(states));
  if (cell == RecurrentCell::lstm) {
    trace.observed.push_back(std::move(cells));
    trace.cells = std::move(kept);
  }
  return trace;
}

AttentionScope Probe::scope(const Tensor& x) const {
  static const Position nowhere = make_position(NoPositionConfig{}, {0, 0, 0, 0});
  AttentionScope scope;
  scope.position = nowhere.get();
  scope.tables = nowhere->prepare({0, x.size(1), {}}, x);
  scope.options.causal = shape_.causal;
  return scope;
}

ProbeTrace Probe::transform(const Tensor& input) {
  Tensor x = input;
  if (shape_.positions) {
    const PositionSpan span{0, x.size(1), {}};
    const Position sinusoids = make_position(
        SinusoidalPositionConfig{}, {x.size(1), shape_.input, kHeads, shape_.input / kHeads});
    x = sinusoids->embed(x, span, sinusoids->prepare(span, x));
  }
  if (!x.requires_grad()) x = x.detach().requires_grad_();
  const AttentionScope shared = scope(x);
  ProbeTrace trace;
  trace.observed.push_back({"x0", {x}});
  for (int64_t layer = 0; layer < shape_.layers; ++layer) {
    x = blocks->at<BlockImpl>(static_cast<size_t>(layer)).forward(x, shared, layer);
    trace.observed.push_back({cat("x", layer + 1), {x}});
  }
  trace.output = final_norm ? final_norm->forward(x) : x;
  return trace;
}

ProbeShape with_parameters(ProbeShape shape, int64_t parameters) {
  const auto count = [&](int64_t hidden) {
    shape.hidden = hidden;
    return Probe(shape).parameter_count();
  };
  int64_t low = 1, high = 1;
  if (const int64_t least = count(low); least > parameters)
    throw ConfigError(cat("gradnorm: a ", enum_name(shape.model), " of width ", shape.input,
                          " and ", shape.layers, " layers has at least ", least,
                          " parameters, more than the ", parameters,
                          " of the LSTM of that width; take fewer layers"));
  while (count(high) < parameters) high *= 2;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (count(middle) < parameters)
      low = middle + 1;
    else
      high = middle;
  }
  shape.hidden = low;
  return shape;
}

Tensor probe_loss(const Tensor& output, ProbeLoss loss) {
  const int64_t width = output.size(2);
  const auto drawn = output.options().requires_grad(false);
  const auto randn = [&](torch::IntArrayRef sizes) {  // the same numbers in any format
    return torch::randn(sizes, torch::kFloat64).to(drawn);
  };
  if (loss == ProbeLoss::probe)
    return output.select(1, output.size(1) - 1).matmul(randn({width})).sum();
  const Tensor layer = randn({kClasses, width}) / std::sqrt(static_cast<double>(width));
  const Tensor wanted = torch::randint(kClasses, {output.size(0), output.size(1)}, torch::kInt64);
  const Tensor logits =
      (loss == ProbeLoss::last_ce ? output.narrow(1, output.size(1) - 1, 1) : output)
          .matmul(layer.t());  // (B, T or 1, C)
  const Tensor classes = wanted.narrow(1, wanted.size(1) - logits.size(1), logits.size(1));
  return torch::nn::functional::cross_entropy(
             logits.flatten(0, 1), classes.to(output.device()).flatten(),
             torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum)) /
         logits.size(1);
}

std::vector<double> gradient_norms(const Tensor& loss, const Observed& observed) {
  const auto gradients = torch::autograd::grad({loss}, observed.steps, {}, /*retain_graph=*/true,
                                               /*create_graph=*/false, /*allow_unused=*/true);
  std::vector<double> norms;
  const auto add = [&](const Tensor& gradient) {  // (B, D)
    norms.push_back(std::sqrt(gradient.to(torch::kFloat64).square().sum(1).mean().item<double>()));
  };
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor gradient =
        gradients[i].defined() ? gradients[i] : torch::zeros_like(observed.steps[i]);
    if (gradient.dim() == 2) {
      add(gradient);
    } else {
      for (const Tensor& step : gradient.unbind(1)) add(step);
    }
  }
  return norms;
}

std::vector<Tensor> state_jacobians(Probe& probe, const Tensor& x) {
  // As many equal sequences as the state has components, each differentiated by one of them: a row
  // of the Jacobian for each sequence, with one backward pass for all steps.
  const bool lstm = probe.shape().model == ProbeModel::lstm;
  const bool transformer = probe.shape().model == ProbeModel::transformer;
  const int64_t width = probe.width(), rows = (lstm ? 2 : 1) * width;
  const ProbeTrace trace =
      probe.forward(x.unsqueeze(0).expand({rows, -1, -1}).contiguous(), /*every_place=*/false);
  // (rows, rows): h or c at the end; of a Transformer its output.
  Tensor last = transformer ? trace.output.select(1, 0) : trace.observed[0].steps.back();
  std::vector<Tensor> states = trace.observed[0].steps;
  if (lstm) {
    last = torch::cat({last, trace.cells.steps.back()}, 1);
    states.insert(states.end(), trace.cells.steps.begin(), trace.cells.steps.end());
  }
  const auto gradients =
      torch::autograd::grad({last.diagonal().sum()}, states, {}, false, false, true);
  const int64_t steps = x.size(0);
  std::vector<Tensor> jacobians;
  for (int64_t k = 0; k < steps; ++k) {
    const int64_t t = steps - 1 - k;
    if (transformer) {
      jacobians.push_back(gradients[0].select(1, t));
      continue;
    }
    const auto at = [&](size_t part) {
      const auto index = static_cast<size_t>(t) + part * static_cast<size_t>(steps);
      return gradients[index].defined()
                 ? gradients[index]
                 : torch::zeros({rows, width}, last.options().requires_grad(false));
    };
    jacobians.push_back(lstm ? torch::cat({at(0), at(1)}, 1) : at(0));
  }
  return jacobians;
}

}  // namespace zoo
