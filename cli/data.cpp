// transformer-cli data: synthetic tasks, packed tokens, statistics and checks of text files.

#include "data/report.h"

#include "cli/command.h"
#include "core/config.h"
#include "core/json.h"
#include "core/text.h"
#include "data/synthetic.h"
#include "data/token_file.h"

namespace zoo::cli {
namespace {

constexpr int64_t kDefaultTrain = SyntheticOptions{}.train,
                  kDefaultValid = SyntheticOptions{}.valid;

struct Data {
  std::vector<std::string> words;
  std::string output, tokenizer;
  std::optional<int64_t> train, valid, test, length, valid_length, symbols;
  bool translation = false, parallel = false;

  void declare(Flags& flags) {
    flags.describe(
        "data synth copy|reverse|sort|add|induction   writes train.tsv and valid.tsv with one\n"
        "                                             prompt<TAB>completion a line\n"
        "data synth copy|reverse|sort --translation   the same and test.tsv, with one "
        "source<TAB>target\n"
        "                                             a line: numbers, with blanks between them\n"
        "data pack FILES                              writes the texts' tokens into one file\n"
        "data stats FILES                             counts bytes, characters, words, lines, "
        "tokens\n"
        "data check FILES                             looks for invalid UTF-8, blanks, duplicates, "
        "…\n"
        "\n"
        "Lengths of lines are counted in characters (Unicode code points), words between blanks.\n"
        "`check` ends with exit code 3 if it finds an error; warnings do not change the exit "
        "code.");
    flags.texts("action", words, "ACTION", "what to do, then the task or the files");
    flags.text("-o,--output", output, "PATH",
               "synth: the folder, default data/TASK; pack: the file, default FILE.tokens");
    flags.text("-m,--tokenizer", tokenizer, "PATH",
               "tokenizer file, or a folder with one; needed by pack, tokens are counted by stats");
    flags.group("synth");
    flags.number(
        "--train", train, at_least(1),
        cat("lines of train.tsv; default ", kDefaultTrain, "; add: all sums not in valid.tsv"));
    flags.number("--valid", valid, at_least(1),
                 cat("lines of valid.tsv; default ", kDefaultValid, "; sort: 5000"));
    flags.number(
        "--length", length, at_least(1),
        "symbols of a text (copy, reverse: at most 10; sort: 6; induction: 16) or digits of a "
        "summand (2)");
    flags.number("--symbols", symbols, at_least(2),
                 "size of the alphabet (26; sort: 3; induction: 16)");
    flags.flag("--translation", translation,
               "for encoder–decoders: up to --length 25 numbers below --symbols 50; --train 50000, "
               "--valid 1000");
    flags.number(
        "--valid-length", valid_length, at_least(1),
        "with --translation: the longest text of valid.tsv and test.tsv; default: --length");
    flags.number("--test", test, non_negative(),
                 "with --translation: lines of test.tsv; default 1000");
    flags.group("check");
    flags.flag("--parallel", parallel, "the files must have equally many lines");
    flags.example("minGPT's sort task", "transformer-cli data synth sort -o data/sort");
    flags.example("two-digit addition", "transformer-cli data synth add -o data/add");
    flags.example("numbers to reverse, in longer texts than those learnt from",
                  "transformer-cli data synth reverse --translation --valid-length 30 -o "
                  "data/reverse");
    flags.example("what a text holds", "transformer-cli data stats text.txt");
    flags.example("whether a text is fit for training", "transformer-cli data check text.txt");
  }

  int run(const GlobalOptions& globals) {
    const std::vector<std::string> actions = {"synth", "pack", "stats", "check"};
    if (words.empty())
      throw ConfigError("data: needs to know what to do; allowed: " + join(actions, ", "));
    const std::string action = words.front();
    words.erase(words.begin());
    if (action == "synth") return synth(globals);
    if (action == "pack") return pack(globals);
    if (action == "stats") return stats(globals);
    if (action == "check") return check(globals);
    const std::string guess = nearest(action, actions);
    throw ConfigError(cat("data: unknown action \"", action, "\"",
                          guess.empty() ? "" : cat("; did you mean \"", guess, "\"?"),
                          " allowed: ", join(actions, ", ")));
  }

 private:
  std::vector<fs::path> files(const char* action) const {
    if (words.empty()) throw ConfigError(cat("data ", action, ": names no file"));
    std::vector<fs::path> paths;
    for (const std::string& word : words) paths.push_back(utf8_path(word));
    return paths;
  }

  int synth(const GlobalOptions& globals) const {
    SyntheticOptions options;
    if (words.size() != 1)
      throw ConfigError(cat("data synth: needs one task, found ", words.size(),
                            "; allowed: ", join(enum_names<SyntheticTask>(), ", ")));
    read_config(Json(words[0]), options.task, "data synth");
    // The defaults are those of minGPT's demonstrations.
    if (options.task == SyntheticTask::sort) options.valid = 5000;
    if (options.task == SyntheticTask::add) options.train = INT64_MAX;
    if (!translation && (valid_length || test))
      throw ConfigError("--valid-length, --test: belong to --translation; leave them out");
    if (translation) {  // those of JoeyNMT's reverse task
      options.translation = true;
      options.train = 50000;
      options.valid = 1000;
      options.valid_length = valid_length.value_or(0);
      options.test = test.value_or(options.test);
    }
    options.train = train.value_or(options.train);
    options.valid = valid.value_or(options.valid);
    options.length = length.value_or(0);
    options.symbols = symbols.value_or(0);
    options.seed = globals.seed;
    const SyntheticData data = make_synthetic(options);
    const fs::path folder = output.empty() ? fs::path("data") / words[0] : utf8_path(output);
    const auto write = [&](const char* name, const std::vector<std::string>& lines) {
      write_file(folder / name, [&](std::ostream& out) {
        for (const std::string& line : lines) out << line << '\n';
      });
      out() << utf8(folder / name) << '\t' << lines.size() << " lines\n";
    };
    write("train.tsv", data.train);
    write("valid.tsv", data.valid);
    if (!data.test.empty()) write("test.tsv", data.test);
    return kDone;
  }

  int pack(const GlobalOptions& globals) const {
    const std::vector<fs::path> texts = files("pack");
    if (tokenizer.empty())
      throw ConfigError("data pack: needs -m/--tokenizer; make one with `train-tokenizer`");
    fs::path path = utf8_path(output);
    if (output.empty()) {
      path = texts[0];
      path.replace_extension(".tokens");
    }
    Progress progress;
    const auto loaded = load_tokenizer(utf8_path(tokenizer));
    const TokenFileInfo info = pack_texts(texts, *loaded, path, [&](double share) {
      if (progress.due()) progress.show(cat("packing: ", static_cast<int>(100 * share), " %"));
    });
    progress.finish();
    if (globals.json)
      out() << Json{{"file", utf8(path)},
                    {"tokens", info.count},
                    {"vocab_size", info.vocab_size},
                    {"source_sha256", info.source_hash},
                    {"tokenizer_sha256", info.tokenizer_hash}}
                   .dump(2)
            << '\n';
    else
      out() << utf8(path) << '\t' << info.count << " tokens\n";
    return kDone;
  }

  std::vector<TextReport> reports(const char* action) const {
    const auto loaded = tokenizer.empty() ? nullptr : load_tokenizer(utf8_path(tokenizer));
    std::vector<TextReport> found;
    for (const fs::path& file : files(action)) found.push_back(report_text(file, loaded.get()));
    return found;
  }

  int stats(const GlobalOptions& globals) const {
    Json list = Json::array();
    for (const TextReport& report : reports("stats")) {
      Json entry = {{"file", utf8(report.path)},
                    {"bytes", report.bytes},
                    {"characters", report.characters},
                    {"distinct_characters", report.distinct_characters},
                    {"words", report.words},
                    {"lines", report.lines},
                    {"blank_lines", report.blank_lines},
                    {"duplicate_lines", report.duplicate_lines},
                    {"longest_line", report.longest_line}};
      if (report.tokens >= 0) entry["tokens"] = report.tokens;
      if (report.tokens > 0)
        entry["bytes_per_token"] =
            static_cast<double>(report.bytes) / static_cast<double>(report.tokens);
      entry["sha256"] = report.sha256;
      list.push_back(std::move(entry));
    }
    if (globals.json) {
      out() << list.dump(2) << '\n';
      return kDone;
    }
    for (const Json& entry : list)
      for (const auto& [key, value] : entry.items())
        out() << key << ": " << (value.is_string() ? value.get<std::string>() : value.dump())
              << '\n';
    return kDone;
  }

  int check(const GlobalOptions& globals) const {
    const std::vector<TextReport> found = reports("check");
    const std::vector<Finding> findings = check_texts(found, parallel);
    bool failed = false;
    Json list = Json::array();
    for (const Finding& finding : findings) {
      failed = failed || finding.is_error;
      list.push_back(
          {{"level", finding.is_error ? "error" : "warning"}, {"message", finding.message}});
      if (!globals.json)
        out() << (finding.is_error ? "error: " : "warning: ") << finding.message << '\n';
    }
    if (globals.json) out() << list.dump(2) << '\n';
    if (findings.empty() && !globals.json)
      out() << "no problem found in " << found.size()
            << (found.size() == 1 ? " file\n" : " files\n");
    return failed ? kData : kDone;
  }
};

}  // namespace

Command data_command() {
  return make_command<Data>("data", "Make synthetic data, pack, count and check text files");
}

}  // namespace zoo::cli
