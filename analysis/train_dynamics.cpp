#include "analysis/train_dynamics.h"

#include <ATen/Context.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "checkpoint/checkpoint.h"
#include "core/error.h"
#include "core/text.h"
#include "models/cost.h"

namespace zoo {

namespace {

/// Rows of the batch that gradient_reach() is asked about.
constexpr int64_t kProbeRows = 32;
constexpr int kProbeBatches = 16;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// "encoder.0" for "encoder_blocks.0.norm1.weight" and "encoder.weight_ih_l0"; "final_norm" for
/// "final_norm.weight".
std::string layer_of(const std::string& name) {
  const std::vector<std::string> path = split(name, '.');
  if (path[0].ends_with("blocks") && path.size() > 1) {
    const size_t side = path[0].find('_');
    return cat(side == std::string::npos ? "block" : path[0].substr(0, side), ".", path[1]);
  }
  for (const char* kind : {"weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"})
    if (path.back().starts_with(kind)) {
      std::string layer = path.back().substr(std::string_view(kind).size());
      std::replace(layer.begin(), layer.end(), '_', '.');
      return cat(path[0], ".", layer);
    }
  return path[0];
}

/// Names of groups and their rows in one parameter.
using Rows = std::vector<std::pair<std::string, int64_t>>;

/// Of self-attention: queries, keys and values lie in one matrix.
Rows qkv_rows(const ModelConfig& config) {
  return std::visit(
      [](const auto& model) -> Rows {
        if constexpr (requires { model.block.attention; }) {
          const AttentionConfig& attention = model.block.attention;
          const int64_t width = model.d_model / attention.num_heads;
          return {{"attention.q", attention.num_heads * width},
                  {"attention.k", attention.kv_heads() * width},
                  {"attention.v", attention.kv_heads() * width}};
        } else {
          return {};
        }
      },
      config);
}

Rows gate_rows(const ModelConfig& config, const std::string& kind, int64_t rows) {
  const auto* rnn = std::get_if<RnnSeq2SeqConfig>(&config);
  std::vector<const char*> gates;
  if (rnn != nullptr && rnn->cell == RecurrentCell::lstm)
    gates = {"input", "forget", "cell", "output"};
  if (rnn != nullptr && rnn->cell == RecurrentCell::gru) gates = {"reset", "update", "new"};
  if (gates.empty()) return {{kind, rows}};
  Rows all;
  for (const char* gate : gates) all.emplace_back(cat(kind, ".", gate), rows / std::ssize(gates));
  return all;
}

/// @param part as ParameterCost has it
Rows rows_by_group(const ModelConfig& config, const std::string& part, const std::string& name,
                   int64_t rows) {
  const auto has = [&](const char* text) { return name.find(text) != std::string::npos; };
  if (part == "feed_forward") return {{has(".down.") ? "ffn2" : "ffn1", rows}};
  if (part == "output") return {{name.starts_with("readout") ? "readout" : "output", rows}};
  if (part == "recurrent") {
    if (has("_ih_l")) return gate_rows(config, "input", rows);
    if (has("_hh_l")) return gate_rows(config, "recurrent", rows);
    return {{"bridge", rows}};
  }
  if (part != "attention") return {{part, rows}};
  if (has("attention.qkv.")) return qkv_rows(config);
  const std::string kind = has("cross_attention.") ? "cross_attention" : "attention";
  if (has("attention.kv.")) return {{kind + ".k", rows / 2}, {kind + ".v", rows / 2}};
  if (has("attention.q.") || has("attention.query.")) return {{kind + ".q", rows}};
  if (has("attention.key.")) return {{kind + ".k", rows}};
  return {{kind + (has("attention.score.") ? ".score" : ".o"), rows}};
}

Tensor square_sum(const Tensor& tensor) { return tensor.to(torch::kFloat64).square().sum(); }

/// Scalars on one device as numbers, with one wait for it.
std::vector<double> numbers(const std::vector<Tensor>& scalars) {
  if (scalars.empty()) return {};
  const Tensor all = torch::stack(scalars).to(torch::kFloat64).cpu().contiguous();
  const auto* first = all.const_data_ptr<double>();
  return {first, first + all.numel()};
}

/// FNV-1a over 64-bit words (Fowler, Noll, Vo), of shapes and contents.
uint64_t hash_of(std::span<const Batch> window) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3ULL; };
  for (Batch batch : window)
    for (const Tensor* tensor : tensors_of(batch)) {
      if (!tensor->defined()) continue;
      const Tensor bytes = tensor->cpu().contiguous();
      for (const int64_t size : bytes.sizes()) mix(static_cast<uint64_t>(size));
      const auto* data = static_cast<const char*>(bytes.const_data_ptr());
      const size_t count = bytes.nbytes();
      for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, data + at, std::min(sizeof word, count - at));
        mix(word);
      }
    }
  return hash;
}

/// Puts a module into evaluation mode, with gradients, while it lives. cuDNN's recurrent layers
/// have no gradient in that mode.
class ProbeMode {
 public:
  explicit ProbeMode(torch::nn::Module& module)
      : module_(module),
        was_training_(module.is_training()),
        had_cudnn_(at::globalContext().userEnabledCuDNN()) {
    module.eval();
    at::globalContext().setUserEnabledCuDNN(false);
  }
  ~ProbeMode() {
    module_.train(was_training_);
    at::globalContext().setUserEnabledCuDNN(had_cudnn_);
  }
  ProbeMode(const ProbeMode&) = delete;
  ProbeMode& operator=(const ProbeMode&) = delete;

 private:
  torch::nn::Module& module_;
  bool was_training_, had_cudnn_;
  torch::AutoGradMode with_gradients_{true};
};

/// @param gradient (B, T, D)  @param lengths (B) int64, places of each row that count
std::vector<double> by_distance(const Tensor& gradient, const Tensor& lengths) {
  const Tensor squares =
      gradient.to(torch::kFloat64).square().sum(-1).cpu().contiguous();  // (B, T)
  const Tensor counts = lengths.cpu().contiguous();
  const auto square = squares.accessor<double, 2>();
  const auto count = counts.accessor<int64_t, 1>();
  std::vector<double> norms;
  for (int64_t k = 0; k < squares.size(1); ++k) {
    double sum = 0;
    int64_t rows = 0;
    for (int64_t row = 0; row < squares.size(0); ++row) {
      if (count[row] <= k) continue;
      sum += square[row][count[row] - 1 - k];
      ++rows;
    }
    if (rows == 0) break;
    norms.push_back(std::sqrt(sum / static_cast<double>(rows)));
  }
  return norms;
}

}  // namespace

std::vector<ParameterPart> parameter_parts(const ModelConfig& config,
                                           const NamedTensors& parameters) {
  const std::vector<ParameterCost> costs = parameter_costs(config);
  std::vector<ParameterPart> parts;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].first;
    const Tensor& tensor = parameters[i].second;
    const auto cost = std::find_if(costs.begin(), costs.end(), [&](const ParameterCost& known) {
      return matches_pattern(name, known.name);
    });
    const std::string part = cost == costs.end() ? "other" : cost->part;
    int64_t first = 0;
    for (auto& [group, rows] : rows_by_group(config, part, name, tensor.size(0))) {
      parts.push_back({i, first, rows, {group, layer_of(name)}});
      first += rows;
    }
  }
  return parts;
}

std::vector<GradientReach> gradient_reach(torch::nn::Module& module, const Batch& batch,
                                          int64_t step) {
  auto* const lm = dynamic_cast<CausalLm*>(&module);
  auto* const seq2seq = dynamic_cast<Seq2Seq*>(&module);
  if (lm == nullptr && seq2seq == nullptr) return {};
  const ProbeMode mode(module);

  const Tensor places = torch::arange(1, batch.targets.size(1) + 1, batch.targets.options());
  const Tensor lengths = (batch.targets.ne(kNoTarget) * places).amax(1);  // (B), 0: no target
  const Tensor rows = lengths.nonzero().squeeze(1);                       // (R)
  const Tensor last = lengths.index_select(0, rows) - 1;                  // (R)
  const auto at_last = [&](const Tensor& all) { return all.index({rows, last}); };  // (R, ...)

  const auto tap = [] {
    return Tap{.want_attention = false, .want_hidden = true, .attention = {}, .hidden = {}};
  };
  Tap source = tap(), target = tap();
  Tensor logits;  // (R, V)
  if (lm != nullptr) {
    DecodeArgs args;
    args.tap = &target;
    logits = at_last(lm->forward(batch.inputs, args));
  } else {
    TeachArgs args;
    args.tap = &target;
    const Encoded encoded = seq2seq->encode(batch.source, batch.source_lengths, &source);
    logits = seq2seq->logits(at_last(seq2seq->decode(encoded, batch.inputs, args)));
  }
  const Tensor loss =
      at::cross_entropy_loss(logits, at_last(batch.targets), {}, at::Reduction::Sum);

  // The embedding stands first in a tap.
  std::vector<Tensor> inputs = {target.hidden[0]};
  if (seq2seq != nullptr) inputs.push_back(source.hidden[0]);
  const auto gradients = torch::autograd::grad({loss}, inputs);
  std::vector<GradientReach> reach;
  if (seq2seq != nullptr)
    reach.push_back(
        {step, "source",
         by_distance(gradients[1].index_select(0, rows), batch.source_lengths.index({rows}))});
  reach.push_back({step, "target", by_distance(gradients[0].index_select(0, rows), last + 1)});
  return reach;
}

namespace {

/// Of the first batches: where batches are of like lengths, the very first may hold short rows.
Batch longest_batch(const Task& task) {
  const auto length = [](const Batch& batch) {
    return batch.inputs.size(1) + (batch.source.defined() ? batch.source.size(1) : 0);
  };
  Batch longest = task.batch(0);
  int64_t position = longest.examples;
  for (int i = 1; i < kProbeBatches; ++i) {
    Batch next = task.batch(position);
    position += next.examples;
    if (length(next) > length(longest)) longest = std::move(next);
  }
  return longest;
}

}  // namespace

DynamicsWatch::DynamicsWatch(const ProjectConfig& project, Task& task, const DynamicsLook& look,
                             Dynamics& result)
    : model_(project.model), task_(task), look_(look), result_(result) {
  result_ = {};
  result_.clip_norm = project.training.clip_norm;
  probe_ = look.by_time ? longest_batch(task) : task.batch(0);
  probe_ = rows_of(probe_, 0, std::min(kProbeRows, probe_.examples));
  clipped_ = torch::zeros({}, probe_.targets.options());
}

void DynamicsWatch::begin(int64_t /*step*/, std::span<const Batch> window) {
  result_.read.push_back(hash_of(window));
}

void DynamicsWatch::before_update(const StepView& view) {
  if (parts_.empty()) {
    parts_ = parameter_parts(model_, view.parameters);
    for (const ParameterPart& part : parts_) {
      const auto found = std::find(result_.groups.begin(), result_.groups.end(), part.group);
      group_of_.push_back(static_cast<size_t>(found - result_.groups.begin()));
      if (found == result_.groups.end()) result_.groups.push_back(part.group);
    }
  }
  ++steps_;
  if (result_.clip_norm > 0)
    clipped_ +=
        view.outcome.grad_norm.gt(result_.clip_norm).logical_and(view.outcome.skipped.eq(0));
  if (look_.by_layer && is_due(view.step)) measure_gradients(view);
}

void DynamicsWatch::measure_gradients(const StepView& view) {
  gradients_.clear();
  weights_.clear();
  for (const auto& [name, parameter] : view.parameters) {
    const Tensor gradient = parameter.grad();
    Tensor copy = gradient.defined() ? gradient.clone() : torch::zeros_like(parameter);
    if (view.loss_scale.defined()) copy /= view.loss_scale;
    gradients_.push_back(std::move(copy));
    weights_.push_back(parameter.detach().clone());
  }
}

void DynamicsWatch::after_update(const StepView& view) {
  if (!is_due(view.step)) return;
  if (look_.by_layer) measure_update(view);
  if (look_.by_time)
    for (GradientReach& reach : gradient_reach(task_.module(), probe_, view.step))
      result_.reach.push_back(std::move(reach));
  clipped_.zero_();
  steps_ = 0;
  gradients_.clear();
  weights_.clear();
}

void DynamicsWatch::measure_update(const StepView& view) {
  const size_t groups = result_.groups.size();
  std::vector<Tensor> sums;  // squares of gradient, weight and update of each part
  for (const ParameterPart& part : parts_) {
    const auto rows = [&](const Tensor& all) { return all.narrow(0, part.first, part.rows); };
    const Tensor weight = rows(weights_[part.parameter]);
    const Tensor now = rows(view.parameters[part.parameter].second.detach());
    for (const Tensor& tensor : {rows(gradients_[part.parameter]), weight, now - weight})
      sums.push_back(square_sum(tensor));
  }
  std::vector<Tensor> whole;  // squares before and after clipping and their product, by parameter
  for (size_t i = 0; i < gradients_.size(); ++i) {
    const Tensor before = gradients_[i].to(torch::kFloat64);
    const Tensor& grad = view.parameters[i].second.grad();
    const Tensor after = grad.defined() ? grad.to(torch::kFloat64) : torch::zeros_like(before);
    for (const Tensor& scalar :
         {before.square().sum(), after.square().sum(), (before * after).sum()})
      whole.push_back(scalar);
  }

  DynamicsStep step;
  step.step = view.step;
  step.loss = view.outcome.loss_sum.item<double>() / static_cast<double>(view.outcome.target_count);
  step.clipped = static_cast<double>(clipped_.item<int64_t>()) / static_cast<double>(steps_);
  step.grad_norm = view.outcome.grad_norm.item<double>();
  const bool skipped = view.outcome.skipped.item<double>() != 0;

  std::vector<std::array<double, 3>> squares(groups);
  const std::vector<double> parts = numbers(sums);
  for (size_t i = 0; i < parts.size(); ++i) squares[group_of_[i / 3]][i % 3] += parts[i];
  for (const auto& [grad, weight, update] : squares)
    step.groups.push_back({std::isfinite(grad) ? std::sqrt(grad) : kNan, std::sqrt(weight),
                           weight > 0 ? std::sqrt(update / weight) : kNan});
  std::array<double, 3> total{};
  const std::vector<double> all = numbers(whole);
  for (size_t i = 0; i < all.size(); ++i) total[i % 3] += all[i];
  step.exact_norm = skipped ? kNan : std::sqrt(total[0]);
  step.clipped_norm = skipped ? kNan : std::sqrt(total[1]);
  step.clip_cosine = skipped ? kNan : total[2] / std::sqrt(total[0] * total[1]);
  result_.steps.push_back(std::move(step));
}

DynamicsRun dynamics_run(const std::string& name, const std::vector<fs::path>& more,
                         const std::vector<ConfigSetting>& settings) {
  const fs::path path = utf8_path(name);
  // "runs/a/" and "runs/a" name the same.
  const fs::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
  if (!fs::is_directory(path)) {
    std::vector<fs::path> files = {path};
    files.insert(files.end(), more.begin(), more.end());
    return {utf8(last.stem()), read_project(files, settings), {}};
  }
  const fs::path checkpoint = resolve_checkpoint(path);
  return {utf8(last), read_project(more, settings, read_zoo_json(checkpoint)), checkpoint};
}

std::vector<DynamicsRun> dynamics_runs(const std::vector<std::string>& names,
                                       const std::vector<fs::path>& more,
                                       const std::vector<ConfigSetting>& settings) {
  std::vector<DynamicsRun> runs;
  for (const std::string& name : names) {
    DynamicsRun run = dynamics_run(name, more, settings);
    const std::string plain = run.name;
    const auto is_taken = [&] {
      return std::any_of(runs.begin(), runs.end(),
                         [&](const DynamicsRun& other) { return other.name == run.name; });
    };
    for (int number = 2; is_taken(); ++number) run.name = cat(plain, "-", number);
    runs.push_back(std::move(run));
  }
  return runs;
}

void with_name_of(const DynamicsRun& run, const std::function<void()>& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    throw ConfigError(cat(run.name, ": ", error.what()));
  }
}

std::vector<TrainedDynamics> train_dynamics(const std::vector<DynamicsRun>& runs,
                                            const TrainDynamicsOptions& options,
                                            TrainObserver& observer) {
  std::vector<TrainedDynamics> trainings;
  for (const DynamicsRun& run : runs) {
    options.on_start(run);
    TrainedDynamics training;
    training.name = run.name;
    TrainOptions train_options;
    train_options.output = options.output / utf8_path(run.name);
    train_options.overwrite = options.overwrite;
    train_options.init_from = run.init_from;
    train_options.device = options.device;
    train_options.command_line = options.command_line;
    train_options.stop = options.stop;
    train_options.watch = [&](const ProjectConfig& project, Task& task) {
      return std::make_unique<DynamicsWatch>(project, task, options.look, training.dynamics);
    };
    with_name_of(run, [&] { training.result = train(run.project, train_options, observer); });
    write_file(train_options.output / "dynamics.csv", dynamics_csv(training.dynamics));
    write_file(train_options.output / "gradient_time.csv", reach_csv(training.dynamics));
    if (!training.dynamics.steps.empty()) {
      write_file(train_options.output / "layers.svg", layer_chart(training.dynamics, run.name));
      write_file(train_options.output / "groups.svg", group_chart(training.dynamics, run.name));
    }
    trainings.push_back(std::move(training));
    if (trainings.back().result.end == TrainEnd::stopped) break;
  }
  return trainings;
}

std::vector<TheoryCheck> dynamics_checks(const std::vector<TrainedDynamics>& trainings) {
  std::vector<TheoryCheck> checks;
  for (const TrainedDynamics& training : trainings)
    for (TheoryCheck& check : dynamics_checks(training.dynamics, training.name))
      checks.push_back(std::move(check));
  return checks;
}

void write_train_dynamics(const std::vector<TrainedDynamics>& trainings, const fs::path& folder) {
  std::string steps, reach;
  Json models = Json::array();
  std::vector<std::pair<std::string, const Dynamics*>> named;
  for (const TrainedDynamics& training : trainings) {
    const auto& [name, result, dynamics] = training;
    const auto append = [](std::string& all, const std::string& table) {
      all += all.empty() ? table : table.substr(table.find('\n') + 1);
    };
    append(steps, dynamics_csv(dynamics, name));
    append(reach, reach_csv(dynamics, name));
    models.push_back(to_json(dynamics, name));
    named.emplace_back(name, &dynamics);
  }
  write_file(folder / "train.csv", steps);
  write_file(folder / "reach.csv", reach);
  write_file(folder / "reach.svg", reach_chart(named));
  write_file(folder / "clipping.svg", clipping_chart(named));
  write_json_file(folder / "gradnorm.json",
                  {{"version", ZOO_VERSION}, {"mode", "train"}, {"models", models}});
}

}  // namespace zoo
