// transformer-cli train: trains what a config says and writes a run folder.

#include "training/train.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/runtime.h"
#include "cli/training_console.h"
#include "core/config.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

/// "90", "90s", "15m", "2h", "1d" in seconds.
double parse_duration(const std::string& text) {
  constexpr std::string_view kUnits = "smhd";
  constexpr double kSeconds[] = {1, 60, 3600, 86400};
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::logic_error&) {
    used = 0;
  }
  const size_t unit = used + 1 == text.size() ? kUnits.find(text[used]) : 0;
  if (used == 0 || !(value > 0) ||
      (used != text.size() && (used + 1 != text.size() || unit == kUnits.npos)))
    throw ConfigError(
        cat("--max-time: \"", text,
            "\" is refused; allowed: a number above 0 with s, m, h or d, such as 90s or 2h"));
  return value * kSeconds[unit];
}

struct Train {
  static constexpr bool kReadsConfig = true;
  std::string output, config;
  std::vector<std::string> data, overrides;
  std::optional<std::string> resume, init_from, max_time, batch_type, schedule, best_metric,
      precision;
  std::optional<int64_t> max_steps, epochs, max_tokens, batch_size, grad_accum, warmup_steps,
      eval_every, save_every, keep_last, keep_best, sample_every, patience, log_every;
  std::optional<double> learning_rate, clip_norm, label_smoothing, ema;
  std::optional<bool> tensorboard, overfit_batch;
  bool overwrite = false, dry_run = false;

  void declare(Flags& flags) {
    flags.describe(
        "Reads the config (sections model, tokenizer, task, training; `transformer-cli config\n"
        "--reference` lists every key), trains, and writes a run folder with checkpoints, logs,\n"
        "samples and a receipt. Flags win over --set, --set over files, files over defaults. "
        "Losses\n"
        "are nats a token. Ctrl-C or SIGTERM saves a checkpoint and ends with exit code 130 or "
        "143;\n"
        "--resume goes on from it, bit for bit. The last line on standard output is the best\n"
        "validation metric, its step and the checkpoint's path, separated by tabs.");
    flags.group("Run");
    flags.text("config_file", config, "CONFIG", "config file, as --config; comes before those");
    flags.text("-o,--output", output, "DIR", "the run folder, such as runs/my-model");
    flags.optional_text(
        "--resume,--resume-from-checkpoint", resume, "auto|last|best|DIR", "auto",
        "go on with the run in --output; auto: from the last checkpoint if there is one, "
        "else from the start; DIR: a checkpoint, or a run folder (then without --output)");
    flags.flag("--overwrite", overwrite, "replace the run that is in --output");
    flags.text("--init-from", init_from, "DIR",
               "start from the weights and tokenizer of a run, checkpoint or Hugging Face folder");
    flags.texts("--override", overrides, "KEY=VALUE",
                "with --resume: change a key of the run's config, such as training.max_steps=4000");
    flags.texts("--data", data, "FILE",
                "train on these text files; their last tenth is held out (sets task.train)");
    flags.flag(
        "--dry-run", dry_run,
        "print parameters, FLOPs a token, peak memory and time, from a few timed steps, and end");
    flags.flag("--overfit-batch", overfit_batch, "learn the first batch only, as a check");
    flags.group("Length and batch");
    flags.number("--max-steps", max_steps, non_negative(), "optimizer steps in all; 0: no limit");
    flags.number("--epochs", epochs, non_negative(), "passes over the data; 0: no limit");
    flags.number("--max-tokens", max_tokens, non_negative(), "tokens to read in all; 0: no limit");
    flags.text("--max-time", max_time, "TIME", "stop after this time: 90s, 15m, 2h");
    flags.number("--batch-size", batch_size, at_least(1), "examples or tokens in a micro-batch");
    flags.choice("--batch-type", batch_type, {"sentences", "tokens"}, "what --batch-size counts");
    flags.number("--grad-accum", grad_accum, at_least(1), "micro-batches in a step");
    flags.group("Optimization");
    flags.number("--learning-rate,--lr", learning_rate, positive(), "the highest learning rate");
    flags.choice(
        "--schedule", schedule,
        {"constant", "linear", "cosine", "inverse-sqrt", "inv-sqrt", "noam", "wsd", "plateau"},
        "how the learning rate changes");
    flags.number("--warmup-steps", warmup_steps, non_negative(), "steps of linear warm-up");
    flags.number("--clip-norm", clip_norm, non_negative(),
                 "largest norm of the gradient; 0: no clipping");
    flags.number("--label-smoothing", label_smoothing, fraction(),
                 "share of the target that is spread");
    flags.number("--ema", ema, fraction(), "decay of the running mean of the weights; 0: off");
    flags.choice("--precision", precision, {"auto", "fp32", "bf16", "fp16"}, "of matrix products");
    flags.group("Records");
    flags.number("--log-every", log_every, at_least(1), "steps between log lines");
    flags.number("--eval-every", eval_every, non_negative(),
                 "steps between evaluations; 0: at the end");
    flags.number("--save-every", save_every, non_negative(),
                 "steps between checkpoints; 0: at each evaluation");
    flags.number("--keep-last", keep_last, non_negative(), "newest checkpoints to keep; 0: all");
    flags.number("--keep-best", keep_best, non_negative(), "best checkpoints to keep");
    flags.number("--sample-every", sample_every, non_negative(),
                 "steps between samples; 0: at the end");
    flags.number("--patience", patience, non_negative(),
                 "evaluations without a better value before training stops; 0: never");
    flags.text("--best-metric", best_metric, "NAME",
               "what best means: a metric of the task, such as loss, accuracy, bleu, macro_f1");
    flags.flag("--tensorboard,!--no-tensorboard", tensorboard, "write TensorBoard event files");

    flags.example("train a small GPT on a text",
                  "transformer-cli train --data text.txt -o runs/small --set model.preset=modern "
                  "--max-steps 20 --batch-size 4");
    flags.example("see what that would take",
                  "transformer-cli train --data text.txt --set model.preset=modern --max-steps 20 "
                  "--batch-size 4 --dry-run");
  }

  int run(const GlobalOptions& globals) {
    take_output_from_resume();
    TrainOptions options;
    options.output = utf8_path(output);
    options.resume = resume;
    options.overwrite = overwrite;
    options.command_line = globals.command_line;
    if (init_from) options.init_from = resolve_checkpoint(utf8_path(*init_from));
    for (const std::string& text : overrides) options.overrides.push_back(parse_setting(text));
    require_consistent(globals);

    const ProjectConfig project = resolve_project(globals, options);
    options.device = start_runtime(globals).device;
    ConsoleObserver observer;
    if (dry_run) {
      print_estimate(estimate_training(project, options, observer), globals.json);
      return kDone;
    }

    const SignalGuard guard;
    options.stop = SignalGuard::received;
    const TrainResult result = train(project, options, observer);
    print_result(result, globals.json);
    if (result.end != TrainEnd::stopped || result.had_finished) return kDone;
    return SignalGuard::exit_code();
  }

 private:
  /// `--resume runs/a` or `--resume runs/a/checkpoints/step-100` alone names the run folder too.
  void take_output_from_resume() {
    if (!output.empty() || !resume) return;
    const fs::path given = fs::absolute(utf8_path(*resume) / "").parent_path();
    if (!fs::is_directory(given)) return;
    if (fs::exists(given / "run.json")) {
      output = utf8(given);
      resume = "last";
    } else if (given.parent_path().filename() == "checkpoints") {
      output = utf8(given.parent_path().parent_path());
    }
  }

  void require_consistent(const GlobalOptions& globals) const {
    if (globals.dtype != "float32")
      throw ConfigError(cat("--dtype ", globals.dtype,
                            ": weights are trained in float32; use --precision "
                            "bf16 for matrix products in 16 bits"));
    if (output.empty() && !dry_run)
      throw ConfigError("train: needs -o/--output DIR, the run folder, such as -o runs/my-model");
    if (resume && overwrite)
      throw ConfigError("--resume goes on with a run, --overwrite removes it; give one of them");
    if (resume && init_from)
      throw ConfigError("--resume takes a run's weights, --init-from others; give one of them");
  }

  /// The flags that stand for keys of the config.
  std::vector<ConfigSetting> flag_settings(const GlobalOptions& globals) const {
    std::vector<ConfigSetting> settings;
    const auto add = [&](const char* key, const auto& value) {
      if (value) settings.push_back({key, *value});
    };
    if (!data.empty()) {
      settings.push_back({"task.type", "language_model"});
      settings.push_back({"task.train", data});
      settings.push_back({"task.valid", Json::array()});
    }
    if (globals.seed_given) settings.push_back({"training.seed", globals.seed});
    add("training.max_steps", max_steps);
    add("training.epochs", epochs);
    add("training.max_tokens", max_tokens);
    if (max_time) settings.push_back({"training.max_time", parse_duration(*max_time)});
    add("training.batch_size", batch_size);
    add("training.batch_type", batch_type);
    add("training.grad_accum", grad_accum);
    add("training.learning_rate", learning_rate);
    if (schedule)
      settings.push_back({"training.schedule.type",
                          schedule->starts_with("inv") ? std::string("inverse_sqrt") : *schedule});
    add("training.schedule.warmup_steps", warmup_steps);
    add("training.clip_norm", clip_norm);
    add("training.label_smoothing", label_smoothing);
    add("training.ema", ema);
    add("training.precision", precision);
    add("training.log_every", log_every);
    add("training.eval_every", eval_every);
    add("training.save_every", save_every);
    add("training.keep_last", keep_last);
    add("training.keep_best", keep_best);
    add("training.sample_every", sample_every);
    add("training.early_stopping.patience", patience);
    add("training.early_stopping.metric", best_metric);
    add("training.tensorboard", tensorboard);
    add("training.overfit_batch", overfit_batch);
    return settings;
  }

  ProjectConfig resolve_project(const GlobalOptions& globals, const TrainOptions& options) const {
    std::vector<ConfigSetting> settings;
    for (const std::string& text : globals.set) settings.push_back(parse_setting(text));
    for (ConfigSetting& setting : flag_settings(globals)) settings.push_back(std::move(setting));
    std::vector<fs::path> files;
    if (!config.empty()) files.push_back(utf8_path(config));
    for (const std::string& file : globals.config) files.push_back(utf8_path(file));

    Json base = Json::object();
    const auto resumed = resumed_project(options);
    if (resumed && files.empty()) {
      base = config_to_json(*resumed);
    } else if (resumed) {
      // train() compares the files with the run; what is overridden may differ in the files.
      settings.insert(settings.end(), options.overrides.begin(), options.overrides.end());
    } else if (options.init_from) {
      base = inherited(*options.init_from, files);
    }
    return read_project(files, settings, std::move(base));
  }

  /// The sections of a checkpoint that no file gives. A file's model without a preset changes that
  /// of the checkpoint: a new head, say.
  static Json inherited(const fs::path& checkpoint, const std::vector<fs::path>& files) {
    const LoadedModel loaded = load_model(checkpoint, {.weights = false});
    Json base = {{"model", config_to_json(loaded.config)}};
    if (loaded.tokenizer != nullptr) {
      base["tokenizer"] = std::string(loaded.tokenizer->type());
      if (loaded.source_tokenizer != loaded.tokenizer)
        base["tokenizer"] = {{"type", "separate"},
                             {"source", std::string(loaded.source_tokenizer->type())},
                             {"target", std::string(loaded.tokenizer->type())}};
    }
    for (const fs::path& file : files) {
      const Json given = read_json_file(file);
      for (const auto& [key, value] : given.items())
        if (key != "model" || !value.is_object() || value.contains("preset")) base.erase(key);
    }
    return base;
  }

  static void print_estimate(const TrainEstimate& estimate, bool as_json) {
    if (as_json) {
      out() << Json{{"parameters", estimate.parameters},
                    {"flops_per_token", estimate.flops_per_token},
                    {"tokens_per_step", estimate.tokens_per_step},
                    {"steps", estimate.total_steps},
                    {"seconds_per_step", estimate.seconds_per_step},
                    {"seconds", estimate.seconds},
                    {"peak_bytes", estimate.peak_bytes}}
                   .dump(2)
            << '\n';
      return;
    }
    const double tokens_per_second =
        static_cast<double>(estimate.tokens_per_step) / estimate.seconds_per_step;
    out() << "parameters: " << with_thousands(estimate.parameters) << '\n'
          << "FLOPs a token: " << human_count(estimate.flops_per_token)
          << " (forward and backward, matrix products)\n"
          << "tokens a step: " << with_thousands(estimate.tokens_per_step) << '\n'
          << "speed: " << with_thousands(static_cast<int64_t>(tokens_per_second)) << " tokens/s, "
          << human_count(tokens_per_second * estimate.flops_per_token) << "FLOP/s\n"
          << "peak memory: " << human_bytes(estimate.peak_bytes) << '\n'
          << "steps: "
          << (estimate.total_steps == 0 ? "until the time is up"
                                        : with_thousands(estimate.total_steps))
          << '\n';
    if (estimate.total_steps > 0)
      out() << "time: " << human_seconds(estimate.seconds)
            << " (evaluations and checkpoints left out)\n";
  }

  static void print_result(const TrainResult& result, bool as_json) {
    if (as_json) {
      out() << Json{{"metric", "valid_" + result.metric},
                    {"value", result.best_value},
                    {"step", result.best_step},
                    {"checkpoint", utf8(result.checkpoint)},
                    {"end", std::string(enum_name(result.end))},
                    {"steps", result.step}}
                   .dump(2)
            << '\n';
      return;
    }
    if (result.best_step == 0)
      out() << "no evaluation yet\tstep " << result.step << '\t' << utf8(result.checkpoint) << '\n';
    else
      out() << "valid_" << result.metric << ' ' << fixed(result.best_value, 4) << "\tstep "
            << result.best_step << '\t' << utf8(result.checkpoint) << '\n';
  }
};

}  // namespace

Command train_command() { return make_command<Train>("train", "Train a model as a config says"); }

}  // namespace zoo::cli
