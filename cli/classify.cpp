// transformer-cli classify: classes of texts or pictures, or tags of words.

#include <algorithm>
#include <sstream>

#include "cli/classify_pictures.h"
#include "cli/lines.h"
#include "cli/text_model.h"
#include "core/json.h"
#include "core/text.h"
#include "data/labelled_texts.h"

namespace zoo::cli {
namespace {

constexpr size_t kLinesAtOnce = 2048;

struct Classify {
  std::string model_path, input, labels_file;
  bool pair = false;
  int64_t top = 1, batch_size = 8192;
  ClassifyPictures pictures;
  TextModel opened;
  std::vector<std::string> labels;

  void declare(Flags& flags) {
    flags.describe(
        "Prints a line for each line of text: the text, its most probable class and that one's\n"
        "probability, then with --top the next ones, separated by tabs. A model that tags words "
        "prints\n"
        "each word and its tag on a line, separated by a tab, and a blank line behind each text. "
        "For a\n"
        "vision model, pictures are named instead: a line for each, its name in the text's "
        "place.");
    flags.example("classes of a file's lines",
                  "transformer-cli classify runs/classifier -i source.txt --top 2");
    flags.example("of one text", "echo 'a b c' | transformer-cli classify runs/classifier --json");
    flags.text("-m,--model,model", model_path, "DIR", "run, checkpoint or Hugging Face folder");
    flags.number("--top,--top-k", top, at_least(1), "classes to print for each text or picture");
    flags.text("--labels", labels_file, "FILE",
               "names of the classes, a line each, in place of the model's");
    flags.group("Texts");
    flags.text("-i,--input", input, "FILE", "texts, a line each; - or none: standard input");
    flags.flag("--pair", pair, "each line holds two texts: text<TAB>text");
    flags.number("--batch-size", batch_size, at_least(1),
                 "tokens computed together; changes no result");
    flags.group("Pictures");
    pictures.declare(flags);
  }

  int run(const GlobalOptions& globals) {
    if (model_path.empty())
      throw ConfigError("classify: no model is given; name its folder: -m DIR");
    if (std::holds_alternative<VitConfig>(load_config(utf8_path(model_path)))) {
      if (!input.empty() || pair)
        throw ConfigError(
            "classify: --input and --pair are for texts, but the model sees pictures; name those "
            "behind the model, or in a file with --list");
      pictures.run(model_path, labels_file, top, globals);
      return kDone;
    }
    if (!pictures.inputs.empty() || pictures.any())
      throw ConfigError(
          "classify: pictures, or flags for them, were given, but the model reads texts; give "
          "those with --input");
    opened = load_text_model("classify", model_path, globals);
    labels = labels_of(opened.model->head());
    if (labels.empty())
      throw ConfigError(model_path +
                        ": tells no classes; give a model that was trained on the task "
                        "text_classification or tagging");
    if (!labels_file.empty()) labels = read_labels(labels_file, labels.size());
    const bool tags = std::holds_alternative<TaggerHeadConfig>(opened.model->head());
    if (tags && (pair || top > 1))
      throw ConfigError(
          "--pair and --top are for classes of texts, but the model tags words; "
          "leave them out");
    LineReader reader(input);
    std::vector<std::string> lines;
    const auto flush = [&](int64_t first) {
      tags ? print_tags(lines, globals.json)
           : print_classes(lines, reader.name(), first, globals.json);
      lines.clear();
    };
    int64_t first = 1;
    while (auto line = reader.next()) {
      lines.push_back(std::move(*line));
      if (lines.size() < kLinesAtOnce) continue;
      flush(first);
      first += static_cast<int64_t>(kLinesAtOnce);
    }
    flush(first);
    return kDone;
  }

 private:
  void print_classes(const std::vector<std::string>& lines, const std::string& name, int64_t first,
                     bool json) {
    if (lines.empty()) return;
    std::vector<EncodedText> texts;
    for (size_t i = 0; i < lines.size(); ++i)
      texts.push_back(encode_line(*opened.encoding, lines[i], pair,
                                  cat(name, ":", first + static_cast<int64_t>(i))));
    std::vector<TextRow> rows;
    for (const EncodedText& text : texts) rows.push_back(row_of(text));
    const int64_t count = std::min<int64_t>(top, std::ssize(labels));
    const auto [values, classes] =
        class_logits(*opened.model, rows, batch_size).softmax(-1).topk(count, -1);  // (N, K)
    const auto value = values.accessor<float, 2>();
    const auto which = classes.accessor<int64_t, 2>();
    for (int64_t i = 0; i < std::ssize(lines); ++i) {
      Json found = Json::array();
      if (!json) out() << on_one_line(lines[i]);
      for (int64_t rank = 0; rank < count; ++rank) {
        const std::string& label = labels[which[i][rank]];
        if (json)
          found.push_back({{"label", label}, {"probability", value[i][rank]}});
        else
          out() << '\t' << label << '\t' << fixed(value[i][rank], 4);
      }
      if (json) out() << Json{{"text", lines[i]}, {"classes", std::move(found)}}.dump();
      out() << '\n';
    }
  }

  void print_tags(const std::vector<std::string>& lines, bool json) {
    if (lines.empty()) return;
    std::vector<std::vector<std::string>> words;
    std::vector<EncodedWords> texts;
    for (const std::string& line : lines) {
      std::istringstream stream(line);
      words.emplace_back(std::istream_iterator<std::string>(stream),
                         std::istream_iterator<std::string>());
      texts.push_back(encode_words(words.back(), *opened.encoding));
      if (texts.back().places.size() < words.back().size())
        throw DataError(cat("a line of ", words.back().size(), " words is longer than the model's ",
                            opened.model->max_length(), " tokens: \"", line.substr(0, 60),
                            "…\"; break it"));
    }
    std::vector<TextRow> rows;
    for (const EncodedWords& text : texts) rows.push_back(row_of(text.text));
    const std::vector<Tensor> logits = tag_logits(*opened.model, rows, batch_size);
    for (size_t i = 0; i < lines.size(); ++i) {
      const auto [values, tags] = logits[i].softmax(-1).max(-1);  // (T)
      Json found = Json::array();
      for (size_t word = 0; word < words[i].size(); ++word) {
        const int64_t place = texts[i].places[word];
        const std::string& tag = labels[tags[place].item<int64_t>()];
        if (json)
          found.push_back({{"word", words[i][word]},
                           {"tag", tag},
                           {"probability", values[place].item<double>()}});
        else
          out() << words[i][word] << '\t' << tag << '\n';
      }
      if (json) out() << Json{{"text", lines[i]}, {"words", std::move(found)}}.dump();
      out() << '\n';
    }
  }
};

}  // namespace

Command classify_command() {
  return make_command<Classify>("classify", "Classes of texts or pictures, or tags of words");
}

}  // namespace zoo::cli
