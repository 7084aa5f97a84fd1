#include "training/trainer.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/stopwatch.h"
#include "core/text.h"

namespace zoo {

namespace {

bool is_due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

Json to_json(const TrainerState& state) {
  Json best = Json::array();
  for (const auto& [step, value] : state.best) best.push_back({{"step", step}, {"value", value}});
  return {{"step", state.step},
          {"position", state.position},
          {"seconds", state.seconds},
          {"tokens", state.tokens},
          {"flops", state.flops},
          {"skipped_steps", state.skipped_steps},
          {"evaluations_since_best", state.evaluations_since_best},
          {"evaluations_since_reduction", state.evaluations_since_reduction},
          {"reductions", state.reductions},
          {"best", best},
          {"report_loss_sum", state.report_loss_sum},
          {"report_targets", state.report_targets},
          {"loss_scale", state.loss_scale},
          {"loss_scale_good_steps", state.loss_scale_good_steps}};
}

TrainerState read_trainer_state(const fs::path& file) {
  const Json json = read_json_file(file);
  TrainerState state;
  try {
    json.at("step").get_to(state.step);
    json.at("position").get_to(state.position);
    json.at("seconds").get_to(state.seconds);
    // Runs from before these were counted have none of them.
    state.tokens = json.value("tokens", int64_t{0});
    state.flops = json.value("flops", 0.0);
    json.at("skipped_steps").get_to(state.skipped_steps);
    json.at("evaluations_since_best").get_to(state.evaluations_since_best);
    // Runs from before the plateau schedule have none of the two.
    state.evaluations_since_reduction = json.value("evaluations_since_reduction", int64_t{0});
    state.reductions = json.value("reductions", int64_t{0});
    for (const Json& entry : json.at("best"))
      state.best.push_back({entry.at("step").get<int64_t>(), entry.at("value").get<double>()});
    json.at("report_loss_sum").get_to(state.report_loss_sum);
    json.at("report_targets").get_to(state.report_targets);
    json.at("loss_scale").get_to(state.loss_scale);
    json.at("loss_scale_good_steps").get_to(state.loss_scale_good_steps);
  } catch (const Json::exception& error) {
    throw FormatError(cat(utf8(file), ": is no training state: ", error.what()));
  }
  return state;
}

int64_t count_steps(const TrainingConfig& config, const Task& task) {
  if (config.max_steps == 0 && config.epochs == 0 && config.max_tokens == 0 && config.max_time == 0)
    throw ConfigError(
        "training: nothing ends it; set max_steps, epochs, max_tokens or max_time above 0");
  if (config.epochs == 0 && config.max_tokens == 0) return config.max_steps;
  const auto goes_on = [](int64_t value, int64_t limit) { return limit == 0 || value < limit; };
  int64_t steps = 0, position = 0, tokens = 0;
  while (goes_on(position, config.epochs * task.epoch_size()) && goes_on(steps, config.max_steps) &&
         goes_on(tokens, config.max_tokens)) {
    for (int64_t i = 0; i < config.grad_accum; ++i) {
      // Only its tokens need the batch itself.
      if (config.max_tokens > 0)
        tokens += task.batch(config.overfit_batch ? 0 : position).token_count;
      position += task.batch_examples(position);
    }
    ++steps;
  }
  return steps;
}

Trainer::Trainer(const TrainerParts& parts)
    : parts_(parts),
      total_steps_(count_steps(parts.config, parts.task)),
      step_(
          parts.task, parts.config,
          Schedule(parts.config.schedule, parts.config.learning_rate, total_steps_, parts.d_model),
          parts.device) {
  const std::vector<std::string> names = parts.task.metric_names();
  step_.set_watch(parts.watch);
  const std::string& metric = parts.config.early_stopping.metric;
  if (std::find(names.begin(), names.end(), metric) == names.end())
    throw ConfigError(cat("training.early_stopping.metric: \"", metric,
                          "\" is no metric of this task; it has ", join(names, ", ")));
}

void Trainer::resume(const fs::path& checkpoint) {
  state_ = read_trainer_state(checkpoint / "trainer.json");
  const SafetensorsFile saved(checkpoint / "optimizer.safetensors");
  for (const auto& [name, tensor] : step_.state()) copy_state(tensor, saved.tensor(name), name);
  step_.swap_mean_weights();  // a checkpoint's model is the mean
  step_.loss_scale().restore(state_.loss_scale, state_.loss_scale_good_steps);
}

std::vector<Batch> Trainer::next_window() {
  std::vector<Batch> window;
  int64_t position = parts_.config.overfit_batch ? 0 : state_.position;
  for (int64_t i = 0; i < parts_.config.grad_accum; ++i) {
    window.push_back(parts_.task.batch(position));
    position += window.back().examples;
    state_.position += window.back().examples;
  }
  return window;
}

TrainEnd Trainer::run() {
  const TrainingConfig& config = parts_.config;
  const auto on_device = torch::TensorOptions(parts_.device);
  loss_sum_ = torch::full({}, state_.report_loss_sum, on_device.dtype(torch::kFloat64));
  skipped_ = torch::zeros({}, on_device.dtype(torch::kFloat32));
  const int64_t save_every = config.save_every > 0 ? config.save_every : config.eval_every;
  const Stopwatch session;
  parts_.task.module().train();

  std::optional<TrainEnd> end;
  while (!end) {
    const Stopwatch watch;
    const std::vector<Batch> window = next_window();
    last_ = step_.run(window, ++state_.step, state_.reductions);
    for (const Batch& batch : window) state_.flops += parts_.flops(batch);
    state_.tokens += last_.token_count;
    loss_sum_ += last_.loss_sum;
    skipped_ += last_.skipped;
    state_.report_targets += last_.target_count;
    tokens_ += last_.token_count;
    ++steps_;
    if (last_.target_count == 0)
      parts_.observer.notice(
          cat("step ", state_.step, ": no target in the whole batch, nothing learnt"));
    add_seconds(watch.seconds() - last_.watch_seconds);

    if (total_steps_ > 0 && state_.step >= total_steps_)
      end = state_.step == config.max_steps                               ? TrainEnd::steps
            : config.max_tokens > 0 && state_.tokens >= config.max_tokens ? TrainEnd::tokens
                                                                          : TrainEnd::epochs;
    else if (config.max_time > 0 && session.seconds() >= config.max_time)
      end = TrainEnd::time;
    if (parts_.stop()) end = TrainEnd::stopped;

    if (end || is_due(state_.step, config.log_every)) report();
    if (is_due(state_.step, config.eval_every) || (end && end != TrainEnd::stopped)) {
      evaluate();
      const int64_t patience = config.early_stopping.patience;
      if (!end && patience > 0 && state_.evaluations_since_best >= patience)
        end = TrainEnd::early_stopping;
    }
    if (end || is_kept_as_best(state_.step) || is_due(state_.step, save_every)) save();
    if (is_due(state_.step, config.sample_every) || (end && end != TrainEnd::stopped)) sample();
  }
  return *end;
}

void Trainer::require_progress() const {
  const int64_t skipped = step_.skipped_in_a_row();
  if (skipped < step_.skip_limit()) return;
  throw NumericError(cat("step ", state_.step, ": the gradient was not finite for ", skipped,
                         " steps in a row; the last checkpoint is good. Lower "
                         "training.learning_rate, clip with training.clip_norm, or use "
                         "training.precision fp32"));
}

void Trainer::add_seconds(double seconds) {
  interval_seconds_ += seconds;
  state_.seconds += seconds;
}

void Trainer::read_device() {
  state_.report_loss_sum = loss_sum_.item<double>();
  state_.skipped_steps += skipped_.item<int64_t>();
  skipped_.zero_();
}

void Trainer::report() {
  const Stopwatch watch;
  read_device();  // waits for the steps to end: part of their time
  add_seconds(watch.seconds());

  StepReport report;
  report.step = state_.step;
  report.total_steps = total_steps_;
  report.epoch =
      static_cast<double>(state_.position) / static_cast<double>(parts_.task.epoch_size());
  report.loss =
      state_.report_loss_sum / static_cast<double>(std::max<int64_t>(1, state_.report_targets));
  report.learning_rate = last_.learning_rate;
  report.grad_norm = last_.grad_norm.item<double>();
  report.skipped_steps = state_.skipped_steps;
  report.tokens = state_.tokens;
  report.flops = state_.flops;
  report.tokens_per_second = static_cast<double>(tokens_) / interval_seconds_;
  report.seconds = state_.seconds;
  report.seconds_left = total_steps_ == 0 ? -1
                                          : static_cast<double>(total_steps_ - state_.step) *
                                                interval_seconds_ / static_cast<double>(steps_);
  parts_.observer.steps(report);
  require_progress();

  // A report out of turn, at the end, leaves the sums for the one that is due after resuming.
  if (!is_due(state_.step, parts_.config.log_every)) return;
  loss_sum_.zero_();
  state_.report_loss_sum = 0;
  state_.report_targets = 0;
  tokens_ = steps_ = 0;
  interval_seconds_ = 0;
}

bool Trainer::is_better(double value, double than) const {
  const EarlyStoppingConfig& stopping = parts_.config.early_stopping;
  return larger_is_better(stopping.metric) ? value > than + stopping.min_delta
                                           : value < than - stopping.min_delta;
}

bool Trainer::is_kept_as_best(int64_t step) const {
  return parts_.config.keep_best > 0 &&
         std::any_of(state_.best.begin(), state_.best.end(),
                     [&](const RankedCheckpoint& best) { return best.step == step; });
}

void Trainer::evaluate() {
  require_progress();
  const Stopwatch watch;
  EvaluationReport report;
  report.step = state_.step;
  step_.swap_mean_weights();
  parts_.task.module().eval();
  last_metrics_ = parts_.task.evaluate(step_.precision());
  for (const auto& [name, value] : last_metrics_)
    report.metrics.emplace_back("valid_" + name, value);
  if (parts_.config.eval_batches > 0)
    report.metrics.emplace_back(
        "valid_loss_estimate",
        parts_.task.estimate_loss(parts_.config.eval_batches, static_cast<uint64_t>(state_.step),
                                  step_.precision()));
  parts_.task.module().train();
  step_.swap_mean_weights();

  const std::string& metric = parts_.config.early_stopping.metric;
  const double value = find_metric(last_metrics_, metric).value();
  if (!std::isfinite(value))
    throw NumericError(cat("step ", state_.step, ": valid_", metric, " is ", value,
                           "; the last checkpoint is good. Lower training.learning_rate"));
  report.is_best = state_.best.empty() || is_better(value, state_.best.front().value);
  state_.evaluations_since_best = report.is_best ? 0 : state_.evaluations_since_best + 1;
  state_.evaluations_since_reduction = report.is_best ? 0 : state_.evaluations_since_reduction + 1;
  const int64_t patience = step_.schedule().patience();
  if (patience > 0 && state_.evaluations_since_reduction == patience) {
    ++state_.reductions;
    state_.evaluations_since_reduction = 0;
  }
  // The first place changes hands only for a real improvement (min_delta); the others by value.
  auto place = report.is_best ? state_.best.begin() : state_.best.begin() + 1;
  if (!report.is_best)
    place = std::find_if(place, state_.best.end(), [&](const RankedCheckpoint& other) {
      return larger_is_better(metric) ? value > other.value : value < other.value;
    });
  state_.best.insert(place, {state_.step, value});
  const auto kept = static_cast<size_t>(std::max<int64_t>(1, parts_.config.keep_best));
  if (state_.best.size() > kept) state_.best.resize(kept);
  report.seconds = watch.seconds();
  parts_.observer.evaluated(report);
}

void Trainer::save() {
  require_progress();
  read_device();
  state_.loss_scale = step_.loss_scale().value();
  state_.loss_scale_good_steps = step_.loss_scale().good_steps();
  parts_.run.save_checkpoint(state_.step, [&](const fs::path& folder) {
    step_.swap_mean_weights();
    parts_.save_model(folder);
    write_safetensors(folder / "optimizer.safetensors", step_.state());
    step_.swap_mean_weights();
    Json json = to_json(state_);
    json["data"] = parts_.task.data_receipt();
    write_json_file(folder / "trainer.json", json);
  });
  parts_.run.link("last", state_.step);

  const TrainingConfig& config = parts_.config;
  const std::vector<int64_t> steps = parts_.run.checkpoint_steps();
  const auto has_checkpoint = [&](int64_t step) {
    return std::binary_search(steps.begin(), steps.end(), step);
  };
  if (config.keep_best > 0 && !state_.best.empty() && has_checkpoint(state_.best.front().step))
    parts_.run.link("best", state_.best.front().step);
  const auto newest = static_cast<size_t>(config.keep_last);
  const int64_t first_kept =
      config.keep_last == 0 || newest >= steps.size() ? 0 : steps[steps.size() - newest];
  parts_.run.prune([&](int64_t step) { return step >= first_kept || is_kept_as_best(step); });
  parts_.observer.saved(parts_.run.checkpoint(state_.step), state_.step);
}

void Trainer::sample() {
  step_.swap_mean_weights();
  parts_.task.module().eval();
  const std::string text = parts_.task.sample();
  parts_.task.module().train();
  step_.swap_mean_weights();
  parts_.observer.sampled(text, state_.step);
}

}  // namespace zoo
