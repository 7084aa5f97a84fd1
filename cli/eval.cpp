// transformer-cli eval: the flags of all its modes, and the choice between them.

#include "cli/eval.h"

#include "core/text.h"
#include "evaluation/make_metric.h"

namespace zoo::cli {
namespace {

struct Eval {
  EvalFlags shared;
  std::unique_ptr<EvalMode> perplexity = make_perplexity_mode(shared);
  std::unique_ptr<EvalMode> encoder = make_encoder_mode(shared);
  std::unique_ptr<EvalMode> pictures = make_picture_mode(shared);
  std::unique_ptr<EvalMode> metric = make_metric_mode(shared);
  std::unique_ptr<EvalMode> translation = make_translation_mode(shared, *metric);

  void declare(Flags& flags) {
    flags.text("-m,--model,model", shared.model, "MODEL", "run, checkpoint or Hugging Face folder");
    flags.texts(
        "--metrics,--metric", shared.metric_lists, "A,B",
        cat("which to print, and in which order; of a model: ", join(perplexity_metrics(), ", "),
            "; of a classifier: ", join(class_metrics(), ", "),
            "; of files: ", join(metric_names(), ", ")));
    flags.number("--min-score", shared.min_score, any_number(),
                 "gate: exit 4 if the first metric is worse than X");
    flags.choice("--format", shared.format, {"text", "json"}, "json is the same as --json");
    flags.group("Of a model on data");
    flags.text("--data", shared.data, "FILE|valid|test",
               "a text, a .tokens or a .tsv file; pictures: a folder, an IDX or a CIFAR file; "
               "valid: the data the model was validated on; "
               "test: test.* beside valid.*");
    perplexity->declare(flags);
    encoder->declare(flags);
    pictures->declare(flags);
    metric->declare(flags);
    translation->declare(flags);
  }

  int run(const GlobalOptions& globals) {
    if (translation->asked_for()) return translation->run(globals);
    if (perplexity->asked_for() && metric->asked_for())
      throw ConfigError(
          "eval: a model and --hypotheses were given; name a model to see how well it predicts a "
          "text, or --hypotheses and --reference to score files");
    if (metric->asked_for()) return metric->run(globals);
    if (pictures->asked_for()) return pictures->run(globals);
    return encoder->asked_for() ? encoder->run(globals) : perplexity->run(globals);
  }
};

}  // namespace

Command eval_command() {
  return make_command<Eval>("eval",
                            "A model on data: loss, perplexity, accuracy, F1; or files of "
                            "hypotheses: BLEU, chrF, TER, ROUGE");
}

}  // namespace zoo::cli
