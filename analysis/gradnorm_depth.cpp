// Mode `depth`: what stands at each layer of a Transformer's encoder when training begins, pre- and
// post-norm (Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", sections
// 3.2 and 3.3).

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/gradnorm_modes.h"
#include "analysis/power_fit.h"
#include "nn/feed_forward/mlp.h"

namespace zoo {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ProbeShape encoder(const GradnormOptions& options, NormPlacement norm, int64_t depth) {
  // Xiong et al. take an inner width of D and no positions.
  return {.model = ProbeModel::transformer,
          .input = options.d,
          .hidden = options.d,
          .layers = depth,
          .norm = norm,
          .causal = false,
          .positions = false};
}

double square_over_width(const Tensor& x) { return x.square().mean().item<double>(); }

// What the last norm of a post-norm block reads. @param x (B, T, D), the block's input
Tensor before_last_norm(BlockImpl& block, const Tensor& x, const AttentionScope& scope) {
  const Tensor y = block.norm1->forward(x + block.attention->forward(x, scope, 0));
  return y + block.feed_forward->forward(y);
}

void measure(const GradnormOptions& options, NormPlacement norm, int64_t depth, uint64_t seed,
             std::vector<DepthRow>& rows) {
  const bool pre = norm == NormPlacement::pre;
  Probe probe = drawn_probe(encoder(options, norm, depth), {}, seed, options.float32);
  const Tensor x = probe_inputs(options.batch, options.T, options.d, options.float32);
  const ProbeTrace trace = probe.forward(x, /*every_place=*/true);
  const Tensor loss = probe_loss(trace.output, options.loss) / options.batch;

  std::vector<Tensor> wanted;
  std::vector<DepthRow> found;
  const auto add = [&](int64_t layer, const char* parameter, const Tensor& tensor) {
    wanted.push_back(tensor);
    found.push_back({.norm = norm,
                     .depth = depth,
                     .layer = layer,
                     .parameter = parameter,
                     .hidden_sq_over_d = kNone,
                     .low = kNone,
                     .high = kNone,
                     .seed = seed});
  };
  for (int64_t layer = 0; layer <= depth; ++layer) {
    const auto index = static_cast<size_t>(layer);
    const Tensor& hidden = trace.observed[index].steps[0];  // (B, T, D)
    add(layer, "x", hidden);
    DepthRow& row = found.back();
    {
      const torch::NoGradGuard no_grad;
      row.hidden_sq_over_d = square_over_width(
          pre || layer == 0
              ? hidden
              : before_last_norm(*probe.blocks->ptr<BlockImpl>(index - 1),
                                 trace.observed[index - 1].steps[0], probe.scope(hidden)));
    }
    const auto l = static_cast<double>(layer);
    if (pre) row.low = 1 + l / 2, row.high = 1 + 3 * l / 2;
    if (!pre && layer > 0) row.low = 1.4, row.high = 1.6;
    if (layer == 0) continue;
    const auto& block = probe.blocks->at<BlockImpl>(index - 1);
    const auto& mlp = *block.feed_forward->as<MlpImpl>();
    add(layer, "qkv", block.attention->qkv->weight);
    add(layer, "out", block.attention->out->weight);
    add(layer, "w1", mlp.up->weight);
    add(layer, "w2", mlp.down->weight);
  }
  const auto gradients = torch::autograd::grad({loss}, wanted, {}, false, false, true);
  for (size_t i = 0; i < found.size(); ++i)
    found[i].grad_norm = gradients[i].defined() ? gradients[i].norm().item<double>() : 0;
  rows.insert(rows.end(), found.begin(), found.end());
}

// Means over seeds of one column.
class Means {
 public:
  explicit Means(const std::vector<DepthRow>& rows) : rows_(rows) {}

  double operator()(NormPlacement norm, int64_t depth, int64_t layer, const char* parameter,
                    double DepthRow::*value) const {
    std::vector<double> found;
    for (const DepthRow& row : rows_)
      if (row.norm == norm && row.depth == depth && row.layer == layer &&
          row.parameter == parameter)
        found.push_back(row.*value);
    return mean_of(found);
  }
  double w2(NormPlacement norm, int64_t depth, int64_t layer) const {
    return (*this)(norm, depth, layer, "w2", &DepthRow::grad_norm);
  }
  double square(NormPlacement norm, int64_t depth, int64_t layer) const {
    return (*this)(norm, depth, layer, "x", &DepthRow::hidden_sq_over_d);
  }

 private:
  const std::vector<DepthRow>& rows_;
};

void check_post(const GradnormOptions& options, const Means& means,
                std::vector<TheoryCheck>& checks) {
  double least = kInfinity, most = -kInfinity;
  for (const int64_t depth : options.depths) {
    const double square = means.square(NormPlacement::post, depth, depth);
    least = std::min(least, square), most = std::max(most, square);
  }
  const std::string claim = "post-norm: E||x||^2 / d before the last norm is 3/2 (";
  checks.push_back({"G9a", claim + "least of all depths)", least, 1.4, 1.6});
  checks.push_back({"G9a", claim + "largest of all depths)", most, 1.4, 1.6});
}

void check_pre(const GradnormOptions& options, const Means& means,
               std::vector<TheoryCheck>& checks) {
  double outside = 0;
  for (const int64_t depth : options.depths) {
    for (int64_t layer = 1; layer <= depth; ++layer) {
      const double square = means.square(NormPlacement::pre, depth, layer);
      const auto l = static_cast<double>(layer);
      outside += square < 1 + l / 2 || square > 1 + 3 * l / 2;
    }
  }
  checks.push_back(
      {"G9b", "pre-norm: 1 + l/2 <= E||x_l||^2 / d <= 1 + 3 l/2 (layers outside)", outside, 0, 0});
}

void check_weights(const GradnormOptions& options, const std::vector<NormPlacement>& norms,
                   const Means& means, std::vector<TheoryCheck>& checks) {
  const int64_t deepest = *std::max_element(options.depths.begin(), options.depths.end());
  std::vector<double> depths(options.depths.begin(), options.depths.end());
  for (const NormPlacement norm : norms) {
    const bool pre = norm == NormPlacement::pre;
    const std::string name = pre ? "pre-norm: " : "post-norm: ";
    if (options.depths.size() >= 3) {
      std::vector<double> last;
      for (const int64_t depth : options.depths) last.push_back(means.w2(norm, depth, depth));
      checks.push_back({"G9c",
                        name + "||dL/dW2|| of the last layer over the depth L, exponent" +
                            (pre ? " (theory -1/2)" : " (theory 0)"),
                        fit_power(depths, last).slope, pre ? -0.6 : -0.1, pre ? -0.3 : 0.35});
    }
    checks.push_back(
        {"G9d", cat(name, "||dL/dW2|| of the last layer over the first, ", deepest, " layers"),
         means.w2(norm, deepest, deepest) / means.w2(norm, deepest, 1), -kInfinity,
         pre && deepest >= 24 ? 0.35 : kInfinity});
  }
  if (norms.size() == 2)
    checks.push_back(
        {"G9c", cat("||dL/dW2|| of the last of ", deepest, " layers, post-norm over pre-norm"),
         means.w2(NormPlacement::post, deepest, deepest) /
             means.w2(NormPlacement::pre, deepest, deepest),
         deepest >= 24 ? 4 : -kInfinity, kInfinity});
}

// The Jacobian of f at x, both (T, D): (T D, T D).
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const Tensor leaf = x.detach().requires_grad_();
  const Tensor y = f(leaf).flatten();
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < y.numel(); ++i)
    rows.push_back(torch::autograd::grad({y[i]}, {leaf}, {}, /*retain_graph=*/true)[0].flatten());
  return torch::stack(rows);
}

void check_residuals(const GradnormOptions& options, std::vector<TheoryCheck>& checks) {
  constexpr int64_t kWidth = 8, kTokens = 3, kDepth = 4;
  Probe probe = drawn_probe({.model = ProbeModel::transformer,
                             .input = kWidth,
                             .hidden = 2 * kWidth,
                             .layers = kDepth,
                             .positions = false},
                            {}, options.seed);
  const Tensor x = probe_inputs(1, kTokens, kWidth, false)[0];  // (T, D)
  const AttentionScope scope = probe.scope(x.unsqueeze(0));
  const Tensor whole = jacobian(
      [&](const Tensor& in) {
        return probe.forward(in.unsqueeze(0), true).observed.back().steps[0];
      },
      x);
  const Tensor one = torch::eye(kWidth * kTokens, torch::kFloat64);
  Tensor product = one, at = x;
  for (int64_t layer = 0; layer < kDepth; ++layer) {
    auto& block = probe.blocks->at<BlockImpl>(static_cast<size_t>(layer));
    const auto attention = [&](const Tensor& in) {
      return block.attention->forward(block.norm1->forward(in.unsqueeze(0)), scope, 0)[0];
    };
    const auto feed_forward = [&](const Tensor& in) {
      return block.feed_forward->forward(block.norm2->forward(in.unsqueeze(0)))[0];
    };
    for (const std::function<Tensor(const Tensor&)>& part :
         {std::function<Tensor(const Tensor&)>(attention),
          std::function<Tensor(const Tensor&)>(feed_forward)}) {
      product = (one + jacobian(part, at)).matmul(product);
      at = (at + part(at)).detach();
    }
  }
  checks.push_back({"G10",
                    "pre-norm: the stack's Jacobian is the product of I + J_l of its sub-layers "
                    "(largest error)",
                    (whole - product).abs().max().item<double>(), 0, 1e-10});
}

}  // namespace

void gradnorm_depth(const GradnormOptions& options, GradnormResult& result) {
  const std::vector<NormPlacement> norms =
      options.norm ? std::vector{*options.norm}
                   : std::vector{NormPlacement::pre, NormPlacement::post};
  for (const NormPlacement norm : norms) {
    for (const int64_t depth : options.depths) {
      if (options.on_start) options.on_start(cat(enum_name(norm), "-norm, ", depth, " layers"));
      for (int64_t seed = 0; seed < options.seeds; ++seed)
        measure(options, norm, depth, options.seed + static_cast<uint64_t>(seed), result.depth);
      result.parameters.emplace_back(cat(enum_name(norm), "-norm, ", depth, " layers"),
                                     Probe(encoder(options, norm, depth)).parameter_count());
    }
  }
  if (!options.checks) return;
  const Means means(result.depth);
  for (const NormPlacement norm : norms)
    norm == NormPlacement::pre ? check_pre(options, means, result.checks)
                               : check_post(options, means, result.checks);
  check_weights(options, norms, means, result.checks);
  check_residuals(options, result.checks);
}

}  // namespace zoo
