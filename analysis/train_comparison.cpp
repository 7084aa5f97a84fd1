#include "analysis/train_comparison.h"

#include <charconv>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "core/config.h"
#include "core/error.h"
#include "core/scratch.h"
#include "core/text.h"
#include "data/parallel.h"
#include "decoding/translate.h"
#include "evaluation/bleu.h"
#include "evaluation/exact_match.h"
#include "evaluation/score_files.h"
#include "training/schedule.h"

namespace zoo {

namespace {

/// Sets a key as the first training has it, and says so.
void share(std::vector<DynamicsRun>& runs, const char* key, auto TrainingConfig::*member,
           std::vector<std::string>& changes) {
  const auto& wanted = runs.front().project.training.*member;
  for (size_t i = 1; i < runs.size(); ++i) {
    auto& value = runs[i].project.training.*member;
    if (value == wanted) continue;
    value = wanted;
    changes.push_back(
        cat(runs[i].name, ": training.", key, " becomes that of ", runs.front().name));
  }
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

ParallelFiles files_of(const ParallelTextConfig& config) {
  const auto paths = [](const std::vector<std::string>& names) {
    std::vector<fs::path> found;
    for (const std::string& name : names) found.push_back(utf8_path(name));
    return found;
  };
  return {paths(config.source), paths(config.target), paths(config.tsv)};
}

}  // namespace

Budget parse_budget(const std::string& text) {
  const auto refuse = [&](const std::string& problem) {
    return ConfigError(cat("--budget: \"", text, "\" ", problem,
                           "; allowed: tokens=N, steps=N or seconds=N with N above 0, such as "
                           "tokens=2e6"));
  };
  const size_t equals = text.find('=');
  if (equals == std::string::npos) throw refuse("has no =");
  Budget budget;
  const std::optional<BudgetUnit> unit = enum_value<BudgetUnit>(text.substr(0, equals));
  if (!unit) throw refuse("names no unit");
  budget.unit = *unit;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, budget.amount);
  if (error != std::errc() || rest != end || !std::isfinite(budget.amount) || budget.amount <= 0)
    throw refuse("is no number above 0");
  if (budget.unit != BudgetUnit::seconds &&
      (budget.amount != std::floor(budget.amount) || budget.amount > 1e15))
    throw refuse("is no whole number");
  return budget;
}

std::vector<std::string> align_trainings(std::vector<DynamicsRun>& runs) {
  if (runs.size() < 2)
    throw ConfigError(cat("compare: ", runs.size(),
                          " config is given; give two or more, such as an RNN's and a "
                          "Transformer's of one task"));
  const Json first = config_to_json(runs.front().project);
  for (size_t i = 1; i < runs.size(); ++i)
    require_same_learning(first, config_to_json(runs[i].project), runs.front().name, runs[i].name);
  std::vector<std::string> changes;
  share(runs, "seed", &TrainingConfig::seed, changes);
  share(runs, "batch_size", &TrainingConfig::batch_size, changes);
  share(runs, "batch_type", &TrainingConfig::batch_type, changes);
  share(runs, "grad_accum", &TrainingConfig::grad_accum, changes);
  share(runs, "overfit_batch", &TrainingConfig::overfit_batch, changes);
  share(runs, "label_smoothing", &TrainingConfig::label_smoothing, changes);
  share(runs, "log_every", &TrainingConfig::log_every, changes);
  share(runs, "eval_every", &TrainingConfig::eval_every, changes);
  share(runs, "eval_batches", &TrainingConfig::eval_batches, changes);
  share(runs, "max_steps", &TrainingConfig::max_steps, changes);
  share(runs, "epochs", &TrainingConfig::epochs, changes);
  share(runs, "max_tokens", &TrainingConfig::max_tokens, changes);
  share(runs, "max_time", &TrainingConfig::max_time, changes);
  for (DynamicsRun& run : runs) run.project.training.early_stopping.patience = 0;
  return changes;
}

void set_budget(std::vector<DynamicsRun>& runs, const Budget& budget, torch::Device device,
                TrainObserver& observer) {
  for (DynamicsRun& run : runs) {
    TrainingConfig& training = run.project.training;
    training.max_steps = training.epochs = training.max_tokens = 0;
    training.max_time = 0;
    switch (budget.unit) {
      case BudgetUnit::tokens:
        training.max_tokens = static_cast<int64_t>(budget.amount);
        break;
      case BudgetUnit::steps:
        training.max_steps = static_cast<int64_t>(budget.amount);
        break;
      case BudgetUnit::seconds: {
        // The schedule wants an end before the speed is known; that of the config will do.
        ProjectConfig timed = run.project;
        timed.training.max_steps = 1'000'000;
        TrainOptions options;
        options.device = device;
        options.init_from = run.init_from;
        const TrainEstimate estimate = estimate_training(timed, options, observer);
        training.max_steps =
            std::max<int64_t>(1, std::llround(budget.amount / estimate.seconds_per_step));
        break;
      }
    }
    if (budget.unit == BudgetUnit::tokens) continue;
    with_name_of(
        run, [&] { Schedule(training.schedule, training.learning_rate, training.max_steps, 1); });
    // A short training is evaluated, too, before it ends.
    training.eval_every =
        std::min(training.eval_every, std::max<int64_t>(1, training.max_steps / 5));
    training.log_every =
        std::min(training.log_every, std::max<int64_t>(1, training.max_steps / 50));
  }
}

void require_same_order(const std::vector<TrainedDynamics>& trainings) {
  for (size_t i = 1; i < trainings.size(); ++i) {
    const std::vector<uint64_t>& first = trainings.front().dynamics.read;
    const std::vector<uint64_t>& other = trainings[i].dynamics.read;
    for (size_t step = 0; step < std::min(first.size(), other.size()); ++step)
      if (first[step] != other[step])
        throw DataError(cat("compare: at step ", step + 1, " ", trainings[i].name,
                            " has read other data than ", trainings.front().name,
                            ", so their losses cannot be compared; look for differences of the "
                            "models that change their inputs, such as the size of pictures"));
  }
}

std::vector<LengthScore> scores_by_length(const fs::path& run, int64_t pairs,
                                          torch::Device device) {
  const LoadedModel loaded = load_model(run, {.device = device});
  const ProjectConfig project =
      read_project(loaded.project, utf8(loaded.folder / "zoo.json") + "#");
  const auto* const task = std::get_if<TranslationTaskConfig>(&project.task);
  if (task == nullptr) return {};
  const auto model = loaded.as<Seq2Seq>();
  const auto limit = [&](int64_t longest) {
    return task->max_length == 0 ? longest : std::min(task->max_length, longest);
  };
  const PairEncoding encoding{*loaded.source_tokenizer, *loaded.tokenizer,
                              limit(model->max_source_length()), limit(model->max_length())};
  std::vector<std::vector<int64_t>> sources;
  std::string references;
  EncodedPair pair;
  for_each_pair(files_of(task->valid), [&](std::string_view source, std::string_view target) {
    if (std::ssize(sources) >= pairs ||
        encode_pair(source, target, encoding, pair) != PairFate::kept)
      return;
    sources.push_back(pair.source);
    references += cat(target, '\n');
  });
  TranslateArgs args{
      .search = {.tokenizer = loaded.tokenizer.get(), .eos = loaded.special_ids.eos}};
  std::string hypotheses;
  for (const auto& found : translate(*model, sources, {}, args))
    hypotheses += on_one_line(found[0].text) + "\n";

  const ScratchFolder scratch;
  const fs::path hypothesis_file = scratch.path() / "hypotheses",
                 reference_file = scratch.path() / "references";
  write_file(hypothesis_file, hypotheses);
  write_file(reference_file, references);
  BleuOptions options;
  options.tokenization = task->bleu_tokenize;
  options.lowercase = task->bleu_lowercase;
  std::vector<std::unique_ptr<Metric>> metrics;
  metrics.push_back(std::make_unique<Bleu>(options));
  metrics.push_back(std::make_unique<ExactMatch>());
  const ScoredFiles scored = score_files({utf8(hypothesis_file), {utf8(reference_file)}}, metrics,
                                         {.keep_lines = false, .by_length = true});
  std::vector<LengthScore> scores;
  for (size_t i = 0; i < scored.metrics[0].buckets.size(); ++i) {
    const LengthBucket& bleu = scored.metrics[0].buckets[i];
    const LengthBucket& exact = scored.metrics[1].buckets[i];
    if (bleu.lines > 0)
      scores.push_back({bleu.shortest, bleu.longest, bleu.lines, metrics[0]->score(bleu.sums).score,
                        metrics[1]->score(exact.sums).score});
  }
  return scores;
}

}  // namespace zoo
