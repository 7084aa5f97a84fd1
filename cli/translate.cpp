// transformer-cli translate: translates lines with an encoder–decoder.

#include <unistd.h>

#include <chrono>
#include <cmath>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/lines.h"
#include "cli/runtime.h"
#include "core/config.h"
#include "core/text.h"
#include "decoding/translate.h"

namespace zoo::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Lines that are read before any of them is translated: among so many, batches of like length are
/// found, and memory stays bounded.
constexpr size_t kLinesAtOnce = 4096;

/// A line of input on its way.
struct Line {
  std::string text;
  std::vector<int64_t> source;  // empty: the line is blank
  std::vector<int64_t> prefix;
  uint64_t number = 0;
};

struct Translate {
  std::string model_path, input, output, prefix_file, attention_file, output_format = "text";
  std::string batch_type = "tokens";
  std::optional<std::string> scores_choice;
  std::optional<int64_t> n_best, num_samples, batch_size;
  double max_length_ratio = TranslateArgs().max_length_ratio;
  bool no_unk = false, replace_unk = false;
  DecodingFlags decoding{{{"max_new_tokens", "--max-length"},
                          {"min_new_tokens", "--min-length"},
                          {"temperature", "--temperature,--temp"},
                          {"repetition_penalty", "--repetition-penalty,--repeat-penalty"},
                          {"beam_size", "--beam-size,--num-beams,--beam"}}};

  // Set by run().
  LoadedModel loaded;
  std::shared_ptr<Seq2Seq> model;
  GenerationOptions options;
  TranslateArgs args;
  int64_t end = 0;  // the source's end token
  std::optional<int64_t> unk;
  uint64_t line_count = 0;
  int64_t sentences = 0, tokens = 0, cut = 0;
  double seconds = 0;

  void declare(Flags& flags) {
    flags.describe(
        "Translates a line at a time: exactly one line of output for each line of input, in their\n"
        "order (--n-best N: N lines); a blank line gives a blank line. Without further flags by "
        "beam\n"
        "search, beam 5, with the log-probability of a hypothesis divided by its length. Options "
        "that\n"
        "are not given come from the checkpoint's generation_config.json. Giving --temperature "
        "(but 0),\n"
        "--top-k, --top-p, --min-p, --typical-p, --sample or --num-samples turns sampling on. A\n"
        "translation depends on its line, the seed and the line's number, not on batch or "
        "neighbours.\n"
        "Lengths are in tokens, the end token included.\n"
        "\n"
        "Output formats: text; tsv: line number, score, text; jsonl: an object for each "
        "translation;\n"
        "moses: number ||| text ||| logp= log-probability ||| score, lines counted from 0.");
    flags.example("translate a text",
                  "printf 'a b c\\nb\\n' | transformer-cli translate runs/translate");
    flags.example("the three best of a beam of four, with their scores",
                  "printf 'a b c\\n' | transformer-cli translate runs/translate --beam-size 4 "
                  "--n-best 3 --output-format moses");
    flags.text("-m,--model,model", model_path, "DIR", "run or checkpoint folder");
    flags.group("Text");
    flags.text("-i,--input", input, "FILE", "a sentence a line; - or none: standard input");
    flags.text("-o,--output", output, "FILE", "- or none: standard output");
    flags.text("--target-prefix", prefix_file, "FILE",
               "what each translation begins with: as many lines as the input, blank for nothing");
    flags.group("Decoding");
    decoding.declare(flags);
    flags.number("--max-length-ratio", max_length_ratio, non_negative(),
                 "without --max-length: most tokens for each source token, and 10 more; 0: the "
                 "model's longest");
    flags.number("--n-best", n_best, at_least(1), "the N best hypotheses of the beam");
    flags.number("--num-samples", num_samples, between(1, 1 << 20), "N draws of each line");
    flags.flag("--no-unk", no_unk, "never write the unknown token");
    flags.flag("--replace-unk", replace_unk,
               "write the source word with the most attention in place of an unknown token");
    flags.group("Output");
    flags.choice("--output-format", output_format, {"text", "tsv", "jsonl", "moses"},
                 "see above; --json is jsonl");
    flags.choice("--scores", scores_choice, {"none", "sum", "token"},
                 "text: before it and a tab, the score that ranks hypotheses (sampling: the sum), "
                 "or the natural log-probability of each token");
    flags.text("--attention", attention_file, "FILE",
               "write a JSON line for each translation: source and target tokens and the matrix "
               "(target by source), the mean over the last layer's heads");
    flags.group("Speed");
    flags.number("--batch-size", batch_size, between(1, 1 << 24),
                 "source tokens or sentences computed together; changes no translation; default: "
                 "1024 tokens");
    flags.choice("--batch-type", batch_type, {"tokens", "sentences"}, "what --batch-size counts");
  }

  int run(const GlobalOptions& globals) {
    if (model_path.empty())
      throw ConfigError("translate: no model is given; name its folder: -m DIR");
    if (n_best && num_samples)
      throw ConfigError(
          "--n-best takes the best hypotheses of a beam, --num-samples draws; give one of them");
    if (globals.json) output_format = "jsonl";
    const Runtime runtime = start_runtime(globals);
    loaded = load_model(utf8_path(model_path), {.device = runtime.device, .dtype = runtime.dtype});
    model = loaded.as<Seq2Seq>();
    if (!loaded.tokenizer || !loaded.source_tokenizer)
      throw DataError(model_path + ": holds no tokenizer, so no text can be read or written");
    prepare(globals);
    log_debug("decoding: ", config_to_json(options).dump(), ", seed ", globals.seed);

    if (output.empty() || output == "-") {
      translate_lines(out());
    } else {
      write_file(utf8_path(output), [&](std::ostream& file) { translate_lines(file); });
    }
    report();
    return kDone;
  }

 private:
  void prepare(const GlobalOptions& globals) {
    options = decoding.resolve(loaded.generation, *loaded.tokenizer, num_samples.value_or(1), 5);
    args.search.tokenizer = loaded.tokenizer.get();
    args.search.eos = loaded.special_ids.eos;
    args.search.num_samples = n_best.value_or(num_samples.value_or(1));
    args.search.seed = static_cast<uint64_t>(globals.seed);
    const std::string scores = scores_choice.value_or(output_format == "text" ? "none" : "sum");
    args.search.scores = scores == "token" ? Scores::token
                         : scores == "sum" ? Scores::sum
                                           : Scores::none;
    args.max_length_ratio = max_length_ratio;
    if (n_best && *n_best > options.beam_size)
      throw ConfigError(cat("--n-best: ", *n_best, " is refused; allowed: 1 to --beam-size ",
                            options.beam_size, "; widen the beam"));
    const SpecialIds source = loaded.source_tokenizer->special_ids();
    if (!source.eos) throw DataError(model_path + ": its source tokenizer has no end token");
    end = *source.eos;
    unk = loaded.tokenizer->special_ids().unk;
    if (no_unk && unk) options.logit_bias[*unk] = -INFINITY;
    if (const std::string problem = options.check(); !problem.empty())
      throw ConfigError("translate: " + problem);
  }

  void translate_lines(std::ostream& result) {
    LineReader reader(input);
    std::unique_ptr<LineReader> prefixes;
    if (!prefix_file.empty()) prefixes = std::make_unique<LineReader>(prefix_file);
    std::unique_ptr<std::ostream> maps;
    if (attention_file.empty()) return translate_lines(reader, prefixes.get(), result, nullptr);
    write_file(utf8_path(attention_file),
               [&](std::ostream& file) { translate_lines(reader, prefixes.get(), result, &file); });
  }

  /// @param prefixes, maps null: none are wanted
  void translate_lines(LineReader& reader, LineReader* prefixes, std::ostream& result,
                       std::ostream* maps) {
    const bool terminal = isatty(STDIN_FILENO) && (input.empty() || input == "-");
    if (terminal) log_info("a sentence a line; Ctrl-D ends");
    Progress progress;
    std::vector<Line> lines;
    const auto flush = [&] {
      translate_some(lines, result, maps);
      lines.clear();
      if (progress.due()) progress.show(cat("translated ", with_thousands(line_count), " lines"));
    };
    while (const std::optional<std::string> text = reader.next()) {
      lines.push_back(encode(*text));
      if (prefixes != nullptr) {
        const auto prefix = prefixes->next();
        if (!prefix)
          throw DataError(cat(prefix_file, ": has ", line_count - 1,
                              " lines, but the input has "
                              "more; give one for each line, blank for no prefix"));
        if (!is_blank(*prefix)) lines.back().prefix = loaded.tokenizer->encode(*prefix);
      }
      if (terminal || lines.size() == kLinesAtOnce) flush();
    }
    if (prefixes != nullptr && prefixes->next())
      throw DataError(cat(prefix_file, ": has more lines than the input's ", line_count,
                          "; give one for each line"));
    flush();
  }

  Line encode(const std::string& text) {
    Line line{.text = text, .number = line_count++};
    if (is_blank(text)) return line;
    try {
      line.source = loaded.source_tokenizer->encode(text);
    } catch (const DataError& error) {
      throw DataError(cat("line ", line.number + 1, ": ", error.what()));
    }
    if (std::ssize(line.source) >= model->max_source_length()) {
      log_warning("line ", line.number + 1, ": ", with_thousands(std::ssize(line.source)),
                  " tokens are more than the model reads (",
                  with_thousands(model->max_source_length()),
                  ", the end token included); the rest is left out");
      line.source.resize(static_cast<size_t>(model->max_source_length() - 1));
    }
    line.source.push_back(end);
    return line;
  }

  void translate_some(const std::vector<Line>& lines, std::ostream& result, std::ostream* maps) {
    std::vector<std::vector<int64_t>> sources;
    args.prefixes.clear();
    args.search.row_numbers.clear();
    int64_t longest = 1;
    for (const Line& line : lines) {
      if (line.source.empty()) continue;
      sources.push_back(line.source);
      args.prefixes.push_back(line.prefix);
      args.search.row_numbers.push_back(line.number);
      longest = std::max(longest, std::ssize(line.source));
    }
    if (batch_size)
      args.batch_tokens = batch_type == "tokens" ? *batch_size : *batch_size * longest;
    const Clock::time_point start = Clock::now();
    const auto outputs = translate(*model, sources, options, args);
    seconds += std::chrono::duration<double>(Clock::now() - start).count();

    auto next = outputs.begin();
    for (const Line& line : lines) {
      if (line.source.empty()) {
        for (int64_t i = 0; i < args.search.num_samples; ++i) write(result, line, nullptr);
        continue;
      }
      for (Generation found : *next) {
        ++sentences;
        tokens += std::ssize(found.tokens);
        if (found.finish_reason == FinishReason::length) ++cut;
        if (maps != nullptr || (replace_unk && unk)) {
          const Tensor attention = attention_of(line, found);
          if (replace_unk && unk) found.text = with_words(line, found, attention);
          if (maps != nullptr) *maps << attention_json(line, found, attention).dump() << '\n';
        }
        write(result, line, &found);
      }
      // A beam that found fewer than wanted leaves blank lines.
      for (auto i = std::ssize(*next); i < args.search.num_samples; ++i)
        write(result, line, nullptr);
      ++next;
    }
    result.flush();
  }

  Tensor attention_of(const Line& line, const Generation& found) const {
    std::vector<int64_t> target = line.prefix;
    target.insert(target.end(), found.tokens.begin(), found.tokens.end());
    const Tensor attention =
        source_attention(*model, line.source, begin_token(*loaded.tokenizer), target);
    if (!attention.defined())
      throw ConfigError(
          "--attention, --replace-unk: this model has no attention over its source; leave them "
          "out");
    return attention;
  }

  Json attention_json(const Line& line, const Generation& found, const Tensor& attention) const {
    Json source = Json::array(), target = Json::array(), matrix = Json::array();
    for (const int64_t id : line.source) source.push_back(loaded.source_tokenizer->piece(id));
    for (const auto* ids : {&line.prefix, &found.tokens})
      for (const int64_t id : *ids) target.push_back(loaded.tokenizer->piece(id));
    const auto values = attention.accessor<float, 2>();
    for (int64_t i = 0; i < attention.size(0); ++i)
      matrix.push_back(std::vector<float>(values[i].data(), values[i].data() + attention.size(1)));
    return {
        {"line", line.number + 1}, {"source", source}, {"target", target}, {"attention", matrix}};
  }

  /// The text with a source word for each unknown token.
  std::string with_words(const Line& line, const Generation& found, const Tensor& attention) const {
    const std::vector<std::string> words = words_of(line);
    std::vector<int64_t> ids = line.prefix;
    ids.insert(ids.end(), found.tokens.begin(), found.tokens.end());
    const Tensor most = attention.narrow(1, 0, std::ssize(line.source) - 1).argmax(1);  // (T)
    std::vector<std::string> parts;
    std::vector<int64_t> known;
    const auto flush = [&] {
      const std::string text(trim(loaded.tokenizer->decode(known)));
      if (!text.empty()) parts.push_back(text);
      known.clear();
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != *unk) {
        known.push_back(ids[i]);
        continue;
      }
      flush();
      parts.push_back(words[static_cast<size_t>(most[static_cast<int64_t>(i)].item<int64_t>())]);
    }
    flush();
    return join(parts, " ");
  }

  /// What each source token stands for: its word, where every word is one token; else its own text.
  std::vector<std::string> words_of(const Line& line) const {
    std::vector<std::string> words;
    for (const std::string& word : split(line.text, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() + 1 == line.source.size()) return words;
    words.clear();
    for (const int64_t id : line.source)
      words.emplace_back(trim(loaded.source_tokenizer->decode(std::vector<int64_t>{id})));
    return words;
  }

  /// @param found null: a blank line's
  void write(std::ostream& result, const Line& line, const Generation* found) const {
    const std::string text = found ? on_one_line(found->text) : "";
    const double score = found ? found->score : 0;
    if (output_format == "jsonl") {
      Json json = {{"line", line.number + 1}, {"source", line.text}, {"text", text}};
      if (found) {
        json["tokens"] = found->tokens;
        json["finish_reason"] = enum_name(found->finish_reason);
        json["score"] = found->score;
        json["log_probability"] = found->log_probability;
        if (args.search.scores == Scores::token)
          json["token_scores"] = found->token_log_probabilities;
        if (options.sample) json["seed"] = args.search.seed;
      }
      result << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    } else if (output_format == "moses") {
      result << line.number << " ||| " << text
             << " ||| logp= " << (found ? found->log_probability : 0) << " ||| " << score << '\n';
    } else if (output_format == "tsv") {
      result << line.number + 1 << '\t' << score << '\t' << text << '\n';
    } else {
      result << score_column(found) << text << '\n';
    }
  }

  std::string score_column(const Generation* found) const {
    if (args.search.scores == Scores::none) return "";
    if (found == nullptr) return "\t";
    if (args.search.scores == Scores::sum) return cat(found->score, "\t");
    std::vector<std::string> parts;
    for (const double value : found->token_log_probabilities) parts.push_back(cat(value));
    return join(parts, " ") + "\t";
  }

  void report() const {
    if (cut > 0)
      log_warning(cut, " of ", with_thousands(sentences),
                  " translations were cut off at the longest length; raise --max-length-ratio or "
                  "--max-length if they should go on");
    log_info(with_thousands(static_cast<int64_t>(line_count)), " lines, ", with_thousands(tokens),
             " tokens, ", std::llround(static_cast<double>(sentences) / std::max(seconds, 1e-9)),
             " sentences/s");
  }
};

}  // namespace

Command translate_command() {
  return make_command<Translate>("translate", "Translate lines with an encoder–decoder");
}

}  // namespace zoo::cli
