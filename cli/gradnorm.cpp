// transformer-cli gradnorm: how gradients travel, measured beside what theory says.

#include "analysis/gradnorm.h"
#include "analysis/train_dynamics.h"

#include <cmath>
#include <cstdio>

#include "cli/command.h"
#include "cli/project.h"
#include "cli/runtime.h"
#include "cli/training_console.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

std::string figure(double value) {
  if (std::isnan(value)) return "";
  if (std::isinf(value)) return "none";
  return significant(value, 4);
}

constexpr const char* kTrain = "train";

std::vector<std::string> mode_names() {
  std::vector<std::string> all = enum_names<GradnormMode>();
  all.emplace_back(kTrain);
  return all;
}

struct Gradnorm {
  static constexpr bool kReadsConfig = true;
  std::string mode, out, dtype = "f64";
  std::vector<std::string> models;
  std::vector<int64_t> depths;
  std::optional<int64_t> T, d, layers, batch, seeds;
  std::optional<double> rho, forget_bias;
  std::optional<std::string> init, norm, loss;
  std::vector<std::string> trained;
  std::optional<int64_t> every;
  bool check = false, overwrite = false;

  void declare(Flags& flags) {
    flags.describe(
        "Measures gradients in networks as they are drawn, and tries what theory says of them.\n"
        "time      g_k, the root mean square of ||dL/dh_{T-k}||, by the distance k from the loss\n"
        "depth     weights' gradients and vectors' norms in encoders of several depths, pre- and\n"
        "          post-norm\n"
        "jacobian  singular values of dh_T/dh_{T-k}\n"
        "train     of configs, runs or checkpoints that train on: norms of gradients and weights,\n"
        "          updates and clipping, by layer and by group, and how far a loss reaches back\n"
        "Models are given as many parameters as the LSTM of width d has, within 5 %. rate: the\n"
        "factor a step, from k = T/10 to 6T/10; horizon: steps until 1 % is left. Every check is\n"
        "explained in docs/gradnorm.md. All modes but train run on the CPU.");
    flags.choice("mode", mode, mode_names(), "what to look at");
    flags.texts("configs", trained, "CONFIG|DIR",
                "mode train: what to train; several side by side");
    flags.choices("--models", models, enum_names<ProbeModel>(),
                  "networks (default: rnn,lstm,gru,rnn-attn,transformer)");
    flags.number("--T", T, between(2, 100'000), "steps; default 100, in mode depth 16");
    flags.number("--d", d, between(4, 4096), "width; default 64, in mode depth 128");
    flags.number("--batch", batch, between(1, 4096), "sequences; default 16");
    flags.number("--seeds", seeds, between(1, 1000), "networks drawn of each kind; default 5");
    flags.number("--layers", layers, between(1, 100), "of the Transformer; default 1");
    flags.choice("--dtype", dtype, {"f64", "f32"}, "number format");
    flags.choice("--init", init, enum_names<ProbeInit>(),
                 "recurrent weights: rho times an orthogonal matrix, of variance rho^2/d (the "
                 "default), or as torch draws them");
    flags.number("--rho", rho, between(0, 100), "their scale; default 1");
    flags.number("--forget-bias", forget_bias, any_number(), "of the LSTM; default: as drawn");
    flags.choice("--norm", norm, {"pre", "post"},
                 "of the Transformer; default pre, in mode depth both");
    flags.numbers("--depths", depths, between(1, 1000),
                  "layers, in mode depth (default: 2,4,6,8,12,24)");
    flags.choice("--loss", loss, enum_names<ProbeLoss>(),
                 "probe: v . h_T with a random v (default); cross-entropy at T; its mean over all "
                 "places, which hides what vanishes");
    flags.text("-o,--out,--output", out, "DIR",
               "write gradnorm.json, MODE.csv and pictures (SVG) into this folder");
    flags.number("--every", every, at_least(1),
                 "mode train: steps from one look to the next; default: the config's log_every");
    flags.flag("--overwrite", overwrite, "mode train: replace older runs in DIR");
    flags.flag("--check", check, "exit code 1 if a check fails");
    flags.example("an LSTM with and without a bias of its forget gate",
                  "transformer-cli gradnorm time --models rnn,lstm --init default --forget-bias 3");
    flags.example("pre- against post-norm",
                  "transformer-cli gradnorm depth --depths 2,4,8 --seeds 2 -o runs/depth");
    flags.example("an RNN and a Transformer while they train",
                  "transformer-cli gradnorm train rnn.json transformer.json "
                  "--set training.max_steps=20 -o runs/dynamics");
    flags.example("whether theory holds", "transformer-cli gradnorm jacobian --seeds 1 --check");
  }

  int run(const GlobalOptions& globals) {
    if (mode.empty())
      throw ConfigError(cat("gradnorm: no mode is given; name one: ", join(mode_names(), ", ")));
    const Runtime runtime = start_runtime(globals);
    if (mode == kTrain) return train(globals, runtime);
    if (!trained.empty())
      throw ConfigError(cat("gradnorm: \"", trained.front(), "\": mode ", mode,
                            " draws its networks itself; leave it out, or take the mode train"));
    const auto chosen = *enum_value<GradnormMode>(mode);
    GradnormOptions options = read_options(chosen, globals);
    Progress progress;
    options.on_start = [&](const std::string& what) {
      if (progress.due()) progress.show(what);
    };
    const GradnormResult result = gradnorm(chosen, options);
    progress.finish();
    if (!out.empty()) write_gradnorm(result, out);
    if (globals.json) {
      cli::out() << to_json(result).dump(2) << '\n';
    } else {
      print(result);
    }
    if (check) require_passed(result.checks, "gradnorm");
    return kDone;
  }

 private:
  int train(const GlobalOptions& globals, const Runtime& runtime) const {
    if (trained.empty())
      throw ConfigError("gradnorm train: no model is given; name configs, runs or checkpoints");
    if (out.empty())
      throw ConfigError(
          "gradnorm train: needs -o/--out DIR for the runs, such as -o runs/dynamics");
    std::vector<fs::path> more;
    for (const std::string& file : globals.config) more.push_back(utf8_path(file));
    std::vector<ConfigSetting> settings = settings_of(globals);
    if (globals.seed_given) settings.push_back({"training.seed", globals.seed});
    const std::vector<DynamicsRun> runs = dynamics_runs(trained, more, settings);

    TrainDynamicsOptions options;
    options.output = output_folder(out, overwrite);
    options.overwrite = overwrite;
    options.device = runtime.device;
    options.command_line = globals.command_line;
    options.look.every = every.value_or(runs.front().project.training.log_every);
    const SignalGuard guard;
    options.stop = SignalGuard::received;
    ConsoleObserver observer;
    const std::vector<TrainedDynamics> trainings = train_dynamics(runs, options, observer);
    write_train_dynamics(trainings, options.output);
    const std::vector<TheoryCheck> checks = dynamics_checks(trainings);
    if (globals.json) {
      cli::out() << read_file(options.output / "gradnorm.json");
    } else {
      for (const TrainedDynamics& training : trainings) print_last(training);
      print_checks(checks);
    }
    if (check) require_passed(checks, "gradnorm train");
    return SignalGuard::received() ? SignalGuard::exit_code() : kDone;
  }

  /// The groups at the last step that was looked into.
  static void print_last(const TrainedDynamics& training) {
    const Dynamics& dynamics = training.dynamics;
    if (dynamics.steps.empty()) return;
    const DynamicsStep& step = dynamics.steps.back();
    cli::out() << training.name << ", step " << with_thousands(step.step) << ": loss "
               << figure(step.loss) << ", " << figure(100 * step.clipped)
               << " % of steps clipped\n";
    Table table({"layer", "group", "gradient", "weights", "update / weights"});
    for (size_t i = 0; i < dynamics.groups.size(); ++i)
      table.add({dynamics.groups[i].layer, dynamics.groups[i].group, figure(step.groups[i].grad),
                 figure(step.groups[i].weight), figure(step.groups[i].update_ratio)});
    table.print(cli::out());
    cli::out() << '\n';
  }

  GradnormOptions read_options(GradnormMode chosen, const GlobalOptions& globals) const {
    GradnormOptions options;
    if (chosen == GradnormMode::depth) options.T = 16, options.d = 128;
    if (!models.empty()) {
      options.models.clear();
      for (const std::string& model : models)
        options.models.push_back(*enum_value<ProbeModel>(model));
    }
    options.T = T.value_or(options.T);
    options.d = d.value_or(options.d);
    options.batch = batch.value_or(options.batch);
    options.seeds = seeds.value_or(options.seeds);
    options.layers = layers.value_or(options.layers);
    options.rho = rho.value_or(options.rho);
    options.forget_bias = forget_bias;
    options.float32 = dtype == "f32";
    if (init) options.init = *enum_value<ProbeInit>(*init);
    if (norm) options.norm = *enum_value<NormPlacement>(*norm);
    if (loss) options.loss = *enum_value<ProbeLoss>(*loss);
    if (!depths.empty()) options.depths = depths;
    options.seed = static_cast<uint64_t>(globals.seed);
    return options;
  }

  static void print(const GradnormResult& result) {
    if (result.mode == GradnormMode::time) print_fits(result);
    if (result.mode == GradnormMode::depth) print_depth(result);
    if (result.mode == GradnormMode::jacobian) print_jacobian(result);
    print_checks(result.checks);
  }

  static void print_checks(const std::vector<TheoryCheck>& checks) {
    if (checks.empty()) return;
    cli::out() << '\n';
    Table table({"check", "claim", "found", "bound", ""});
    for (const TheoryCheck& check : checks)
      table.add({check.id, check.claim, figure(check.value), check.bound(),
                 check.pass() ? "passed" : "FAILED"});
    table.print(cli::out());
  }

  static void print_fits(const GradnormResult& result) {
    Table table({"model", "parameters", "state", "rate", "theory", "horizon", "ln r a step",
                 "95 % interval", "rate, mean loss"});
    for (const GradnormFit& fit : result.fits) {
      int64_t count = 0;
      for (const auto& [model, parameters] : result.parameters)
        if (model == fit.model) count = parameters;
      table.add({fit.model, with_thousands(count), fit.observed, figure(fit.rate),
                 figure(fit.theory_rate), figure(fit.horizon), figure(fit.slope),
                 cat(figure(fit.low), " .. ", figure(fit.high)), figure(fit.mean_ce_rate)});
    }
    table.print(cli::out());
  }

  // Means over seeds of the last layer, for each norm and depth.
  static void print_depth(const GradnormResult& result) {
    Table table({"norm", "layers", "||dL/dW2|| last", "first", "||x||^2/d last", "theory"});
    for (const NormPlacement norm : {NormPlacement::pre, NormPlacement::post}) {
      for (const int64_t depth : result.options.depths) {
        double last = 0, first = 0, square = 0, low = 0, high = 0, count = 0;
        for (const DepthRow& row : result.depth) {
          if (row.norm != norm || row.depth != depth) continue;
          if (row.parameter == "w2" && row.layer == depth) last += row.grad_norm, ++count;
          if (row.parameter == "w2" && row.layer == 1) first += row.grad_norm;
          if (row.parameter == "x" && row.layer == depth)
            square += row.hidden_sq_over_d, low = row.low, high = row.high;
        }
        if (count == 0) continue;
        table.add({std::string(enum_name(norm)), cat(depth), figure(last / count),
                   figure(first / count), figure(square / count),
                   cat(figure(low), " .. ", figure(high))});
      }
    }
    table.print(cli::out());
  }

  // Of the first seed; the file has all.
  static void print_jacobian(const GradnormResult& result) {
    Table table({"model", "k", "largest", "smallest", "effective rank", "ln largest / k"});
    for (const JacobianRow& row : result.jacobian) {
      if (row.seed != result.options.seed || (row.k & (row.k - 1)) != 0) continue;
      // Far below the largest ones stands nothing but rounding.
      const bool rounding = row.sigma_min < 1e-15 * row.sigma_max;
      table.add({row.model, cat(row.k), figure(row.sigma_max),
                 rounding ? "" : figure(row.sigma_min), figure(row.rank_eff),
                 figure(row.lyapunov)});
    }
    table.print(cli::out());
  }
};

}  // namespace

Command gradnorm_command() {
  return make_command<Gradnorm>("gradnorm",
                                "How gradients travel in time and depth, against theory");
}

}  // namespace zoo::cli
