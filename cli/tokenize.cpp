// transformer-cli tokenize, detokenize: text to ids and back, a line for a line.

#include <charconv>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/lines.h"
#include "core/text.h"
#include "tokenizer/tokenizer.h"

namespace zoo::cli {
namespace {

/// The flags that both commands share.
struct TokenizerChoice {
  std::string model, file;

  void declare(Flags& flags) {
    flags.text("-m,--model,model", model, "DIR",
               "run, checkpoint or model folder with a tokenizer");
    flags.text(
        "--tokenizer", file, "PATH",
        "a tokenizer's folder or file (tokenizer.json, vocab.json, vocab.txt, .model) instead");
  }

  std::unique_ptr<Tokenizer> load() const {
    if (model.empty() == file.empty())
      throw ConfigError(model.empty()
                            ? "no tokenizer is given; name a model (-m DIR) or a tokenizer "
                              "(--tokenizer PATH)"
                            : "--model and --tokenizer contradict each other; give one of them");
    return load_tokenizer(model.empty() ? utf8_path(file) : resolve_checkpoint(utf8_path(model)));
  }
};

/// A piece for a list that is separated by blanks: blanks and line ends in it are made visible.
std::string visible(const std::string& piece) {
  std::string text;
  for (const char c : on_one_line(piece)) {
    if (c == ' ')
      text += "\u2423";
    else if (c == '\t')
      text += "\\t";
    else
      text += c;
  }
  return text;
}

struct Tokenize {
  TokenizerChoice choice;
  std::string input;
  bool ids = false, pieces = false, count = false, special = false, whole_input = false;

  void declare(Flags& flags) {
    flags.describe(
        "Splits text into tokens. Each input line gives one output line: ids, pieces or their "
        "number,\n"
        "or a JSON object with all three (--json). Units are tokens of the tokenizer named. Pieces "
        "stand\n"
        "as the vocabulary file has them, with U+2423 for a blank within a piece.");
    flags.example("ids of a line",
                  "echo 'To be' | transformer-cli tokenize weights/gpt-shakespeare-char");
    flags.example("pieces of a file",
                  "transformer-cli tokenize -m weights/gpt-shakespeare-char -i README.md --pieces");
    choice.declare(flags);
    flags.text("-i,--input", input, "FILE", "text file; - or none: standard input");
    flags.flag("--ids", ids, "write ids, separated by blanks (the default)");
    flags.flag("--pieces", pieces, "write pieces, separated by blanks");
    flags.flag("--count", count, "write how many tokens there are");
    flags.flag("--special", special, "read special tokens in the text as such, not as plain text");
    flags.flag("--whole-input", whole_input, "the whole text is one line, line ends included");
  }

  int run(const GlobalOptions& globals) {
    if (ids + pieces + count + globals.json > 1)
      throw ConfigError(
          "--ids, --pieces, --count and --json exclude one another; give one of them");
    const auto tokenizer = choice.load();
    int64_t lines = 0, tokens = 0, bytes = 0;
    const auto write = [&](const std::string& text) {
      ++lines;
      std::vector<int64_t> found;
      try {
        found = tokenizer->encode(text, {.special = special});
      } catch (const DataError& error) {
        throw DataError(
            cat(input.empty() ? "standard input" : input, ":", lines, ": ", error.what()));
      }
      tokens += std::ssize(found);
      bytes += std::ssize(text);
      if (globals.json)
        out() << to_json(*tokenizer, text, found)
                     .dump(-1, ' ', false, Json::error_handler_t::replace);
      else if (count)
        out() << found.size();
      else
        out() << join(shown(*tokenizer, found), " ");
      out() << '\n';
    };
    LineReader reader(input);
    if (whole_input)
      write(reader.rest());
    else
      while (const std::optional<std::string> line = reader.next()) write(*line);
    log_info(with_thousands(lines), lines == 1 ? " line, " : " lines, ", with_thousands(tokens),
             " tokens",
             tokens > 0 ? cat(", ", static_cast<double>(bytes) / static_cast<double>(tokens),
                              " bytes a token")
                        : "");
    return kDone;
  }

 private:
  std::vector<std::string> shown(const Tokenizer& tokenizer,
                                 const std::vector<int64_t>& found) const {
    std::vector<std::string> words;
    for (const int64_t id : found)
      words.push_back(pieces ? visible(tokenizer.piece(id)) : std::to_string(id));
    return words;
  }

  static Json to_json(const Tokenizer& tokenizer, const std::string& text,
                      const std::vector<int64_t>& found) {
    Json list = Json::array();
    for (const int64_t id : found) list.push_back(tokenizer.piece(id));
    return {{"text", text}, {"ids", found}, {"pieces", list}, {"count", found.size()}};
  }
};

struct Detokenize {
  TokenizerChoice choice;
  std::string input;
  bool special = false, whole_input = false;

  void declare(Flags& flags) {
    flags.describe(
        "Turns ids back into text. Each input line of ids, separated by blanks, gives one output "
        "line; a\n"
        "line feed in the text is written as \\n, a carriage return as \\r. With --whole-input all "
        "ids\n"
        "make one text, which is written as it is.");
    flags.example("there and back",
                  "echo 'To be' | transformer-cli tokenize weights/gpt-shakespeare-char | "
                  "transformer-cli detokenize weights/gpt-shakespeare-char");
    choice.declare(flags);
    flags.text("-i,--input", input, "FILE", "file of ids; - or none: standard input");
    flags.flag("--special", special, "write special tokens too");
    flags.flag("--whole-input", whole_input, "all lines make one text");
  }

  int run(const GlobalOptions&) {
    const auto tokenizer = choice.load();
    LineReader reader(input);
    std::vector<int64_t> all;
    for (int64_t number = 1; const std::optional<std::string> line = reader.next(); ++number) {
      std::vector<int64_t> ids = parse(*line, number, tokenizer->vocab_size());
      if (whole_input)
        all.insert(all.end(), ids.begin(), ids.end());
      else
        out() << on_one_line(tokenizer->decode(ids, {.skip_special = !special})) << '\n';
    }
    if (whole_input) out() << tokenizer->decode(all, {.skip_special = !special});
    return kDone;
  }

 private:
  std::vector<int64_t> parse(const std::string& line, int64_t number, int64_t vocab_size) const {
    std::vector<int64_t> ids;
    for (const std::string& word : split(line, ' ')) {
      const std::string_view text = trim(word);
      if (text.empty()) continue;
      int64_t id = 0;
      const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), id);
      if (error != std::errc() || rest != text.data() + text.size() || id < 0 || id >= vocab_size)
        throw DataError(cat(input.empty() ? "standard input" : input, ":", number, ": \"", text,
                            "\" is not an id of this tokenizer; allowed: integers from 0 to ",
                            vocab_size - 1, ", separated by blanks"));
      ids.push_back(id);
    }
    return ids;
  }
};

}  // namespace

Command tokenize_command() {
  return make_command<Tokenize>("tokenize", "Text to tokens, a line for a line");
}

Command detokenize_command() {
  return make_command<Detokenize>("detokenize", "Ids back to text, a line for a line");
}

}  // namespace zoo::cli
