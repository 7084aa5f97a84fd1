// transformer-cli generate: continues prompts with a decoder-only model.

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <map>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/lines.h"
#include "cli/runtime.h"
#include "core/config.h"
#include "core/text.h"
#include "decoding/generate.h"

namespace zoo::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// What standard error says at the end.
struct Totals {
  int64_t outputs = 0, tokens = 0;
  std::map<FinishReason, int64_t> reasons;
  double seconds = 0;
};

struct Generate {
  std::string model_path, prompt_file, output_format = "text";
  std::optional<std::string> prompt, scores_choice;
  bool whole_input = false, echo = false, special = false, no_cache = false;
  std::optional<bool> stream_choice;
  std::optional<int64_t> batch_size;
  int64_t num_samples = 1;
  DecodingFlags decoding{{{"max_new_tokens", "-n,--max-new-tokens"},
                          {"temperature", "--temperature,--temp"},
                          {"repetition_penalty", "--repetition-penalty,--repeat-penalty"},
                          {"beam_size", "--beam-size,--num-beams,--beam"}}};

  // Set by run().
  LoadedModel loaded;
  std::shared_ptr<CausalLm> model;
  GenerationOptions options;
  GenerateArgs args;
  bool jsonl = false, stream = false, lines = false;
  int64_t line_number = 0, prompt_count = 0;
  Totals totals;

  void declare(Flags& flags) {
    flags.describe(
        "Continues prompts with a decoder-only model. A prompt comes from --prompt, or one a line "
        "from\n"
        "--prompt-file or standard input. With --prompt or --whole-input the text is written as it "
        "is.\n"
        "With a prompt a line, each line gives one line (--num-samples N: N lines), in their "
        "order; a\n"
        "blank line gives a blank line; a line feed in the text is written as \\n, a carriage "
        "return as\n"
        "\\r. Decoding options that are not given come from the checkpoint's "
        "generation_config.json,\n"
        "else from the defaults. Giving --temperature (but 0), --top-k, --top-p, --min-p, "
        "--typical-p,\n"
        "--sample or --num-samples turns sampling on. The order of the steps is: logit bias, "
        "penalties,\n"
        "bans, temperature, top-k, top-p, min-p, typical-p. A text depends on its prompt, the seed "
        "and\n"
        "the prompt's number, not on batch, neighbours or threads. A context longer than the "
        "model's\n"
        "slides: when it is full, its older half is dropped. Lengths are in tokens.");
    flags.example("continue a text",
                  "transformer-cli generate weights/gpt-shakespeare-char -p 'ROMEO:' -n 40");
    flags.example("two samples a prompt, as JSON lines",
                  "transformer-cli generate -m weights/gpt-shakespeare-char -p 'ROMEO:' -n 20 "
                  "--top-k 10 --temperature 0.8 --num-samples 2 --output-format jsonl");
    flags.example("a prompt a line",
                  "printf 'To be\\nO \\n' | transformer-cli generate "
                  "weights/gpt-shakespeare-char -n 20 --stop '\\n'");
    flags.text("-m,--model,model", model_path, "DIR",
               "run folder, checkpoint folder or Hugging Face GPT-2 folder");
    flags.group("Prompts");
    flags.text("-p,--prompt", prompt, "TEXT", "the prompt; may be empty");
    flags.text("--prompt-file", prompt_file, "FILE",
               "file with a prompt a line; - or none: standard input");
    flags.flag("--whole-input", whole_input, "the whole file or standard input is one prompt");
    flags.flag("--special", special, "read special tokens in prompts as such, not as plain text");
    flags.group("Decoding");
    decoding.declare(flags);
    flags.number("--num-samples", num_samples, between(1, 1 << 20),
                 "outputs of each prompt: draws, or the best ones of --beam-size");
    flags.group("Output");
    flags.choice("--output-format", output_format, {"text", "jsonl"},
                 "jsonl: an object for each output with prompt, text, tokens, finish_reason "
                 "(eos, stop, length), score, seed, tokens_per_s; also by --json");
    flags.flag("--stream,!--no-stream", stream_choice,
               "show text as it comes; default: on a terminal, one output at a time");
    flags.flag("--echo,!--no-echo", echo, "write the prompt before its continuation");
    flags.choice("--scores", scores_choice, {"none", "sum", "token"},
                 "natural log-probability of the tokens under the model, before temperature, "
                 "penalties and truncation: their sum, or each; before the text and a tab; "
                 "default: none, jsonl: sum");
    flags.group("Speed");
    flags.number("--batch-size", batch_size, between(1, 65536),
                 "prompts computed together; changes no text; default: 8, on a terminal 1");
    flags.flag("--no-cache", no_cache, "read the whole context at each token (slow; same text)");
  }

  int run(const GlobalOptions& globals) {
    if (model_path.empty())
      throw ConfigError("generate: no model is given; name its folder: -m DIR");
    if (prompt && !prompt_file.empty())
      throw ConfigError("--prompt and --prompt-file contradict each other; give one of them");
    if (prompt && whole_input)
      throw ConfigError(
          "--whole-input is for --prompt-file and standard input; leave it out with --prompt");
    lines = !prompt && !whole_input;
    jsonl = output_format == "jsonl" || globals.json;

    const Runtime runtime = start_runtime(globals);
    loaded = load_model(utf8_path(model_path), {.device = runtime.device, .dtype = runtime.dtype});
    model = loaded.as<CausalLm>();
    if (!loaded.tokenizer)
      throw DataError(model_path +
                      ": holds no tokenizer, so no text can be read or written; add its "
                      "files (tokenizer.json, vocab.json and merges.txt, or a .model file)");
    options = decoding.resolve(loaded.generation, *loaded.tokenizer, num_samples);
    if (const std::string problem = options.check(); !problem.empty())
      throw ConfigError("generate: " + problem);
    prepare(globals);
    log_debug("decoding: ", config_to_json(options).dump(), ", seed ", globals.seed, ", end token ",
              args.eos ? cat(*args.eos) : "none", ", ", options.logit_bias.size(),
              " logit biases, ", options.banned_sequences.size(), " banned sequences");

    if (lines) {
      generate_lines();
    } else {
      generate_batch({prompt ? *prompt : LineReader(prompt_file).rest()});
    }
    report();
    return kDone;
  }

 private:
  void prepare(const GlobalOptions& globals) {
    args.tokenizer = loaded.tokenizer.get();
    args.eos = loaded.special_ids.eos;
    args.num_samples = num_samples;
    args.seed = static_cast<uint64_t>(globals.seed);
    args.use_cache = !no_cache;
    const std::string scores = scores_choice.value_or(jsonl ? "sum" : "none");
    args.scores = scores == "token" ? Scores::token : scores == "sum" ? Scores::sum : Scores::none;

    const bool one_by_one = num_samples == 1 && options.beam_size == 1 && !jsonl &&
                            args.scores == Scores::none && batch_size.value_or(1) == 1;
    if (stream_choice.value_or(false) && !one_by_one)
      throw ConfigError(
          "--stream shows one text as it comes; leave it out with --num-samples, --beam-size, "
          "--scores, --batch-size and JSON");
    const bool terminal = isatty(STDIN_FILENO) && prompt_file.empty();
    if (!batch_size) batch_size = terminal || stream_choice.value_or(false) ? 1 : 8;
    stream = stream_choice.value_or(isatty(STDOUT_FILENO) && one_by_one && *batch_size == 1);
    if (stream)
      args.on_text = [this](size_t, std::string_view piece) {
        out() << (lines ? on_one_line(piece) : std::string(piece)) << std::flush;
      };
    if (lines && terminal) log_info("a prompt a line; Ctrl-D ends");
  }

  void generate_lines() {
    LineReader reader(prompt_file);
    std::vector<std::string> batch;
    while (const std::optional<std::string> line = reader.next()) {
      batch.push_back(*line);
      if (std::ssize(batch) < *batch_size) continue;
      generate_batch(batch);
      batch.clear();
    }
    if (!batch.empty()) generate_batch(batch);
  }

  /// Reads some prompts, continues them together and writes the outputs in the prompts' order.
  void generate_batch(const std::vector<std::string>& texts) {
    std::vector<std::vector<int64_t>> prompts;
    for (const std::string& text : texts) {
      ++line_number;
      if (is_left_out(text)) continue;
      prompts.push_back(encode(text));
    }
    args.first_row = static_cast<uint64_t>(prompt_count);
    prompt_count += std::ssize(prompts);
    if (stream && echo && !prompts.empty()) out() << written(texts.front()) << std::flush;
    const Clock::time_point start = Clock::now();
    const auto outputs = generate(*model, prompts, options, args);
    totals.seconds += std::chrono::duration<double>(Clock::now() - start).count();

    auto next = outputs.begin();
    for (const std::string& text : texts) {
      if (is_left_out(text)) {
        for (int64_t i = 0; i < num_samples; ++i) write(text, nullptr);
        continue;
      }
      for (const Generation& output : *next) {
        if (!lines && !jsonl && &output != &next->front()) out() << "---\n";
        write(text, &output);
        ++totals.outputs;
        ++totals.reasons[output.finish_reason];
        totals.tokens += std::ssize(output.tokens);
      }
      ++next;
    }
    out().flush();
  }

  bool is_left_out(const std::string& text) const { return lines && is_blank(text); }

  std::vector<int64_t> encode(const std::string& text) const {
    const std::string where = lines ? cat("prompt in line ", line_number, ": ") : "prompt: ";
    try {
      std::vector<int64_t> ids = encode_prompt(*loaded.tokenizer, text, {.special = special});
      if (std::ssize(ids) > model->max_length())
        log_warning(where, with_thousands(std::ssize(ids)),
                    " tokens are more than the model's context of ",
                    with_thousands(model->max_length()), "; the oldest are left out");
      return ids;
    } catch (const DataError& error) {
      throw DataError(where + error.what());
    }
  }

  std::string written(const std::string& text) const { return lines ? on_one_line(text) : text; }

  /// @param output null: a blank line's
  void write(const std::string& text, const Generation* output) {
    if (jsonl) {
      out() << to_json(text, output).dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
      return;
    }
    if (output && !stream) {
      out() << score_column(*output);
      if (echo) out() << written(text);
      out() << written(output->text);
    }
    out() << '\n';
  }

  std::string score_column(const Generation& output) const {
    if (args.scores == Scores::none) return "";
    if (args.scores == Scores::sum) return cat(output.score, "\t");
    std::vector<std::string> parts;
    for (const double value : output.token_log_probabilities) parts.push_back(cat(value));
    return join(parts, " ") + "\t";
  }

  Json to_json(const std::string& text, const Generation* output) const {
    Json json = {{"prompt", text},
                 {"text", output ? (echo ? text : "") + output->text : ""},
                 {"tokens", output ? output->tokens : std::vector<int64_t>()},
                 {"finish_reason", nullptr},
                 {"score", nullptr},
                 {"seed", args.seed},
                 {"tokens_per_s", nullptr}};
    if (!output) return json;
    json["finish_reason"] = enum_name(output->finish_reason);
    if (args.scores != Scores::none || options.beam_size > 1) json["score"] = output->score;
    if (args.scores == Scores::token) json["token_scores"] = output->token_log_probabilities;
    json["tokens_per_s"] = static_cast<double>(output->tokens.size()) / output->seconds;
    return json;
  }

  void report() const {
    if (totals.outputs == 0) return;
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : totals.reasons)
      reasons.push_back(cat(totals.outputs == 1 ? "" : cat(count, " at "), describe(reason)));
    log_info(totals.outputs == 1 ? "ended at " : cat(totals.outputs, " outputs ended: "),
             join(reasons, ", "), "; ", with_thousands(totals.tokens),
             totals.tokens == 1 ? " token, " : " tokens, ",
             std::llround(static_cast<double>(totals.tokens) / std::max(totals.seconds, 1e-9)),
             " tokens/s");
  }

  std::string describe(FinishReason reason) const {
    if (reason == FinishReason::eos) return "the end token (eos)";
    if (reason == FinishReason::stop) return "a stop text (stop)";
    return options.max_new_tokens > 0
               ? cat("max-new-tokens ", options.max_new_tokens, " (length)")
               : cat("the model's context of ", model->max_length(), " tokens (length)");
  }
};

}  // namespace

Command generate_command() {
  return make_command<Generate>("generate", "Continue prompts with a language model");
}

}  // namespace zoo::cli
