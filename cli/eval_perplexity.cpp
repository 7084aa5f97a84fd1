// transformer-cli eval MODEL: how well a model predicts a text, or completes prompts.

#include <algorithm>
#include <cmath>
#include <map>

#include "checkpoint/checkpoint.h"
#include "cli/eval_model.h"
#include "cli/runtime.h"
#include "core/config.h"
#include "core/scratch.h"
#include "core/text.h"
#include "data/token_file.h"
#include "evaluation/perplexity.h"
#include "training/tasks.h"

namespace zoo::cli {
namespace {

const std::vector<std::string> kMetrics = {"loss",          "perplexity", "bits_per_byte",
                                           "bits_per_char", "accuracy",   "exact_match"};

/// Loss, perplexity and bits are better when small.
bool small_is_better(const std::string& metric) {
  return metric != "accuracy" && metric != "exact_match";
}

/// Bytes and characters of a text.
struct TextSize {
  int64_t bytes = 0, chars = 0;
  void add(std::string_view text) {
    bytes += static_cast<int64_t>(text.size());
    chars += std::count_if(text.begin(), text.end(),
                           [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  }
};

struct EvalPerplexity : EvalMode {
  using EvalMode::EvalMode;

  int64_t context = 0, stride = 0, batch_size = 0, random_batches = 0;
  bool bos = false, completion = false;

  void declare(Flags& flags) override {
    flags.describe(
        "The loss is the mean of -ln p over tokens, in nats; perplexity is exp(loss), per token of "
        "the model's own\n"
        "tokenizer, so only models with the same tokenizer compare. Bits per byte and per "
        "character (code point) do\n"
        "compare: sum of -log2 p over the bytes or characters of the raw text. Every token after "
        "the first (with\n"
        "--bos, every token) is predicted exactly once, from at most --context tokens before it; "
        "with --stride equal\n"
        "to the context, the default, windows do not overlap. Accuracy is the share of tokens that "
        "were the most\n"
        "probable. A .tsv file holds prompt<TAB>completion lines; exact_match is the share of "
        "prompts that greedy\n"
        "decoding completes exactly, and loss and accuracy are those of the completions' tokens.");
    flags.flag("--completion", completion,
               "the data is prompt<TAB>completion, whatever the file's name");
    flags.number("--context", context, non_negative(),
                 "tokens that the model sees at once; 0: its max_length");
    flags.number("--stride", stride, non_negative(),
                 "tokens that the window moves by; 0: the context");
    flags.flag(
        "--bos", bos,
        "put the start token (else the end token) before the text, so that its first token counts");
    flags.number(
        "--random-batches", random_batches, non_negative(),
        "also estimate the loss from N batches at random places, as nanoGPT does, drawn by --seed");
    flags.number("--batch-size", batch_size, non_negative(),
                 "windows in a forward pass (random batches: 12 if 0); 0: by memory");
    flags.example("the validation data of its training",
                  "transformer-cli eval weights/gpt-shakespeare-char --data valid");
    flags.example("another text, with a longer past for each token",
                  "transformer-cli eval -m weights/gpt-shakespeare-char --data "
                  "data/shakespeare/test.txt --context 64 --stride 32 --random-batches 4");
    flags.example(
        "a gate for scripts",
        "transformer-cli eval weights/gpt-shakespeare-char --data data/shakespeare/test.txt "
        "--metrics perplexity,accuracy --min-score 1000 --json");
  }

  bool asked_for() const override { return !shared.model.empty(); }

  int run(const GlobalOptions& globals) override {
    const std::vector<std::string> metrics =
        chosen_metrics(shared, kMetrics, {{"ppl", "perplexity"}});
    if (shared.model.empty())
      throw ConfigError("eval: no model was given; name a run, checkpoint or Hugging Face folder");
    const Runtime runtime = start_runtime(globals);
    LoadedModel loaded =
        load_model(utf8_path(shared.model), {.device = runtime.device, .dtype = runtime.dtype});
    if (!loaded.tokenizer)
      throw DataError(cat(shared.model,
                          ": holds no tokenizer, which texts need; add tokenizer.json, vocab.json "
                          "and merges.txt, or a .model file"));
    const EvalData found = find_eval_data(shared, loaded, completion);
    Json result = describe_eval(shared, found);
    if (found.completion)
      score_completions(loaded, found, runtime, globals, result);
    else
      score_text(loaded, found, globals, result);

    std::vector<std::string> printed;
    for (const std::string& metric : metrics)
      if (result.contains(metric)) printed.push_back(metric);
    if (!shared.metric_lists.empty() && printed.size() != metrics.size())
      throw ConfigError(
          cat("--metrics: ", missing(metrics, result),
              " is no metric of this data; there are: ", join(present(result), ", ")));
    for (const std::string& metric : kMetrics)
      if (std::find(printed.begin(), printed.end(), metric) == printed.end()) result.erase(metric);
    print(globals, result, printed);
    return pass_gate(shared, printed.front(), result[printed.front()],
                     small_is_better(printed.front()));
  }

 private:
  static std::vector<std::string> present(const Json& result) {
    std::vector<std::string> names;
    for (const std::string& metric : kMetrics)
      if (result.contains(metric)) names.push_back(metric);
    return names;
  }
  static std::string missing(const std::vector<std::string>& metrics, const Json& result) {
    for (const std::string& metric : metrics)
      if (!result.contains(metric)) return metric;
    return "";
  }

  void score_text(LoadedModel& loaded, const EvalData& found, const GlobalOptions& globals,
                  Json& result) const {
    const Tokenizer& tokenizer = *loaded.tokenizer;
    const ScratchFolder scratch;
    Progress progress;
    const bool packed = found.files[0].extension() == ".tokens";
    fs::path path = found.files[0];
    if (!packed) {
      path = scratch.path() / "text.tokens";
      pack_texts(found.files, tokenizer, path, [&](double share) {
        progress.show(cat("packing ", std::lround(100 * share), "%"));
      });
    }
    const TokenFile file(path);
    if (packed && file.info().tokenizer_hash != tokenizer_hash(tokenizer, scratch.path()))
      throw DataError(cat(utf8(path), ": was packed with another tokenizer than that of ",
                          shared.model, "; give the text itself"));
    const int64_t count =
        found.tail < 1
            ? static_cast<int64_t>(std::ceil(static_cast<double>(file.size()) * found.tail))
            : file.size();
    const int64_t first = file.size() - count;
    const TokenSource text{count,
                           [&](int64_t at, std::span<int64_t> to) { file.read(first + at, to); }};

    PerplexityOptions options{.context = context, .stride = stride, .batch_size = batch_size};
    if (bos) {
      options.bos = loaded.special_ids.bos ? loaded.special_ids.bos : loaded.special_ids.eos;
      if (!options.bos)
        throw ConfigError(cat("--bos: the tokenizer of ", shared.model,
                              " has no start or end token; leave it out"));
    }
    options.progress = [&](int64_t done, int64_t total) {
      if (progress.due())
        progress.show(
            cat("evaluating ", with_thousands(done), " of ", with_thousands(total), " tokens"));
    };
    const auto language_model = loaded.as<CausalLm>();
    const PerplexityScore score = measure_perplexity(*language_model, text, options);
    const int64_t used = context == 0 ? language_model->max_length() : context;

    // The text that was predicted: without bos, all but the first token.
    TextSize size;
    if (packed || found.tail < 1) {
      size = decoded_size(text, tokenizer);
    } else {
      for (const fs::path& part : found.files) size.add(MappedFile(part).text());
    }
    if (!bos) {
      TextSize unseen;
      int64_t token = 0;
      text.read(0, {&token, 1});
      unseen.add(
          tokenizer.decode(std::span(&token, 1), {.skip_special = true, .replace_invalid = false}));
      size.bytes -= unseen.bytes;
      size.chars -= unseen.chars;
    }

    result["loss"] = score.loss();
    result["perplexity"] = std::exp(score.loss());
    if (size.bytes > 0)
      result["bits_per_byte"] = score.nats / std::log(2.0) / static_cast<double>(size.bytes);
    if (size.chars > 0)
      result["bits_per_char"] = score.nats / std::log(2.0) / static_cast<double>(size.chars);
    result["accuracy"] = score.accuracy();
    result["tokens"] = score.tokens;
    result["bytes"] = size.bytes;
    result["chars"] = size.chars;
    result["signature"] = cat("ppl|ctx:", used, "|stride:", stride == 0 ? used : stride,
                              "|bos:", bos ? "yes" : "no", "|unit:token|tok:", tokenizer.type(),
                              "-", tokenizer.vocab_size(), "|version:", ZOO_VERSION);
    if (random_batches > 0) {
      const LossEstimateOptions estimate{.batches = random_batches,
                                         .batch_size = batch_size == 0 ? 12 : batch_size,
                                         .context = context,
                                         .seed = static_cast<uint64_t>(globals.seed)};
      result["random_batches"] = {{"loss", estimate_loss(*language_model, text, estimate)},
                                  {"batches", estimate.batches},
                                  {"batch_size", estimate.batch_size},
                                  {"seed", globals.seed}};
    }
  }

  static TextSize decoded_size(const TokenSource& text, const Tokenizer& tokenizer) {
    TextSize size;
    std::vector<int64_t> piece;
    for (int64_t at = 0; at < text.size; at += static_cast<int64_t>(piece.size())) {
      piece.resize(static_cast<size_t>(std::min<int64_t>(1 << 16, text.size - at)));
      text.read(at, piece);
      size.add(tokenizer.decode(piece, {.skip_special = true, .replace_invalid = false}));
    }
    return size;
  }

  void score_completions(LoadedModel& loaded, const EvalData& found, const Runtime& runtime,
                         const GlobalOptions& globals, Json& result) const {
    if (context != 0 || stride != 0 || bos || random_batches != 0)
      throw ConfigError(
          "--context, --stride, --bos and --random-batches are for running text, not for "
          "prompt<TAB>completion data; leave them out");
    CompletionTaskConfig task;
    for (const fs::path& file : found.files) task.valid.push_back(utf8(file));
    task.train = task.valid;  // nothing is learnt, but a task has both
    TrainingConfig training;
    training.seed = globals.seed;
    const auto evaluated =
        make_task(task, {.model = loaded.as<CausalLm>(),
                         .tokenizer = loaded.tokenizer,
                         .training = &training,
                         .device = runtime.device,
                         .cache = {},
                         .notice = [](const std::string& text) { log_warning(text); }});
    for (const auto& [name, value] : evaluated->evaluate(Precision::fp32)) result[name] = value;
    result["pairs"] = evaluated->data_receipt()["valid"]["pairs"];
  }

  void print(const GlobalOptions& globals, const Json& result,
             const std::vector<std::string>& printed) const {
    if (globals.json || shared.format == "json") {
      out() << result.dump(2) << '\n';
      return;
    }
    const std::map<std::string, std::string> units = {
        {"loss", " nats a token"}, {"accuracy", " of tokens"}, {"exact_match", " of prompts"}};
    for (const std::string& metric : printed) {
      const std::string name = metric == "perplexity" && result.contains("signature")
                                   ? "perplexity " + result["signature"].get<std::string>()
                                   : metric;
      const auto unit = units.find(metric);
      out() << name << " = " << fixed(result[metric], 4)
            << (unit == units.end() ? "" : unit->second) << '\n';
    }
    if (result.contains("random_batches")) {
      const Json& estimate = result["random_batches"];
      out() << "loss of " << estimate["batches"] << " random batches of " << estimate["batch_size"]
            << " (nanoGPT's estimate, seed " << estimate["seed"]
            << ") = " << fixed(estimate["loss"], 4) << " nats a token\n";
    }
    if (result.contains("pairs"))
      out() << "prompts: " << result["pairs"] << '\n';
    else
      out() << "tokens: " << with_thousands(result["tokens"])
            << ", bytes: " << with_thousands(result["bytes"])
            << ", characters: " << with_thousands(result["chars"]) << '\n';
  }
};

}  // namespace

std::unique_ptr<EvalMode> make_perplexity_mode(EvalFlags& shared) {
  return std::make_unique<EvalPerplexity>(shared);
}

const std::vector<std::string>& perplexity_metrics() { return kMetrics; }

}  // namespace zoo::cli
