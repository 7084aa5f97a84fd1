// transformer-cli bench: time and memory, of a model, and of its parts by length.

#include "analysis/bench_model.h"
#include "analysis/bench_sweeps.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/model_subject.h"
#include "cli/runtime.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

/// "1.24 ms"
std::string short_time(double seconds) {
  const char* unit = " s";
  if (seconds < 1e-3) {
    seconds *= 1e6;
    unit = " µs";
  } else if (seconds < 1) {
    seconds *= 1e3;
    unit = " ms";
  }
  return fixed(seconds, seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0) + unit;
}

/// "1.98 [1.91, 2.05]"
std::string exponent(const std::vector<BenchFit>& fits, const BenchFit& of,
                     const std::string& quantity) {
  for (const BenchFit& fit : fits)
    if (fit.series == of.series && fit.pass == of.pass && fit.quantity == quantity) {
      if (quantity == "flops") return fixed(fit.fit.slope, 2);
      return cat(fixed(fit.fit.slope, 2), " [", fixed(fit.fit.low, 2), ", ", fixed(fit.fit.high, 2),
                 "]");
    }
  return "";
}

struct Bench {
  static constexpr bool kReadsConfig = true;
  std::string mode = "model", target;
  std::vector<int64_t> lengths, threads_list;
  std::optional<int64_t> width, heads, kv_heads, head_dim, kernel_width;
  int64_t batch_size = 1, repeat = 5, prompt_tokens = 32, new_tokens = 64;
  bool train = false;
  std::vector<std::string> outputs;

  void declare(Flags& flags) {
    flags.describe(
        "MODE says what is timed; all of a mode's cases are timed in turn in one run.\n"
        "  model      a model writes (or reads, if it is an encoder) and, with --train, learns: "
        "tokens a second,\n"
        "             time to the first token, the most memory held, and model FLOPs utilization: "
        "the share of\n"
        "             the FLOPs a second of a large matrix product, timed in the same run\n"
        "  attention  fused attention against one that holds its weights\n"
        "  cache      generation with and without a KV cache\n"
        "  scoring    additive, dot, scaled dot and general scores of a recurrent decoder\n"
        "  layers     recurrent, convolutional and attention layers of one width\n"
        "Times are medians of --repeat timings. Memory is the most that one call allocates beside "
        "its inputs.\n"
        "Exponents are slopes of the logarithms of cost and tokens through the four longest "
        "lengths, with 95 %\n"
        "intervals (least squares, Student's t); they and crossings go by the fastest timings.");
    flags.choice("mode", mode, {"model", "attention", "cache", "scoring", "layers"},
                 "what to time");
    flags.text("-m,--model", target, "MODEL",
               "of model and cache: a folder, a config file or a preset; or give -c");
    flags.number("--batch-size,--batch", batch_size, at_least(1), "sequences");
    flags.number("--repeat", repeat, at_least(1), "timings of each case");
    flags.texts("-o,--output", outputs, "FILE",
                "write the result too: .json, .csv or, of a mode by length, .svg; may be repeated");
    flags.group("Mode model");
    flags.number("--prompt-tokens", prompt_tokens, at_least(1),
                 "tokens of the prompt, source, text or training sequence");
    flags.number("--new-tokens", new_tokens, at_least(1), "tokens to write");
    flags.numbers("--threads-list", threads_list, between(1, 1024),
                  "numbers of CPU threads to time one after the other (default: --threads)");
    flags.flag("--train", train, "time training steps with AdamW too");
    flags.group("Modes by length");
    flags.numbers("--lengths", lengths, at_least(1), "tokens, in rising order");
    flags.number("--width", width, at_least(1), "of scoring and layers (default: 128)");
    flags.number("--heads", heads, at_least(1), "of attention and layers (default: 4)");
    flags.number("--kv-heads", kv_heads, at_least(1), "of attention (default: as --heads)");
    flags.number("--head-dim", head_dim, at_least(1), "of attention (default: 64)");
    flags.number("--kernel-width", kernel_width, at_least(1),
                 "of the convolution in layers (default: 3)");
    flags.example("a model, on one thread",
                  "transformer-cli bench model -m weights/gpt-shakespeare-char --new-tokens 16 "
                  "--threads-list 1 --train");
    flags.example("what fused attention saves",
                  "transformer-cli bench attention --lengths 32,64,128,256 --repeat 2");
    flags.example("what a KV cache saves",
                  "transformer-cli bench cache --lengths 8,16,32 --repeat 2 -o cache.csv");
    flags.example("Bahdanau's scores against Luong's and Vaswani's",
                  "transformer-cli bench scoring --lengths 8,16,32 --width 32 --repeat 2 --json");
    flags.example("where attention overtakes recurrence",
                  "transformer-cli bench layers --width 32 --lengths 8,16,32,64 --repeat 2 -o "
                  "layers.svg");
  }

  int run(const GlobalOptions& globals) {
    require_fitting_flags(globals);
    for (const std::string& file : outputs) require_writable_folder(folder_of(file));
    if (mode == "model") return run_model(globals);
    const Runtime runtime = start_runtime(globals);
    Progress progress;
    SweepOptions options{.lengths = lengths, .batch = batch_size, .repeat = repeat};
    options.device = runtime.device;
    if (options.lengths.empty()) options.lengths = usual_lengths();
    options.on_length = [&](int64_t tokens) {
      if (progress.due()) progress.show(cat(with_thousands(tokens), " tokens"));
    };
    const BenchResult result = sweep(globals, options);
    progress.finish();
    for (const std::string& file : outputs)
      write(file, zoo::to_json(result), zoo::to_csv(result), &result);
    if (globals.json)
      out() << zoo::to_json(result).dump(2) << '\n';
    else
      print(result);
    return kDone;
  }

 private:
  static fs::path folder_of(const std::string& file) {
    const fs::path folder = utf8_path(file).parent_path();
    return folder.empty() ? fs::path(".") : folder;
  }

  void require_fitting_flags(const GlobalOptions& globals) const {
    for (size_t i = 1; i < lengths.size(); ++i)
      if (lengths[i] <= lengths[i - 1])
        throw ConfigError(cat("--lengths: ", lengths[i], " follows ", lengths[i - 1],
                              "; give them in rising order"));
    const bool models = mode == "model" || mode == "cache";
    if (!models && !(target.empty() && globals.config.empty() && globals.set.empty()))
      throw ConfigError(cat("bench ", mode,
                            ": times parts of a size given by flags, so a model or config would "
                            "change nothing; leave it out"));
    if (mode != "model" && globals.dtype != "float32")
      throw ConfigError(cat("--dtype: bench ", mode, " times float32 only; leave it out"));
    const auto only = [&](bool given, const char* flag, bool fits, const char* modes) {
      if (given && !fits)
        throw ConfigError(cat(flag, ": bench ", mode, " has no use for it; it belongs to ", modes));
    };
    only(!lengths.empty(), "--lengths", mode != "model", "attention, cache, scoring and layers");
    only(width.has_value(), "--width", mode == "scoring" || mode == "layers", "scoring and layers");
    only(heads.has_value(), "--heads", mode == "attention" || mode == "layers",
         "attention and layers");
    only(kv_heads.has_value(), "--kv-heads", mode == "attention", "attention");
    only(head_dim.has_value(), "--head-dim", mode == "attention", "attention");
    only(kernel_width.has_value(), "--kernel-width", mode == "layers", "layers");
    only(train, "--train", mode == "model", "model");
    only(!threads_list.empty(), "--threads-list", mode == "model", "model");
    for (const std::string& file : outputs) {
      const std::string ending = utf8(utf8_path(file).extension());
      if (ending != ".json" && ending != ".csv" && !(ending == ".svg" && mode != "model"))
        throw ConfigError(cat("--output: ", file, " ends in \"", ending, "\"; allowed: .json, .csv",
                              mode == "model" ? "" : ", .svg"));
    }
  }

  static void write(const std::string& file, const Json& json, const std::string& csv,
                    const BenchResult* chart) {
    const fs::path path = utf8_path(file);
    if (path.extension() == ".json")
      write_json_file(path, json);
    else
      write_file(path, path.extension() == ".csv" ? csv : to_svg(*chart));
  }

  // ---- by length -----------------------------------------------------------------------------

  std::vector<int64_t> usual_lengths() const {
    if (mode == "attention") return {128, 256, 512, 1024, 2048};
    if (mode == "layers") return {32, 64, 128, 256, 512, 1024};
    return {16, 32, 64, 128, 256};
  }

  BenchResult sweep(const GlobalOptions& globals, const SweepOptions& options) const {
    if (mode == "attention") {
      AttentionBench attention;
      attention.heads = heads.value_or(attention.heads);
      attention.kv_heads = kv_heads.value_or(attention.heads);
      attention.head_dim = head_dim.value_or(attention.head_dim);
      if (attention.heads % attention.kv_heads != 0)
        throw ConfigError(
            cat("--kv-heads: ", attention.kv_heads, " does not divide --heads ", attention.heads));
      return bench_attention(attention, options);
    }
    if (mode == "cache") return bench_cache(cached_model(globals, options.lengths.back()), options);
    if (mode == "scoring") return bench_scoring(width.value_or(128), options);
    LayerBench layer;
    layer.width = width.value_or(layer.width);
    layer.heads = heads.value_or(layer.heads);
    layer.kernel_width = kernel_width.value_or(layer.kernel_width);
    if (layer.width % layer.heads != 0)
      throw ConfigError(cat("--heads: ", layer.heads, " does not divide --width ", layer.width));
    return bench_layers(layer, options);
  }

  GptConfig cached_model(const GlobalOptions& globals, int64_t longest) const {
    if (target.empty() && globals.config.empty() && globals.set.empty()) {
      GptConfig config = GptConfig::preset("nanogpt-cpu");
      config.vocab_size = 256;
      config.max_length = longest;
      return config;
    }
    const ModelSubject subject = find_model(globals, "bench cache", target);
    const auto* gpt = std::get_if<GptConfig>(&subject.model);
    if (gpt == nullptr)
      throw ConfigError(cat("bench cache: a model of type ", model_type(subject.model),
                            " has no cache that could be left out; give one of type gpt"));
    return *gpt;
  }

  static void print(const BenchResult& result) {
    const bool layers = result.mode == "layers";
    std::vector<std::string> header = {"pass", "tokens", "", "time", "FLOP/s", "memory"};
    if (layers) header.insert(header.end(), {"longest path", "steps in turn"});
    Table table(header);
    for (const BenchPoint& point : result.points) {
      std::vector<std::string> row = {point.pass,
                                      with_thousands(point.tokens),
                                      point.series,
                                      short_time(point.seconds),
                                      human_count(point.flops / point.seconds),
                                      exact_bytes(point.bytes)};
      if (layers)
        row.insert(row.end(),
                   {with_thousands(point.path_length), with_thousands(point.sequential_steps)});
      table.add(row);
    }
    table.print(out());
    if (!result.fits.empty()) {
      out() << "\nexponents in the number of tokens\n";
      Table fits({"", "pass", "of time", "of FLOPs", "of memory"});
      for (const BenchFit& fit : result.fits)
        if (fit.quantity == "seconds")
          fits.add({fit.series, fit.pass, exponent(result.fits, fit, "seconds"),
                    exponent(result.fits, fit, "flops"), exponent(result.fits, fit, "bytes")});
      fits.print(out());
    }
    if (!result.crossings.empty()) out() << '\n';
    for (const BenchCrossing& crossing : result.crossings)
      out() << crossing.first << " and " << crossing.second << ", " << crossing.pass
            << ": as many FLOPs at " << with_thousands(std::llround(crossing.predicted))
            << " tokens, as much time "
            << (crossing.measured ? cat("at ", with_thousands(std::llround(*crossing.measured)))
                                  : std::string("at none of these lengths"))
            << '\n';
    if (!result.facts.empty()) out() << '\n';
    for (const auto& [name, value] : result.facts) out() << name << ": " << fixed(value, 3) << '\n';
  }

  // ---- a model -------------------------------------------------------------------------------

  int run_model(const GlobalOptions& globals) const {
    const ModelSubject subject = find_model(globals, "bench model", target);
    const Runtime runtime = start_runtime(globals);
    std::shared_ptr<torch::nn::Module> model;
    if (subject.folder.empty()) {
      model = make_model(subject.model);
      model->to(runtime.device, runtime.dtype);
    } else {
      model = load_model(subject.folder, {.device = runtime.device, .dtype = runtime.dtype}).model;
    }
    ModelBenchOptions options{.prompt_tokens = prompt_tokens,
                              .new_tokens = new_tokens,
                              .batch = batch_size,
                              .repeat = repeat,
                              .train = train};
    for (const int64_t count : threads_list) options.threads.push_back(static_cast<int>(count));
    const std::vector<ModelBenchRow> rows = bench_model(*model, subject.model, options);
    for (const std::string& file : outputs) write(file, to_json(rows), to_csv(rows), nullptr);
    if (globals.json) {
      out() << to_json(rows).dump(2) << '\n';
      return kDone;
    }
    out() << model_type(subject.model) << ", " << with_thousands(count_parameters(*model))
          << " parameters, " << globals.dtype << " on " << runtime.device.str() << ", batch "
          << batch_size << '\n';
    Table table(
        {"", "threads", "first token", "tokens/s", "memory", "FLOP/s", "of a product's", "MFU"});
    for (const ModelBenchRow& row : rows)
      table.add({row.work, std::to_string(row.threads),
                 row.first_token ? short_time(*row.first_token) : "",
                 with_thousands(std::llround(row.tokens_per_second)), exact_bytes(row.peak_bytes),
                 row.flops_per_second ? human_count(*row.flops_per_second) : "",
                 human_count(row.best_flops_per_second),
                 row.mfu() ? fixed(100 * *row.mfu(), 1) + "%" : ""});
    table.print(out());
    return kDone;
  }

  Json to_json(const std::vector<ModelBenchRow>& rows) const {
    Json json{{"mode", "model"},
              {"setting",
               {{"prompt_tokens", prompt_tokens},
                {"new_tokens", new_tokens},
                {"batch", batch_size},
                {"repeat", repeat}}},
              {"rows", Json::array()}};
    const auto or_null = [](const std::optional<double>& value) {
      return value ? Json(*value) : Json(nullptr);
    };
    for (const ModelBenchRow& row : rows)
      json["rows"].push_back({{"work", row.work},
                              {"threads", row.threads},
                              {"seconds", row.seconds},
                              {"first_token_seconds", or_null(row.first_token)},
                              {"tokens_per_second", row.tokens_per_second},
                              {"peak_bytes", row.peak_bytes},
                              {"flops_per_second", or_null(row.flops_per_second)},
                              {"best_flops_per_second", row.best_flops_per_second},
                              {"mfu", or_null(row.mfu())}});
    return json;
  }

  static std::string to_csv(const std::vector<ModelBenchRow>& rows) {
    std::string text =
        "work,threads,seconds,first_token_seconds,tokens_per_second,peak_bytes,flops_per_second,"
        "best_flops_per_second,mfu\n";
    const auto or_empty = [](const std::optional<double>& value) {
      return value ? cat(*value) : std::string();
    };
    for (const ModelBenchRow& row : rows)
      text += cat(row.work, ',', row.threads, ',', row.seconds, ',', or_empty(row.first_token), ',',
                  row.tokens_per_second, ',', row.peak_bytes, ',', or_empty(row.flops_per_second),
                  ',', row.best_flops_per_second, ',', or_empty(row.mfu()), '\n');
    return text;
  }
};

}  // namespace

Command bench_command() {
  return make_command<Bench>(
      "bench", "Time and memory of models, attention, caches, scores and layers, with exponents");
}

}  // namespace zoo::cli
