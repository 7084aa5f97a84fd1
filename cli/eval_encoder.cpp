// transformer-cli eval MODEL of a text encoder: how well it tells classes and tags, or finds masked
// tokens.

#include <cmath>

#include "cli/class_report.h"
#include "cli/text_model.h"
#include "core/scratch.h"
#include "core/text.h"
#include "data/labelled_texts.h"
#include "training/tasks.h"

namespace zoo::cli {
namespace {

const std::vector<std::string> kMaskMetrics = {"loss", "perplexity", "accuracy",
                                               "next_sentence_accuracy"};

struct EvalEncoder : EvalMode {
  using EvalMode::EvalMode;

  void declare(Flags& flags) override {
    flags.group("Of a text encoder");
    flags.example("a classifier: F1, Matthews, a table of classes",
                  "transformer-cli eval runs/classifier --data labelled.tsv");
  }

  /// The model's config decides.
  bool asked_for() const override { return evaluates<BertConfig>(shared); }

  int run(const GlobalOptions& globals) override {
    const TextModel opened = load_text_model("eval", shared.model, globals);
    const EvalData found = find_eval_data(shared, opened.loaded, false);
    const TextHeadConfig& head = opened.model->head();
    if (std::holds_alternative<MaskedLmHeadConfig>(head)) return masked(opened, found, globals);
    if (labels_of(head).empty())
      throw ConfigError(shared.model +
                        ": has no head, only vectors, and there is nothing to measure; give a "
                        "model that was trained on a task");
    return classes(opened, found, globals);
  }

 private:
  int classes(const TextModel& opened, const EvalData& found, const GlobalOptions& globals) {
    const std::vector<std::string> labels = labels_of(opened.model->head());
    const bool tags = std::holds_alternative<TaggerHeadConfig>(opened.model->head());
    const LabelledTexts read = read_labelled_texts(
        found.files, tags ? LabelUnit::word : LabelUnit::text, labels, *opened.encoding);
    if (read.blank > 0) log_warning(read.blank, " blank texts are left out");
    if (read.cut > 0)
      log_warning(read.cut, " texts are longer than the model's ", opened.model->max_length(),
                  " tokens, and their ends are cut off");
    std::vector<TextRow> rows;
    for (const LabelledText& text : read.texts) rows.push_back(row_of(text.text));
    Confusion confusion(std::ssize(labels));
    if (tags) {
      const std::vector<Tensor> logits = tag_logits(*opened.model, rows);
      for (size_t i = 0; i < logits.size(); ++i) count(read.texts[i], logits[i], confusion);
    } else {
      const Tensor logits = class_logits(*opened.model, rows);  // (N, C)
      for (size_t i = 0; i < rows.size(); ++i)
        count(read.texts[i], logits[static_cast<int64_t>(i)].unsqueeze(0), confusion);
    }

    return report_classes(shared, globals.json, confusion, labels, tags ? "words" : "texts",
                          describe_eval(shared, found));
  }

  /// @param logits (R, C), a row for each label of the text
  static void count(const LabelledText& text, const Tensor& logits, Confusion& confusion) {
    const Tensor guesses = logits.argmax(-1);
    const auto* guess = guesses.const_data_ptr<int64_t>();
    for (size_t place = 0; place < text.labels.size(); ++place)
      if (text.labels[place] != kNoLabel) confusion.add(text.labels[place], guess[place]);
  }

  int masked(const TextModel& opened, const EvalData& found, const GlobalOptions& globals) {
    const std::vector<std::string> metrics =
        chosen_metrics(shared, kMaskMetrics, {{"ppl", "perplexity"}});
    MaskedLmTaskConfig task;
    if (opened.loaded.project.is_object() && opened.loaded.project.contains("task")) {
      // The masks of its training.
      const ProjectConfig project =
          zoo::read_project(opened.loaded.project, utf8(opened.loaded.folder / "zoo.json") + "#");
      if (const auto* own = std::get_if<MaskedLmTaskConfig>(&project.task)) task = *own;
    }
    task.train.clear();
    task.cache.clear();
    for (const fs::path& file : found.files) task.train.push_back(utf8(file));
    task.valid = found.tail < 1 ? std::vector<std::string>() : task.train;
    task.valid_fraction = found.tail < 1 ? found.tail : 0;
    TrainingConfig training;
    training.seed = globals.seed;
    const ScratchFolder scratch;
    const auto evaluated =
        make_task(task, {.model = opened.model,
                         .tokenizer = opened.loaded.tokenizer,
                         .training = &training,
                         .device = device_of(*opened.model),
                         .cache = scratch.path(),
                         .notice = [](const std::string& text) { log_warning(text); }});
    Json result = describe_eval(shared, found);
    for (const auto& [name, value] : evaluated->evaluate(Precision::fp32)) {
      result[name] = value;
    }
    // With next sentences the loss is that of both tasks.
    if (!std::get<MaskedLmHeadConfig>(opened.model->head()).next_sentence)
      result["perplexity"] = std::exp(result["loss"].get<double>());
    result["tokens"] = evaluated->data_receipt()["valid"]["tokens"];
    if (globals.json || shared.format == "json") {
      out() << result.dump(2) << '\n';
    } else {
      for (const std::string& metric : metrics)
        if (result.contains(metric))
          out() << metric << " = " << fixed(result[metric], 4)
                << (metric == "loss"       ? " nats a masked token"
                    : metric == "accuracy" ? " of masked tokens"
                                           : "")
                << '\n';
    }
    const std::string& first = metrics.front();
    return result.contains(first)
               ? pass_gate(shared, first, result[first], first == "loss" || first == "perplexity")
               : kDone;
  }
};

}  // namespace

std::unique_ptr<EvalMode> make_encoder_mode(EvalFlags& shared) {
  return std::make_unique<EvalEncoder>(shared);
}

}  // namespace zoo::cli
