#include "training/train.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

#include <cmath>
#include <ctime>

#include "checkpoint/average.h"
#include "checkpoint/checkpoint.h"
#include "core/config.h"
#include "core/error.h"
#include "core/scratch.h"
#include "core/stopwatch.h"
#include "core/system.h"
#include "core/text.h"
#include "models/cost.h"
#include "training/averaging.h"
#include "training/tasks.h"
#include "training/tensorboard.h"

namespace zoo {

namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// Keeps the run folder's records, and passes everything on.
class Recorder final : public TrainObserver {
 public:
  Recorder(const RunFolder& run, bool tensorboard, TrainObserver& next)
      : run_(run), wants_tensorboard_(tensorboard), next_(next) {}

  void started(const fs::path& path, int64_t step) override {
    if (wants_tensorboard_) tensorboard_.emplace(run_.path() / "tensorboard", step);
    log(step == 0 ? "started" : cat("went on after step ", with_thousands(step)));
    next_.started(path, step);
  }
  void steps(const StepReport& report) override {
    log(log_line(report));
    run_.append("metrics.jsonl", to_json(report).dump());
    if (tensorboard_)
      tensorboard_->scalars(report.step, {{"train/loss", report.loss},
                                          {"train/learning_rate", report.learning_rate},
                                          {"train/grad_norm", report.grad_norm},
                                          {"train/tokens_per_second", report.tokens_per_second}});
    next_.steps(report);
  }
  void evaluated(const EvaluationReport& report) override {
    log(log_line(report));
    run_.append("metrics.jsonl", to_json(report).dump());
    if (tensorboard_) {
      Metrics grouped;
      for (const auto& [name, value] : report.metrics)
        grouped.emplace_back("valid/" + name.substr(name.find('_') + 1), value);
      tensorboard_->scalars(report.step, grouped);
    }
    next_.evaluated(report);
  }
  void saved(const fs::path& checkpoint, int64_t step) override {
    log("saved " + utf8(checkpoint.filename()));
    next_.saved(checkpoint, step);
  }
  void sampled(const std::string& text, int64_t step) override {
    const std::string name = utf8(run_.checkpoint(step).filename()) + ".txt";
    write_file(run_.path() / "samples" / name, text + "\n");
    next_.sampled(text, step);
  }
  void notice(const std::string& message) override {
    log(message);
    next_.notice(message);
  }

 private:
  void log(const std::string& line) { run_.append("train.log", utc_now() + " " + line); }

  const RunFolder& run_;
  bool wants_tensorboard_;
  TrainObserver& next_;
  std::optional<TensorboardWriter> tensorboard_;
};

/// run.json: what was done, with what, and what came of it. A resumed run adds a session.
class Receipt {
 public:
  Receipt(const RunFolder& run, const TrainOptions& options) : file_(run.path() / "run.json") {
    if (fs::exists(file_)) json_ = read_json_file(file_);
    if (!json_.is_object()) json_ = Json::object();
    json_["status"] = "preparing";
    json_.erase("error");
    json_["sessions"].push_back({{"command", options.command_line},
                                 {"started", utc_now()},
                                 {"transformer_zoo", ZOO_VERSION},
                                 {"libtorch", TORCH_VERSION},
                                 {"device", options.device.str()},
                                 {"processor", processor_name()},
                                 {"threads", at::get_num_threads()}});
    write();
  }

  void start(const ProjectConfig& project, const Task& task, int64_t parameters, int64_t step) {
    json_["sessions"].back()["from_step"] = step;
    json_["status"] = "running";
    json_["seed"] = project.training.seed;
    json_["parameters"] = parameters;
    json_["data"] = task.data_receipt();
    json_["config"] = config_to_json(project);
    write();
  }
  void finish(const TrainResult& result, const Trainer& trainer) {
    json_["sessions"].back()["ended"] = utc_now();
    if (peak_memory_bytes() > 0) {
      json_["sessions"].back()["memory_before_bytes"] = memory_before_;
      json_["sessions"].back()["peak_memory_bytes"] = peak_memory_bytes();
    }
    json_["status"] = std::string(enum_name(result.end));
    json_["result"] = {{"step", result.step},
                       {"seconds", trainer.state().seconds},
                       {"metric", "valid_" + result.metric},
                       {"best_value", result.best_value},
                       {"best_step", result.best_step},
                       {"checkpoint", utf8(result.checkpoint.filename())}};
    for (const auto& [name, value] : trainer.last_metrics())
      json_["result"]["last_valid_" + name] = value;
    write();
  }
  /// Does not throw: the failure to report comes first.
  void fail(const std::string& message) noexcept {
    try {
      json_["status"] = "failed";
      json_["error"] = message;
      write();
    } catch (const std::exception&) {
    }
  }

 private:
  void write() const { write_json_file(file_, json_); }

  fs::path file_;
  Json json_;
  int64_t memory_before_ = reset_peak_memory();
};

/// The checkpoint to go on from, if there is one.
std::optional<fs::path> resume_point(const TrainOptions& options) {
  if (!options.resume) return std::nullopt;
  const std::string& wish = *options.resume;
  if (wish != "auto" && wish != "last" && wish != "best") {
    const fs::path path = resolve_checkpoint(utf8_path(wish));
    if (fs::exists(path / "trainer.json")) return path;
    throw DataError(cat(wish,
                        ": holds no trainer.json, so nothing can be resumed from it; use "
                        "--init-from to start a new training from its weights"));
  }
  if (fs::is_directory(options.output)) {
    const RunFolder run(options.output);
    if (const auto found = run.linked(wish == "best" ? "best" : "last")) {
      if (fs::exists(*found / "trainer.json")) return found;
      throw DataError(cat(utf8(options.output), ": its best checkpoint is the mean of several, ",
                          utf8(*found), ", from which no training can go on; resume from last"));
    }
    const std::vector<int64_t> steps = run.checkpoint_steps();
    if (wish != "best" && !steps.empty()) return run.checkpoint(steps.back());
  }
  if (wish == "auto") return std::nullopt;
  throw DataError(cat(utf8(options.output), ": has no checkpoint \"", wish,
                      "\" to resume from; leave --resume out to start from the beginning"));
}

void require_same_config(const ProjectConfig& stored, ProjectConfig wanted) {
  // A vocabulary left to the tokenizer and labels left to the data are those of the run.
  ModelConfig run = stored.model;
  const std::vector<std::string>* const labels = class_names(run);
  std::vector<std::string>* const wanted_labels = class_names(wanted.model);
  if (labels != nullptr && wanted_labels != nullptr && wanted_labels->empty())
    *wanted_labels = *labels;
  std::visit(
      [&](const auto& model) {
        if constexpr (requires { model.source_vocab_size; })
          fit_to_vocabulary(wanted.model, model.vocab_size, model.source_vocab_size);
        else if constexpr (requires { model.vocab_size; })
          fit_to_vocabulary(wanted.model, model.vocab_size, 0);
      },
      stored.model);
  std::vector<std::string> lines;
  for (const ConfigDifference& difference :
       compare_json(config_to_json(stored), config_to_json(wanted)))
    lines.push_back(cat("  ", difference.path, ": ", difference.first, " in the run, ",
                        difference.second, " now"));
  if (!lines.empty())
    throw ConfigError(
        cat("--resume: the config differs from the run's:\n", join(lines, "\n"),
            "\ntake the run's by leaving --config and the other flags out, or say what "
            "shall change: --override KEY=VALUE"));
}

/// Makes the run folder ready for a training that starts afresh.
void prepare_fresh(const RunFolder& run, const TrainOptions& options) {
  // An interrupted run that had not saved yet may start again under --resume.
  if (options.overwrite || (options.resume && run.holds_only_a_run()))
    run.clear();
  else if (!run.is_empty())
    throw ConfigError(
        cat(utf8(run.path()),
            ": the output folder is not empty; give --resume to go on with the run in "
            "it, --overwrite to replace it, or another --output"));
}

/// Tokenizers, model and task of a project.
struct Parts {
  ProjectConfig project;                        ///< with the vocabularies' sizes
  std::shared_ptr<Tokenizer> tokenizer;         ///< of what the model writes; null for pictures
  std::shared_ptr<Tokenizer> source_tokenizer;  ///< of what an encoder reads; may be the same
  std::shared_ptr<torch::nn::Module> model;
  std::unique_ptr<Task> task;
};

std::shared_ptr<Tokenizer> new_tokenizer(const ProjectConfig& project,
                                         const TokenizerConfig& config, TextSide side,
                                         const fs::path& scratch) {
  const std::string file = std::visit([](const auto& t) { return t.file; }, config);
  return train_tokenizer(config, file.empty() ? tokenizer_texts(project.task, config, side, scratch)
                                              : std::vector<fs::path>());
}

void require_type(std::string_view wanted, const Tokenizer& tokenizer, const char* key) {
  if (tokenizer.type() != wanted)
    throw ConfigError(cat(key, ".type: \"", wanted, "\", but the checkpoint's is of type \"",
                          tokenizer.type(), "\"; set the type to that"));
}

void set_tokenizers(Parts& parts, const std::optional<fs::path>& weights, const fs::path& scratch) {
  if (weights) {
    // The weights know no other tokens than their own.
    const LoadedModel loaded = load_model(*weights, {.weights = false});
    parts.tokenizer = loaded.tokenizer;
    parts.source_tokenizer = loaded.source_tokenizer;
  }
  const bool loaded = parts.tokenizer != nullptr;
  const auto type_of = [](const auto& config) {
    return std::visit([](const auto& t) { return t.kType; }, config);
  };
  std::visit(
      [&]<class Config>(const Config& config) {
        if constexpr (std::is_same_v<Config, NoTokenizerConfig>) {
          return;
        } else if constexpr (std::is_same_v<Config, SeparateTokenizersConfig>) {
          if (!loaded) {
            parts.tokenizer =
                new_tokenizer(parts.project, config.target, TextSide::target, scratch);
            parts.source_tokenizer =
                new_tokenizer(parts.project, config.source, TextSide::source, scratch);
          }
          require_type(type_of(config.target), *parts.tokenizer, "tokenizer.target");
          require_type(type_of(config.source), *parts.source_tokenizer, "tokenizer.source");
        } else {
          if (!loaded)
            parts.source_tokenizer = parts.tokenizer =
                new_tokenizer(parts.project, config, TextSide::both, scratch);
          require_type(Config::kType, *parts.tokenizer, "tokenizer");
        }
      },
      parts.project.tokenizer);
}

/// Keeps the parameters that fit `patterns` from being trained.
void freeze(torch::nn::Module& model, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (auto& item : model.named_parameters())
      if (matches_pattern(item.key(), pattern)) {
        item->set_requires_grad(false);
        found = true;
      }
    if (!found)
      throw ConfigError(cat("training.freeze: no parameter fits \"", pattern,
                            "\"; the model has: ", join(model.named_parameters().keys(), ", ")));
  }
}

/// Where a training's weights and tokenizers come from.
struct Origin {
  std::optional<fs::path> checkpoint;  ///< of the same model, gone on with
  std::optional<fs::path> init_from;   ///< of a model whose head may be another
  const std::optional<fs::path>& folder() const { return checkpoint ? checkpoint : init_from; }
};

/// @param cache for packed tokens
std::unique_ptr<Parts> make_parts(const ProjectConfig& project, const TrainOptions& options,
                                  const Origin& origin, const fs::path& cache,
                                  TrainObserver& observer) {
  auto parts = std::make_unique<Parts>();
  parts->project = project;
  set_tokenizers(*parts, origin.folder(), cache);
  fit_to_data(parts->project.model, project.task);
  if (parts->tokenizer != nullptr)
    fit_to_vocabulary(parts->project.model, parts->tokenizer->vocab_size(),
                      parts->source_tokenizer->vocab_size());
  torch::manual_seed(static_cast<uint64_t>(project.training.seed));
  // Drawn on the CPU, so that the device does not change the start.
  parts->model = make_model(parts->project.model,
                            origin.checkpoint ? Parameters::allocated : Parameters::drawn);
  if (origin.checkpoint) {
    load_weights(*parts->model, parts->project.model, *origin.checkpoint);
  } else if (origin.init_from) {
    const std::vector<std::string> drawn =
        load_body(*parts->model, parts->project.model, *origin.init_from);
    if (!drawn.empty())
      observer.notice(cat(utf8(*origin.init_from), ": has no weights for ", join(drawn, ", "),
                          "; they are drawn and learnt from the start"));
  }
  freeze(*parts->model, project.training.freeze);
  parts->model->to(options.device);
  parts->task = make_task(
      project.task, {.model = parts->model,
                     .tokenizer = parts->tokenizer,
                     .source_tokenizer = parts->source_tokenizer,
                     .training = &parts->project.training,
                     .device = options.device,
                     .cache = cache,
                     .notice = [&](const std::string& message) { observer.notice(message); }});
  return parts;
}

/// Floating-point operations to learn from a batch, whose examples count as long as their mean.
double flops_of(const ModelConfig& model, const Batch& batch) {
  if (batch.target_count == 0) return 0;
  // Of an encoder-decoder, training_flops() is for a source and a target token.
  const double sides = batch.source.defined() ? 2 : 1;
  const double tokens = static_cast<double>(batch.token_count) / sides;
  const double length = tokens / static_cast<double>(batch.examples);
  return tokens * training_flops(model, std::max<int64_t>(1, std::llround(length)));
}

TrainerParts trainer_parts(Parts& parts, const RunFolder& run, TrainObserver& observer,
                           const TrainOptions& options, StepWatch* watch) {
  return {.task = *parts.task,
          .config = parts.project.training,
          .run = run,
          .observer = observer,
          .device = options.device,
          .d_model = width_of(parts.project.model),
          .save_model =
              [&parts](const fs::path& folder) {
                save_model(folder, *parts.model, parts.project.model, parts.tokenizer.get(), {},
                           config_to_json(parts.project), parts.source_tokenizer.get());
              },
          .stop = options.stop,
          .watch = watch,
          .flops = [&parts](const Batch& batch) { return flops_of(parts.project.model, batch); }};
}

void require_same_data(const fs::path& checkpoint, const Task& task) {
  const Json saved = read_json_file(checkpoint / "trainer.json").value("data", Json());
  const std::vector<ConfigDifference> differences = compare_json(saved, task.data_receipt());
  if (!differences.empty())
    throw DataError(cat("--resume: the data are not those of the run: ", differences[0].path,
                        " was ", differences[0].first, ", is ", differences[0].second,
                        "; restore the files, or start a new run with --init-from"));
}

TrainResult result_of(const Trainer& trainer, const ProjectConfig& project, const RunFolder& run) {
  TrainResult result;
  const TrainerState& state = trainer.state();
  result.step = state.step;
  result.metric = project.training.early_stopping.metric;
  result.best_value = state.best.empty() ? std::nan("") : state.best.front().value;
  result.best_step = state.best.empty() ? 0 : state.best.front().step;
  const auto best = run.linked("best");
  const auto last = best ? best : run.linked("last");
  if (last) result.checkpoint = *last;
  return result;
}

/// The mean of the run's checkpoints: written, evaluated, and the best one if it is that.
void average_run(Parts& parts, const RunFolder& run, const TrainOptions& options,
                 TrainObserver& observer, TrainResult& result) {
  const TrainingConfig& config = parts.project.training;
  const fs::path folder = run.path() / "average";
  std::vector<fs::path> checkpoints;
  try {
    checkpoints = checkpoints_to_average(run, config.average.checkpoints, config.average.of);
  } catch (const DataError& error) {  // a short training; its checkpoints are good all the same
    observer.notice(cat("no average is made: ", error.what()));
    return;
  }
  write_folder(folder, [&](const fs::path& fresh) { average_checkpoints(checkpoints, fresh); });
  load_weights(*parts.model, parts.project.model, folder);
  parts.model->eval();
  const Metrics metrics = parts.task->evaluate(resolve_precision(config.precision, options.device));
  std::vector<std::string> values;
  for (const auto& [name, value] : metrics) values.push_back(cat("valid_", name, " ", value));
  observer.notice(cat("average of ", checkpoints.size(), " checkpoints: ", join(values, ", ")));
  const double value = find_metric(metrics, result.metric).value();
  if (!(larger_is_better(result.metric) ? value > result.best_value : value < result.best_value))
    return;
  replace_link(run.path() / "best", folder.filename());
  result.best_value = value;
  result.best_step = result.step;
  result.checkpoint = fs::canonical(folder);
}

}  // namespace

std::optional<ProjectConfig> resumed_project(const TrainOptions& options) {
  const auto checkpoint = resume_point(options);
  if (!checkpoint) return std::nullopt;
  Json json = read_zoo_json(*checkpoint);
  for (const ConfigSetting& setting : options.overrides) merge_setting(json, setting);
  return read_project(std::move(json), utf8(*checkpoint / "zoo.json") + "#");
}

TrainResult train(const ProjectConfig& project, const TrainOptions& options,
                  TrainObserver& observer) {
  if (!options.overrides.empty() && !options.resume)
    throw ConfigError(
        "--override: changes the config of a resumed run; without --resume use --set");
  const RunFolder run(options.output);
  run.remove_leftovers();
  const std::optional<fs::path> checkpoint = resume_point(options);
  if (checkpoint)
    require_same_config(*resumed_project(options), project);
  else
    prepare_fresh(run, options);
  Receipt receipt(run, options);
  try {
    Recorder recorder(run, project.training.tensorboard, observer);
    const auto parts = make_parts(project, options, {checkpoint, options.init_from},
                                  run.path() / "data", recorder);
    if (checkpoint) require_same_data(*checkpoint, *parts->task);
    const std::unique_ptr<StepWatch> watch =
        options.watch ? options.watch(parts->project, *parts->task) : nullptr;
    Trainer trainer(trainer_parts(*parts, run, recorder, options, watch.get()));
    if (checkpoint) {
      trainer.resume(*checkpoint);
      for (const ConfigSetting& setting : options.overrides)
        recorder.notice(cat("override: ", setting.key, " = ", setting.value.dump()));
    }
    const int64_t first = trainer.state().step;
    if (trainer.total_steps() > 0 && first >= trainer.total_steps()) {
      observer.notice(cat("nothing left to do: the run has done ", with_thousands(first),
                          " steps and its limit is ", with_thousands(trainer.total_steps()),
                          " in all; raise it with --override training.max_steps=N"));
      TrainResult result = result_of(trainer, project, run);
      result.had_finished = true;
      receipt.finish(result, trainer);
      return result;
    }
    write_zoo_json(run.path(), config_to_json(parts->project));
    run.truncate_metrics(first);
    // Later checkpoints belong to a course that is given up by going on from here.
    for (const int64_t step : run.checkpoint_steps())
      if (step > first)
        recorder.notice(cat("the checkpoint of step ", with_thousands(step),
                            " is removed, since training goes on from step ",
                            with_thousands(first)));
    run.prune([&](int64_t step) { return step <= first; });
    receipt.start(parts->project, *parts->task, count_parameters(*parts->model), first);
    recorder.started(run.path(), first);
    const TrainEnd end = trainer.run();
    TrainResult result = result_of(trainer, project, run);
    result.end = end;
    if (project.training.average.checkpoints > 0 && end != TrainEnd::stopped)
      average_run(*parts, run, options, recorder, result);
    receipt.finish(result, trainer);
    return result;
  } catch (const std::exception& error) {
    receipt.fail(error.what());
    throw;
  }
}

TrainEstimate estimate_training(const ProjectConfig& project, const TrainOptions& options,
                                TrainObserver& observer) {
  const ScratchFolder scratch;
  const auto parts =
      make_parts(project, options, {{}, options.init_from}, scratch.path(), observer);
  const TrainingConfig& config = parts->project.training;
  TrainEstimate estimate;
  estimate.parameters = count_parameters(*parts->model);
  estimate.total_steps = count_steps(config, *parts->task);
  const Schedule schedule(config.schedule, config.learning_rate, estimate.total_steps,
                          width_of(parts->project.model));
  TrainingStep step(*parts->task, config, schedule, options.device);

  parts->model->train();
  std::vector<Batch> window;
  auto read = [&, position = int64_t{0}]() mutable {
    window.clear();
    for (int64_t i = 0; i < config.grad_accum; ++i) {
      window.push_back(parts->task->batch(position));
      position += window.back().examples;
    }
  };
  // The first steps allocate and choose kernels; they say nothing about the rest.
  constexpr int64_t kWarmup = 2, kTimed = 20;
  constexpr double kEnoughSeconds = 3;
  for (int64_t i = 1; i <= kWarmup; ++i) {
    read();
    step.run(window, i).grad_norm.item();
  }
  const Stopwatch watch;
  int64_t timed = 0, tokens = 0;
  while (timed < kTimed && watch.seconds() < kEnoughSeconds) {
    read();
    const StepOutcome outcome = step.run(window, kWarmup + ++timed);
    outcome.grad_norm.item();  // waits for the device
    tokens += outcome.token_count;
  }
  estimate.tokens_per_step = tokens / timed;
  estimate.seconds_per_step = watch.seconds() / static_cast<double>(timed);
  estimate.seconds = estimate.seconds_per_step * static_cast<double>(estimate.total_steps);

  const Batch& batch = window[0];
  const int64_t rows = batch.inputs.size(0);
  const int64_t length = batch.inputs.dim() == 2 ? batch.inputs.size(1) : batch.token_count / rows;
  estimate.flops_per_token =
      flops_of(parts->project.model, batch) / static_cast<double>(batch.token_count);
  const auto* sgd = std::get_if<SgdConfig>(&config.optimizer);
  const TrainingShape shape{.batch = rows,
                            .tokens = length,
                            .optimizer_states = sgd == nullptr      ? 2
                                                : sgd->momentum > 0 ? 1
                                                                    : 0,
                            .half_precision = step.precision() != Precision::fp32};
  estimate.peak_bytes = options.device.is_cpu()
                            ? static_cast<double>(peak_memory_bytes())
                            : training_memory(parts->project.model, shape).total();
  return estimate;
}

}  // namespace zoo
