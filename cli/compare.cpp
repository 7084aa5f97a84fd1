// transformer-cli compare: the same data in the same order through several models.

#include "analysis/report.h"
#include "analysis/train_comparison.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/project.h"
#include "cli/runtime.h"
#include "cli/training_console.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

/// Pairs that --track bleu-by-length translates.
constexpr int64_t kPairs = 1000;

struct Compare {
  static constexpr bool kReadsConfig = true;
  std::vector<std::string> models, tracks, grad_norm_per;
  std::optional<std::string> budget;
  std::string output;
  std::optional<int64_t> every, pairs;
  bool overwrite = false;

  void declare(Flags& flags) {
    flags.describe(
        "Trains a model of each config on the same data in the same order and puts what came of "
        "it\n"
        "side by side; or does so with runs that are there already. The configs are of one task, "
        "with\n"
        "the same data and tokenizer; seed, batches, label smoothing and the steps of evaluations "
        "are the\n"
        "first one's, learning rate, schedule and optimizer each one's own. Loss: nats a target. "
        "Tokens: of\n"
        "sources and targets, padding left out. FLOPs: matrix products, a multiply and an add are "
        "2.\n"
        "Seconds: of training, without evaluations. Memory: the most held, less what was held "
        "before.\n"
        "Gradient norms are taken before clipping: of the whole gradient at each log line (the "
        "table has\n"
        "the median), by layer and group, and by distance in time (of the last target's loss, as "
        "to "
        "the\n"
        "embedding of each token). BLEU by length: of greedy translations, by words of the "
        "reference.\n"
        "Writes ordinary run folders, compare.csv, compare.json, charts (SVG) and report.html, a "
        "page\n"
        "with all of them, into --output.");
    flags.texts("models", models, "CONFIG|RUN", "two or more configs, or two or more run folders");
    flags.group("Comparison");
    flags.text("--budget", budget, "UNIT=N",
               "train until tokens=N are read, for steps=N, or for seconds=N of training (as many "
               "steps as they hold at the speed of the first 20); default: the first config's "
               "limits");
    flags.text("-o,--output", output, "DIR",
               "the folder of all results; of run folders: nothing is written without it");
    flags.choices("--track", tracks, {"loss", "grad-norm", "bleu-by-length", "speed"},
                  "what to take down (default: all; of run folders: what they hold, and "
                  "bleu-by-length, which translates, when it is named)");
    flags.choices("--grad-norm-per", grad_norm_per, {"layer", "time"},
                  "gradient norms by layer and group, or by distance in time (default: both)");
    flags.number("--every", every, at_least(1),
                 "steps from one look at the gradients to the next (default: the first config's "
                 "log_every)");
    flags.number("--pairs", pairs, at_least(1),
                 cat("pairs of the validation split that bleu-by-length translates (default: ",
                     kPairs, ")"));
    flags.flag("--overwrite", overwrite, "replace older results in --output");
    flags.example("an RNN and a Transformer on as many tokens of one task",
                  "transformer-cli compare rnn.json transformer.json --budget tokens=2000 -o "
                  "runs/compared");
    flags.example("runs that are there",
                  "transformer-cli compare runs/compared/rnn runs/compared/transformer "
                  "--track loss,speed");
  }

  int run(const GlobalOptions& globals) {
    if (models.size() < 2)
      throw ConfigError(cat("compare: ", models.size(),
                            models.size() == 1 ? " model is given" : " models are given",
                            "; give two or more configs or run folders"));
    const auto folders = std::count_if(models.begin(), models.end(), [](const std::string& name) {
      return fs::is_directory(utf8_path(name));
    });
    if (folders != 0 && folders != std::ssize(models))
      throw ConfigError(
          "compare: configs and run folders are mixed; give configs, to train them all on the same "
          "data, or runs, to read what they hold");
    const Runtime runtime = start_runtime(globals);
    return folders == 0 ? train_all(globals, runtime) : read_all(globals, runtime);
  }

 private:
  bool tracks_named(const char* name) const {
    return std::find(tracks.begin(), tracks.end(), name) != tracks.end();
  }
  bool tracked(const char* name) const { return tracks.empty() || tracks_named(name); }
  bool looks_at(const char* what) const {
    return tracked("grad-norm") &&
           (grad_norm_per.empty() ||
            std::find(grad_norm_per.begin(), grad_norm_per.end(), what) != grad_norm_per.end());
  }

  int train_all(const GlobalOptions& globals, const Runtime& runtime) {
    if (output.empty())
      throw ConfigError("compare: needs -o/--output DIR for the runs, such as -o runs/compared");
    std::vector<fs::path> more;
    for (const std::string& file : globals.config) more.push_back(utf8_path(file));
    std::vector<ConfigSetting> settings = settings_of(globals);
    if (globals.seed_given) settings.push_back({"training.seed", globals.seed});
    std::vector<DynamicsRun> runs = dynamics_runs(models, more, settings);
    for (const std::string& change : align_trainings(runs)) log_info(change);

    TrainDynamicsOptions options;
    options.output = output_folder(output, overwrite);
    options.overwrite = overwrite;
    options.device = runtime.device;
    options.command_line = globals.command_line;
    options.look = {.by_layer = looks_at("layer"), .by_time = looks_at("time")};
    const SignalGuard guard;
    options.stop = SignalGuard::received;
    ConsoleObserver observer;
    if (budget) set_budget(runs, parse_budget(*budget), runtime.device, observer);
    options.look.every = every.value_or(runs.front().project.training.log_every);

    const std::vector<TrainedDynamics> trainings = train_dynamics(runs, options, observer);
    require_same_order(trainings);
    std::vector<fs::path> folders;
    for (const TrainedDynamics& training : trainings)
      folders.push_back(options.output / utf8_path(training.name));
    Comparison comparison = read_comparison(folders);
    comparison.budget = budget.value_or("");
    if (!SignalGuard::received()) {
      if (tracked("bleu-by-length")) add_lengths(comparison, runtime);
      comparison.notes.push_back(cat("all have read the same batches, step by step"));
    }
    finish(comparison, globals);
    return SignalGuard::received() ? SignalGuard::exit_code() : kDone;
  }

  int read_all(const GlobalOptions& globals, const Runtime& runtime) {
    for (const auto& [flag, given] : {std::pair{"--budget", budget.has_value()},
                                      {"--every", every.has_value()},
                                      {"--set", !globals.set.empty()},
                                      {"--config", !globals.config.empty()}})
      if (given)
        throw ConfigError(cat(flag,
                              ": is for configs that are trained; the runs are there already, "
                              "leave it out"));
    std::vector<fs::path> folders;
    for (const std::string& name : models) folders.push_back(utf8_path(name));
    Comparison comparison = read_comparison(folders);
    require_comparable(comparison);
    if (!output.empty()) output_folder(output, overwrite);
    if (tracks_named("bleu-by-length")) add_lengths(comparison, runtime);
    finish(comparison, globals);
    return kDone;
  }

  void add_lengths(Comparison& comparison, const Runtime& runtime) const {
    for (ComparedRun& run : comparison.runs)
      run.by_length = scores_by_length(run.record.folder, pairs.value_or(kPairs), runtime.device);
  }

  void finish(Comparison& comparison, const GlobalOptions& globals) const {
    keep_tracked(comparison);
    if (!output.empty()) {
      write_comparison(comparison, utf8_path(output));
      write_page(comparison, globals);
    }
    if (globals.json) {
      out() << to_json(comparison).dump(2) << '\n';
      return;
    }
    for (const auto& rows : {comparison_table(comparison), length_table(comparison)}) {
      if (rows.empty()) continue;
      Table table(rows.front());
      for (size_t i = 1; i < rows.size(); ++i) table.add(rows[i]);
      table.print(out());
      out() << '\n';
    }
    for (const std::string& note : comparison.notes) log_info(note);
    if (!output.empty()) log_info("written to ", output);
  }

  /// report.html, of the folder and of runs that lie elsewhere.
  void write_page(const Comparison& comparison, const GlobalOptions& globals) const {
    ReportInputs inputs{.folders = {utf8_path(output)}, .command_line = globals.command_line};
    for (const ComparedRun& run : comparison.runs)
      if (run.record.folder.parent_path() != utf8_path(output))
        inputs.folders.push_back(run.record.folder);
    const Report report = make_report(inputs);
    for (const std::string& note : report.notes) log_warning(note);
    write_file(utf8_path(output) / "report.html", report.html);
  }

  /// Leaves out of a comparison what --track does not name.
  void keep_tracked(Comparison& comparison) const {
    for (ComparedRun& run : comparison.runs) {
      std::erase_if(run.record.curves, [&](const RunCurve& curve) {
        if (curve.name == "grad_norm") return !tracked("grad-norm");
        if (curve.name == "tokens_per_second") return !tracked("speed");
        return !tracked("loss") && curve.name != "loss";
      });
      if (!looks_at("layer")) run.dynamics.steps.clear();
      if (!looks_at("time")) run.dynamics.reach.clear();
    }
  }
};

}  // namespace

Command compare_command() {
  return make_command<Compare>("compare", "Train models on the same data, side by side");
}

}  // namespace zoo::cli
