#include "analysis/bench_sweeps.h"

#include <cmath>

#include "analysis/memory_meter.h"
#include "analysis/timing.h"
#include "core/system.h"
#include "core/text.h"
#include "decoding/context.h"
#include "models/cost.h"
#include "models/gpt.h"
#include "models/zoo.h"
#include "nn/attention.h"
#include "nn/recurrent.h"
#include "nn/source_attention.h"

namespace zoo {

namespace {

constexpr const char* kForward = "forward";
constexpr const char* kTraining = "forward and backward";

double real(int64_t number) { return static_cast<double>(number); }

/// What is timed at one length: a point without its measurements, and the call.
struct Case {
  BenchPoint point;
  std::function<void()> call;
};

/// Measures the cases of one length.
void measure(const std::vector<Case>& cases, const SweepOptions& options,
             std::vector<BenchPoint>& points) {
  std::vector<std::function<void()>> calls;
  for (const Case& one : cases) calls.push_back(one.call);
  const std::vector<Timing> timings = time_calls(calls, options.repeat, options.device);
  for (size_t i = 0; i < cases.size(); ++i) {
    BenchPoint point = cases[i].point;
    point.seconds = timings[i].median;
    point.fastest = timings[i].fastest;
    point.slowest = timings[i].slowest;
    const MemoryMeter meter(options.device);
    calls[i]();
    point.bytes = real(meter.peak());
    points.push_back(std::move(point));
  }
}

/// A computation as two cases: alone without gradients, and with the gradients of `learnt`.
/// @param flops of the forward pass; the backward pass has two products for each of its
void add_passes(std::vector<Case>& cases, BenchPoint point, double flops,
                const std::function<Tensor()>& compute, const std::vector<Tensor>& learnt) {
  point.pass = kForward;
  point.flops = flops;
  cases.push_back({point, [compute] {
                     const torch::NoGradGuard no_grad;
                     compute();
                   }});
  point.pass = kTraining;
  point.flops = 3 * flops;
  cases.push_back({point, [compute, learnt] {
                     const Tensor y = compute();
                     torch::autograd::grad({y}, learnt, {torch::ones_like(y)});
                   }});
}

Tensor normal(torch::IntArrayRef shape, torch::Device device) {
  return torch::randn(shape, torch::dtype(torch::kFloat32).device(device));
}

/// The parameters of `module` on the device, drawn so that sums of `width` products stay near 1.
std::vector<Tensor> draw(torch::nn::Module& module, int64_t width, torch::Device device) {
  const torch::NoGradGuard no_grad;
  module.to(device);
  const double bound = 1 / std::sqrt(real(width));
  for (Tensor& parameter : module.parameters()) parameter.uniform_(-bound, bound);
  return module.parameters();
}

Json setting_of(const SweepOptions& options, const Json& more) {
  Json setting = more;
  setting["batch"] = options.batch;
  setting["repeat"] = options.repeat;
  setting["device"] = options.device.str();
  setting["threads"] = at::get_num_threads();
  setting["processor"] = processor_name();
  return setting;
}

void require_memory(double needed, int64_t tokens) {
  const int64_t free = free_memory_bytes();
  if (free > 0 && needed > real(free))
    throw ConfigError(cat("bench attention: ", tokens, " tokens with all weights held take about ",
                          human_bytes(needed), ", but ", human_bytes(real(free)),
                          " are free; give shorter --lengths or fewer heads"));
}

}  // namespace

// ---- attention -------------------------------------------------------------------------------

BenchResult bench_attention(const AttentionBench& attention, const SweepOptions& options) {
  BenchResult result{.mode = "attention",
                     .setting = setting_of(options, {{"heads", attention.heads},
                                                     {"kv_heads", attention.kv_heads},
                                                     {"head_dim", attention.head_dim},
                                                     {"causal", attention.causal}})};
  for (const int64_t n : options.lengths) {
    const double weights = real(options.batch * attention.heads) * real(n) * real(n);
    // Scores, weights and the gradients of both, in float32.
    if (options.device.is_cpu()) require_memory(16 * weights, n);
    options.on_length(n);
    const auto heads = [&](int64_t count) {
      return normal({options.batch, count, n, attention.head_dim}, options.device).requires_grad_();
    };
    const Tensor q = heads(attention.heads);                                    // (B, H, T, E)
    const Tensor k = heads(attention.kv_heads), v = heads(attention.kv_heads);  // (B, G, T, E)
    std::vector<Case> cases;
    for (const bool holds_weights : {false, true})
      add_passes(cases, {.series = holds_weights ? "explicit" : "fused", .tokens = n},
                 4 * weights * real(attention.head_dim),
                 [=] {
                   return attend(q, k, v,
                                 {.causal = attention.causal, .want_weights = holds_weights})
                       .output;
                 },
                 {q, k, v});
    measure(cases, options, result.points);
  }
  result.fits = fit_points(result.points);
  return result;
}

// ---- cache -----------------------------------------------------------------------------------

BenchResult bench_cache(const GptConfig& config, const SweepOptions& options) {
  BenchResult result{.mode = "cache",
                     .setting = setting_of(options, {{"num_layers", config.num_layers},
                                                     {"d_model", config.d_model},
                                                     {"vocab_size", config.vocab_size}})};
  const std::shared_ptr<CausalLm> model = make_causal_lm(config);
  model->eval();
  model->to(options.device);
  const torch::InferenceMode inference;
  for (const int64_t n : options.lengths) {
    if (n > config.max_length)
      throw ConfigError(cat("bench cache: ", n, " tokens do not fit into the model; allowed: 1 to ",
                            config.max_length, ", or a larger model.max_length"));
    options.on_length(n);
    std::vector<Case> cases;
    const GenerationFlops all = generation_flops(config, n),
                          before = generation_flops(config, n - 1);
    for (const bool use_cache : {true, false}) {
      BenchPoint point{.series = use_cache ? "with cache" : "without cache", .tokens = n};
      const auto flops = [&](const GenerationFlops& of) {
        return real(options.batch) * (use_cache ? of.with_cache : of.without_cache);
      };
      point.pass = "all tokens";
      point.flops = flops(all);
      cases.push_back(
          {point, [&, n, use_cache] {
             const std::vector<int64_t> begin = {0};
             CausalContext context(
                 *model,
                 std::vector<std::vector<int64_t>>(static_cast<size_t>(options.batch), begin),
                 {.longest = n, .vocabulary = config.vocab_size, .use_cache = use_cache});
             for (int64_t i = 0; i < n; ++i) {
               const Tensor chosen = context.next_logits().argmax(-1).cpu();  // (B)
               if (i + 1 < n)
                 context.append(
                     {chosen.const_data_ptr<int64_t>(), static_cast<size_t>(options.batch)});
             }
           }});
      point.pass = "last token";
      point.flops = flops(all) - flops(before);
      const Tensor tokens =
          torch::zeros({options.batch, n}, torch::dtype(torch::kInt64).device(options.device));
      if (!use_cache) {
        cases.push_back({point, [&model, tokens] { model->forward(tokens, {.last_only = true}); }});
        continue;
      }
      const std::shared_ptr<DecodeState> state = model->start(options.batch, n);
      if (n > 1)
        model->forward(tokens.narrow(1, 1, n - 1), {.state = state.get(), .last_only = true});
      cases.push_back({point, [&model, state, last = tokens.narrow(1, 0, 1)] {
                         // A copy shares the cache's memory: each call writes the same place anew.
                         GptState again(static_cast<const GptState&>(*state).cache);
                         model->forward(last, {.state = &again, .last_only = true});
                       }});
    }
    measure(cases, options, result.points);
  }
  result.fits = fit_points(result.points);
  return result;
}

// ---- scores ----------------------------------------------------------------------------------

namespace {

/// Standard deviation of the dot products of normal vectors, and the mean of the largest weight
/// that softmax makes of them, over many queries.
void add_softmax_facts(BenchResult& result, int64_t width) {
  constexpr int64_t kQueries = 1024, kKeys = 64;
  const torch::NoGradGuard no_grad;
  const Tensor q = normal({kQueries, width, 1}, torch::kCPU);
  const Tensor k = normal({kQueries, kKeys, width}, torch::kCPU);  // its own for each query
  const Tensor scores = at::matmul(k, q).squeeze(-1);              // (queries, keys)
  for (const bool scaled : {false, true}) {
    const Tensor used = scaled ? scores / std::sqrt(real(width)) : scores;
    const std::string name = scaled ? "scaled dot" : "dot";
    result.facts.emplace_back("standard deviation of " + name, used.std().item<double>());
    result.facts.emplace_back(cat("largest of ", kKeys, " weights of ", name),
                              used.softmax(-1).amax(-1).mean().item<double>());
  }
}

}  // namespace

BenchResult bench_scoring(int64_t width, const SweepOptions& options) {
  BenchResult result{.mode = "scoring", .setting = setting_of(options, {{"width", width}})};
  struct Scored {
    const char* name;
    SourceAttentionConfig config;
    int64_t projections;  ///< products of all tokens with a (width, width) matrix
  };
  const std::vector<Scored> all = {{"additive", BahdanauAttentionConfig{}, 2},
                                   {"dot", DotAttentionConfig{}, 0},
                                   {"scaled dot", ScaledDotAttentionConfig{}, 0},
                                   {"general", GeneralAttentionConfig{}, 1}};
  std::vector<SourceScore> scores;
  for (const Scored& one : all) {
    scores.push_back(make_source_score(one.config, {.d_query = width, .d_memory = width}));
    draw(*scores.back(), width, options.device);
  }
  for (const int64_t n : options.lengths) {
    options.on_length(n);
    const auto vectors = [&] {
      return normal({options.batch, n, width}, options.device).requires_grad_();
    };
    const Tensor queries = vectors(), memory = vectors();  // (B, T, D), (B, S, D), T = S = n
    std::vector<Case> cases;
    for (size_t i = 0; i < all.size(); ++i) {
      const SourceScore score = scores[i];
      std::vector<Tensor> learnt = score->parameters();
      learnt.insert(learnt.end(), {queries, memory});
      const double flops =
          2 * real(options.batch) * real(n) * real(width) * real(n + all[i].projections * width);
      add_passes(
          cases, {.series = all[i].name, .tokens = n}, flops,
          [=] {
            const Tensor keys = score.ptr()->keys(memory);  // (B, S, A)
            return (*score.ptr()->steps(keys))(queries).softmax(-1);
          },
          learnt);
    }
    measure(cases, options, result.points);
  }
  result.fits = fit_points(result.points);
  add_softmax_facts(result, width);
  return result;
}

// ---- layers ----------------------------------------------------------------------------------

LayerTheory layer_theory(LayerKind kind, const LayerBench& layer, int64_t tokens) {
  const double n = real(tokens), d = real(layer.width), k = real(layer.kernel_width);
  switch (kind) {
    case LayerKind::tanh_rnn:
      return {2 * n * d * d, tokens, tokens};
    case LayerKind::lstm:
      return {8 * n * d * d, tokens, tokens};
    case LayerKind::convolution: {
      int64_t layers = 1;  // with gaps of 1, k, k^2, … the view widens k times with each
      for (int64_t seen = layer.kernel_width; seen < tokens && layer.kernel_width > 1; ++layers)
        seen *= layer.kernel_width;
      return {k * n * d * d, layers, 1};
    }
    case LayerKind::attention:
      return {2 * n * n * d, 1, 1};
    case LayerKind::multi_head:
      return {4 * n * d * d + 2 * n * n * d, 1, 1};
  }
  throw ConfigError("layer: unknown value");
}

namespace {

/// A layer as a function of x (B, T, D), with its parameters.
struct Layer {
  std::function<Tensor(const Tensor&)> compute;
  std::vector<Tensor> parameters;
};

Layer recurrent_layer(RecurrentCell cell, int64_t width, torch::Device device) {
  Recurrent layer(RecurrentOptions{.cell = cell, .input = width, .hidden = width});
  return {[layer](const Tensor& x) { return layer.ptr()->forward(x, {}).output; },
          draw(*layer, width, device)};
}

/// A sum of `kernel_width` products of shifted rows: the arithmetic of a convolution, by the same
/// matrix products that the other layers are made of. Padded at both ends.
Layer convolution_layer(const LayerBench& layer, torch::Device device) {
  const int64_t k = layer.kernel_width, before = (k - 1) / 2;
  const Tensor weights =  // (k, D, D)
      (normal({k, layer.width, layer.width}, device) / std::sqrt(real(k * layer.width)))
          .requires_grad_();
  return {[=](const Tensor& x) {
            const Tensor padded = at::constant_pad_nd(x, {0, 0, before, k - 1 - before});
            Tensor y;
            for (int64_t i = 0; i < k; ++i) {
              const Tensor part = project(padded.narrow(1, i, x.size(1)), weights[i], {});
              y = y.defined() ? y + part : part;
            }
            return y;
          },
          {weights}};
}

Layer attention_layer() {
  return {[](const Tensor& x) {
            const Tensor head = x.unsqueeze(1);  // (B, 1, T, D)
            return attend(head, head, head).output.squeeze(1);
          },
          {}};
}

Layer multi_head_layer(const LayerBench& layer, torch::Device device) {
  Attention attention(AttentionConfig{.num_heads = layer.heads, .bias = false}, layer.width);
  const Position position =
      make_position(NoPositionConfig{}, {1, layer.width, layer.heads, layer.width / layer.heads});
  return {[attention, position](const Tensor& x) {
            const AttentionScope scope{.position = position.get()};
            return attention.ptr()->forward(x, scope, 0);
          },
          draw(*attention, layer.width, device)};
}

Layer make_layer(LayerKind kind, const LayerBench& layer, torch::Device device) {
  switch (kind) {
    case LayerKind::tanh_rnn:
      return recurrent_layer(RecurrentCell::tanh, layer.width, device);
    case LayerKind::lstm:
      return recurrent_layer(RecurrentCell::lstm, layer.width, device);
    case LayerKind::convolution:
      return convolution_layer(layer, device);
    case LayerKind::attention:
      return attention_layer();
    case LayerKind::multi_head:
      return multi_head_layer(layer, device);
  }
  throw ConfigError("layer: unknown value");
}

}  // namespace

BenchResult bench_layers(const LayerBench& layer, const SweepOptions& options) {
  BenchResult result{.mode = "layers",
                     .setting = setting_of(options, {{"width", layer.width},
                                                     {"heads", layer.heads},
                                                     {"kernel_width", layer.kernel_width}})};
  std::vector<std::pair<LayerKind, Layer>> layers;
  for (const auto& [kind, name] : EnumNames<LayerKind>::values)
    layers.emplace_back(kind, make_layer(kind, layer, options.device));
  for (const int64_t n : options.lengths) {
    options.on_length(n);
    const Tensor x = normal({options.batch, n, layer.width}, options.device).requires_grad_();
    std::vector<Case> cases;
    for (const auto& [kind, one] : layers) {
      const LayerTheory theory = layer_theory(kind, layer, n);
      std::vector<Tensor> learnt = one.parameters;
      learnt.push_back(x);
      add_passes(
          cases,
          {.series = std::string(enum_name(kind)),
           .tokens = n,
           .path_length = theory.path_length,
           .sequential_steps = theory.sequential_steps},
          2 * real(options.batch) * theory.multiply_adds,
          [compute = one.compute, x] { return compute(x); }, learnt);
    }
    measure(cases, options, result.points);
  }
  result.fits = fit_points(result.points);
  const auto cross = [&](LayerKind first, LayerKind second, double predicted) {
    for (const char* pass : {kForward, kTraining})
      result.crossings.push_back(find_crossing(result.points, std::string(enum_name(first)),
                                               std::string(enum_name(second)), pass, predicted));
  };
  cross(LayerKind::attention, LayerKind::tanh_rnn, real(layer.width));
  cross(LayerKind::multi_head, LayerKind::lstm, 2 * real(layer.width));
  return result;
}

}  // namespace zoo
