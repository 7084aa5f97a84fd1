// transformer-cli translate: translates lines with an encoder–decoder.

#include <unistd.h>

#include "analysis/attention_maps.h"
#include "cli/command.h"
#include "cli/line_translator.h"
#include "cli/lines.h"
#include "core/json.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

struct Translate {
  std::string model, input, output, prefix_file, attention_file, output_format = "text";
  std::optional<std::string> scores_choice;
  std::optional<int64_t> n_best, num_samples;
  bool replace_unk = false;
  LineTranslator translator;

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
    flags.text("-m,--model,model", model, "DIR", "run or checkpoint folder");
    flags.group("Text");
    flags.text("-i,--input", input, "FILE", "a sentence a line; - or none: standard input");
    flags.text("-o,--output", output, "FILE", "- or none: standard output");
    flags.text("--target-prefix", prefix_file, "FILE",
               "what each translation begins with: as many lines as the input, blank for nothing");
    flags.group("Decoding");
    translator.declare(flags);
    flags.number("--n-best", n_best, at_least(1), "the N best hypotheses of the beam");
    flags.number("--num-samples", num_samples, between(1, 1 << 20), "N draws of each line");
    flags.flag("--replace-unk", replace_unk,
               "write the source word with the most attention in place of an unknown token");
    flags.group("Speed");
    translator.declare_batches(flags);
    flags.group("Output");
    flags.choice("--output-format", output_format, {"text", "tsv", "jsonl", "moses"},
                 "see above; --json is jsonl");
    flags.choice("--scores", scores_choice, {"none", "sum", "token"},
                 "text: before it and a tab, the score that ranks hypotheses (sampling: the sum), "
                 "or the natural log-probability of each token");
    flags.text("--attention", attention_file, "FILE",
               "write a JSON line for each translation: source and target tokens and the matrix "
               "(target by source), the mean over the last layer's heads");
  }

  int run(const GlobalOptions& globals) {
    if (model.empty()) throw ConfigError("translate: no model is given; name its folder: -m DIR");
    if (n_best && num_samples)
      throw ConfigError(
          "--n-best takes the best hypotheses of a beam, --num-samples draws; give one of them");
    if (globals.json) output_format = "jsonl";
    translator.prepare(model, globals, num_samples.value_or(1), n_best.value_or(1));
    const std::string scores = scores_choice.value_or(output_format == "text" ? "none" : "sum");
    translator.args().search.scores = scores == "token" ? Scores::token
                                      : scores == "sum" ? Scores::sum
                                                        : Scores::none;
    if (output.empty() || output == "-")
      translate(out());
    else
      write_file(utf8_path(output), [&](std::ostream& file) { translate(file); });
    translator.report();
    return kDone;
  }

 private:
  void translate(std::ostream& result) {
    if (attention_file.empty()) return translate(result, nullptr);
    write_file(utf8_path(attention_file), [&](std::ostream& maps) { translate(result, &maps); });
  }

  /// @param maps null: none are wanted
  void translate(std::ostream& result, std::ostream* maps) {
    LineReader reader(input);
    std::unique_ptr<LineReader> prefixes;
    if (!prefix_file.empty()) prefixes = std::make_unique<LineReader>(prefix_file);
    const bool terminal = isatty(STDIN_FILENO) && (input.empty() || input == "-");
    if (terminal) log_info("a sentence a line; Ctrl-D ends");
    translator.translate(reader, prefixes.get(), terminal,
                         [&](const SourceLine& line, std::vector<Generation>& outputs) {
                           for (Generation& output : outputs) {
                             if (replace_unk)
                               output.text = translator.with_source_words(line, output);
                             if (maps != nullptr)
                               *maps << attention_json(line, output).dump() << '\n';
                             write(result, line, &output);
                           }
                           // Of a blank line, or where a beam found fewer than wanted.
                           for (auto i = std::ssize(outputs);
                                i < translator.args().search.num_samples; ++i)
                             write(result, line, nullptr);
                           if (terminal) result.flush();
                         });
  }

  Json attention_json(const SourceLine& line, const Generation& output) const {
    std::vector<int64_t> target = line.prefix;
    target.insert(target.end(), output.tokens.begin(), output.tokens.end());
    return {{"line", line.number + 1},
            {"source", token_labels(&translator.source_tokenizer(), line.source)},
            {"target", token_labels(&translator.tokenizer(), target)},
            {"attention", matrix_json(translator.attention(line, output))}};  // (T, S)
  }

  /// @param found null: a blank line
  void write(std::ostream& result, const SourceLine& line, const Generation* found) {
    const std::string text = found ? on_one_line(found->text) : "";
    const double score = found ? found->score : 0;
    if (output_format == "jsonl") {
      Json json = {{"line", line.number + 1}, {"source", line.text}, {"text", text}};
      if (found) {
        json["tokens"] = found->tokens;
        json["finish_reason"] = enum_name(found->finish_reason);
        json["score"] = found->score;
        json["log_probability"] = found->log_probability;
        if (!found->token_log_probabilities.empty())
          json["token_scores"] = found->token_log_probabilities;
        if (translator.options().sample) json["seed"] = translator.args().search.seed;
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

  std::string score_column(const Generation* found) {
    const Scores scores = translator.args().search.scores;
    if (scores == Scores::none) return "";
    if (found == nullptr) return "\t";
    if (scores == Scores::sum) return cat(found->score, "\t");
    std::vector<std::string> parts;
    for (const double value : found->token_log_probabilities) parts.push_back(cat(value));
    return join(parts, " ") + "\t";
  }
};

}  // namespace

Command translate_command() {
  return make_command<Translate>("translate", "Translate lines with an encoder–decoder");
}

}  // namespace zoo::cli
