// transformer-cli attention: who looks at whom, in every layer and head.

#include <algorithm>
#include <charconv>

#include "analysis/attention_figure.h"
#include "analysis/rollout.h"
#include "cli/lines.h"
#include "cli/picture_model.h"
#include "cli/runtime.h"
#include "cli/text_model.h"
#include "core/scratch.h"
#include "core/text.h"
#include "data/image_file.h"

namespace zoo::cli {
namespace {

constexpr int64_t kPicturesAtOnce = 16;
const std::vector<std::string> kFormats = {"json", "csv", "svg", "png"};

/// "0,2-4" is 0, 2, 3 and 4.
std::vector<int64_t> parse_numbers(const std::string& flag, const std::string& text) {
  std::vector<int64_t> numbers;
  if (text.empty()) return numbers;
  for (const std::string& part : split(text, ',')) {
    const auto ends = split(part, '-');
    std::vector<int64_t> range;
    for (const std::string& end : ends) {
      int64_t number = 0;
      const auto [last, error] = std::from_chars(end.data(), end.data() + end.size(), number);
      if (error == std::errc() && last == end.data() + end.size() && number < 100'000)
        range.push_back(number);
    }
    if (ends.size() > 2 || range.size() != ends.size() || range.front() > range.back())
      throw ConfigError(cat(flag, " ", text,
                            ": expected numbers from 0 with commas between, or ranges of them, "
                            "such as 0,2-4"));
    for (int64_t number = range.front(); number <= range.back(); ++number)
      numbers.push_back(number);
  }
  return numbers;
}

struct Attention {
  std::string model_path, text, output;
  std::optional<std::string> second, format_choice, layers, heads;
  std::vector<std::string> inputs, parts;
  bool pair = false, special = false, average = false, summary = false, rollout = false;
  PictureFlags pictures;

  void declare(Flags& flags) {
    flags.describe(
        "Prints a line for each head with what it does, as means over its queries: entropy in "
        "nats, "
        "and\n"
        "relative to that of uniform attention (0: one key, 1: uniform); the mean distance between "
        "query\n"
        "and key; the shares of the first key, of the places before, at and behind the query, and "
        "of\n"
        "separators and end tokens; of attention to a source, how diagonal it is (the correlation "
        "of both\n"
        "places: 1 along the diagonal, -1 against it). The last line has the numbers of uniform "
        "attention.\n"
        "The weights themselves go to --output, or with --format to standard output: JSON, a line "
        "for each\n"
        "input; CSV; a picture of all maps as SVG or PNG. Layers and heads are counted from 0.\n"
        "\n"
        "Texts are given with --text, or a line each in a file or from standard input; blank lines "
        "are left\n"
        "out. A translation's target is --target, else what the model itself writes, greedily. For "
        "a vision\n"
        "model pictures are named with --input.");
    flags.example(
        "what each head of a language model does",
        "transformer-cli attention weights/gpt-shakespeare-char --text 'To be or not to be'");
    flags.example(
        "how the words of a translation are aligned, as a picture",
        "transformer-cli attention runs/translate --text 'a b c' --target 'c b a' --average "
        "-o alignment.svg");
    flags.example("the weights of one head for a pair of texts",
                  "transformer-cli attention runs/bert --text 'the old baker' --second 'paints' "
                  "--layers 0 --heads 1 --format csv");
    flags.example("which patches contribute to the class of a picture",
                  "transformer-cli attention runs/vit --input pictures/red/1.png --rollout -o "
                  "rollout.png");
    flags.text("-m,--model,model", model_path, "DIR", "run, checkpoint or Hugging Face folder");
    flags.group("Input");
    flags.text("--text", text, "TEXT", "a text, or the source of a translation");
    flags.text("--target,--second", second, "TEXT",
               "the target of a translation, or the second text of a pair");
    flags.texts("-i,--input", inputs, "FILE",
                "texts, a line each; - or none: standard input. For a vision model: PNG or JPEG "
                "files, folders of them, IDX or CIFAR files; may be given again");
    flags.flag("--pair", pair,
               "each line holds two texts, text<TAB>text, or a source and its target");
    flags.flag("--special", special,
               "read the text of special tokens, such as [MASK], as those tokens");
    flags.group("Maps");
    flags.choices("--part", parts, {"encoder", "decoder", "cross"},
                  "of an encoder-decoder, the attention of the source to itself, of the target to "
                  "itself, or of the target to the source (default)");
    flags.text("--layers", layers, "N,N-N", "these alone, such as 0,2-4");
    flags.text("--heads", heads, "N,N-N", "these alone");
    flags.flag("--average", average, "the mean over a layer's heads in their place");
    flags.group("Output");
    flags.text("-o,--output", output, "FILE",
               "file for the weights; its name's end tells the format; - is standard output");
    flags.choice("--format", format_choice, kFormats, "format of the weights");
    flags.flag("--summary", summary, "json, csv: the numbers of each head without the weights");
    flags.flag("--rollout", rollout,
               "svg, png: in place of the heads the product of all layers (Abnar & Zuidema 2020); "
               "of a picture, over the picture");
    flags.group("Pictures");
    pictures.declare(flags);
  }

  int run(const GlobalOptions& globals) {
    if (model_path.empty())
      throw ConfigError("attention: no model is given; name its folder: -m DIR");
    settle_output(globals.json);
    selection_ = {parse_numbers("--layers", layers.value_or("")),
                  parse_numbers("--heads", heads.value_or("")), average};
    if (rollout && (layers || heads || average))
      throw ConfigError(
          "--rollout is the product of all layers and heads; leave out --layers, --heads and "
          "--average");
    const bool sees = std::holds_alternative<VitConfig>(load_config(utf8_path(model_path)));
    const auto attend = [&](const Use& use) { sees ? see(globals, use) : read(globals, use); };
    if (format_.empty())
      attend([&](const Found& found) { print(found.attention, globals.json); });
    else if (to_stdout_)
      write(out(), attend, {});
    else
      write_file(utf8_path(output), [&](std::ostream& file) {
        write(file, attend, [&](const Found& found) { print(found.attention, globals.json); });
      });
    if (broken_ > 0) {
      out().flush();
      throw DataError(cat(broken_, " pictures could not be read; their messages are above"));
    }
    return kDone;
  }

 private:
  /// The maps of one input.
  struct Found {
    ModelAttention attention;
    Tensor picture;          ///< (X, Y, Z) of a picture, as the model saw it
    ImageInputConfig input;  ///< how it was made
  };
  using Use = std::function<void(const Found&)>;

  void settle_output(bool json) {
    to_stdout_ = output.empty() || output == "-";
    const std::string end = to_stdout_ ? "" : utf8(utf8_path(output).extension());
    format_ = format_choice.value_or(end.empty() ? "" : end.substr(1));
    if (format_ == "jsonl") format_ = "json";
    if (to_stdout_ && format_.empty() && (json || output == "-")) format_ = "json";
    if (!to_stdout_ && std::find(kFormats.begin(), kFormats.end(), format_) == kFormats.end())
      throw ConfigError(cat("--output ", output, ": its end tells no format; allowed: .",
                            join(kFormats, ", ."), "; or say it with --format"));
    if (format_ == "png" && output.empty())
      throw ConfigError("--format png: is no text; give -o FILE.png, or -o - for standard output");
    if (json && to_stdout_ && format_ != "json")
      throw ConfigError(cat("--json and --format ", format_,
                            " both mean standard output; leave one of them out, or give -o FILE"));
    const bool drawn = format_ == "svg" || format_ == "png";
    if (rollout && !drawn)
      throw ConfigError(
          "--rollout is drawn: give -o FILE.svg or FILE.png, or --format; JSON has it always");
    if (summary && (drawn || format_.empty()))
      throw ConfigError(
          "--summary leaves the weights out of JSON and CSV, but neither is written; leave it out");
  }

  /// Calls use() for each text.
  void read(const GlobalOptions& globals, const Use& use) {
    if (pictures.any())
      throw ConfigError(
          "attention: flags for pictures were given, but the model reads texts; leave them out");
    if (!text.empty() && !inputs.empty())
      throw ConfigError("attention: --text and --input were given; give one of them");
    if (inputs.size() > 1)
      throw ConfigError("--input was given twice; texts are read from one file");
    if (pair && (!text.empty() || second))
      throw ConfigError(
          "--pair is for lines of a file; with --text give the second text with --second");
    if (second && text.empty())
      throw ConfigError("--target, --second: belongs to --text; lines hold both texts with --pair");
    const Runtime runtime = start_runtime(globals);
    const LoadedModel loaded =
        load_model(utf8_path(model_path), {.device = runtime.device, .dtype = runtime.dtype});
    const auto attend = [&](const std::string& first, const std::optional<std::string>& other) {
      Found found;
      found.attention = attention_of_text(loaded, first, other, {.special = special});
      narrow(found.attention);
      use(found);
    };
    if (!text.empty()) return attend(text, second);
    LineReader lines(inputs.empty() ? "" : inputs[0]);
    int64_t number = 0, texts = 0;
    while (const auto line = lines.next()) {
      ++number;
      if (is_blank(*line)) continue;
      ++texts;
      const std::string where = cat(lines.name(), ":", number);
      try {
        if (!pair) {
          attend(*line, std::nullopt);
          continue;
        }
        const auto [first, other] = split_pair(*line, where);
        attend(std::string(first), std::string(other));
      } catch (const DataError& error) {
        const std::string message = error.what();
        throw DataError(message.starts_with(where) ? message : where + ": " + message);
      }
    }
    if (texts == 0) throw DataError(lines.name() + ": holds no text; give one with --text");
  }

  /// Calls use() for each picture.
  void see(const GlobalOptions& globals, const Use& use) {
    if (!text.empty() || second || pair || special || !parts.empty())
      throw ConfigError(
          "attention: the model sees pictures; leave out --text, --second, --pair, --special and "
          "--part, and name pictures with --input");
    if (inputs.empty())
      throw ConfigError(
          "attention: no picture is given; name PNG or JPEG files or folders with --input");
    const PictureModel opened = load_picture_model(model_path, pictures, globals);
    const ScratchFolder scratch;
    std::vector<fs::path> paths;
    for (const std::string& name : inputs) paths.push_back(utf8_path(name));
    const auto set = open_unlabelled_images(paths, scratch.path());
    see_pictures(opened, *set, all_of(*set), kPicturesAtOnce, [&](const SeenPicture& picture) {
      if (!picture.problem.empty()) {
        ++broken_;
        log_warning(picture.problem);
        return;
      }
      const auto best = picture.probabilities.argmax().item<int64_t>();
      Found found;
      found.attention.input = set->name(picture.index);
      found.attention.second = opened.model->labels()[static_cast<size_t>(best)];
      found.attention.maps.push_back(attention_maps(*opened.model, picture.input));
      found.picture = picture.input;
      found.input = opened.input;
      narrow(found.attention);
      use(found);
    });
  }

  /// Leaves what was asked for.
  void narrow(ModelAttention& attention) const {
    const bool has_source = attention.maps.front().part != AttentionPart::self;
    std::vector<std::string> there;
    for (const AttentionMaps& maps : attention.maps) there.emplace_back(enum_name(maps.part));
    std::vector<std::string> wanted = parts;
    if (wanted.empty()) wanted = {has_source ? "cross" : "self"};
    for (const std::string& part : wanted)
      if (std::find(there.begin(), there.end(), part) == there.end())
        throw ConfigError(cat("--part ", part, ": this model has ", join(there, ", "), " alone"));
    std::erase_if(attention.maps, [&](const AttentionMaps& maps) {
      return std::find(wanted.begin(), wanted.end(), enum_name(maps.part)) == wanted.end();
    });
    for (AttentionMaps& maps : attention.maps) select(maps, selection_);
  }

  /// @param attend calls what it is given for each input  @param also for each input too, or empty
  void write(std::ostream& file, const std::function<void(const Use&)>& attend, const Use& also) {
    const bool drawn = format_ == "svg" || format_ == "png";
    int64_t number = 0;
    std::string picture;  // written when it is certain to be the only one
    if (format_ == "csv") write_csv_header(file, !summary);
    attend([&](const Found& found) {
      if (++number > 1 && drawn)
        throw ConfigError(cat("--format ", format_,
                              ": a picture shows one input, but there are several; give one, or "
                              "take json or csv"));
      if (format_ == "json")
        file << to_json(found.attention, !summary)
                    .dump(-1, ' ', false, Json::error_handler_t::replace)
             << '\n';
      else if (format_ == "csv")
        write_csv(file, found.attention, number, !summary);
      else
        picture = drawing(found);
      if (also) also(found);
    });
    file << picture;
  }

  /// The bytes of an SVG or PNG file.
  std::string drawing(const Found& found) const {
    if (rollout && found.picture.defined()) {
      const AttentionMaps& maps = found.attention.maps.front();
      const Image image = relevance_picture(
          found.picture, found.input,
          patch_relevance(maps.rollout.unsqueeze(0), maps.grid->rows, maps.grid->columns)[0]);
      return format_ == "svg" ? svg(image, found.attention.input) : encode_png(image);
    }
    const HeatMapGrid grid =
        rollout ? rollout_grid(found.attention) : attention_grid(found.attention);
    return format_ == "svg" ? svg(grid) : encode_png(zoo::picture(grid));
  }

  void print(const ModelAttention& attention, bool json) {
    if (json) {
      out() << to_json(attention, /*weights=*/false)
                   .dump(-1, ' ', false, Json::error_handler_t::replace)
            << '\n';
      return;
    }
    if (printed_++ > 0) out() << '\n';
    out() << on_one_line(attention.input);
    if (attention.second) out() << '\t' << on_one_line(*attention.second);
    out() << '\n';
    for (const AttentionMaps& maps : attention.maps) print(maps);
  }

  static void print(const AttentionMaps& maps) {
    std::vector<std::string> header = {"attention", "layer", "head"};
    maps.uniform.fields([&](const char* name, double value, const char*) {
      if (!std::isnan(value)) header.emplace_back(name);
    });
    Table table(header);
    const auto add = [&](std::vector<std::string> row, const HeadSummary& summary) {
      std::vector<double> values;
      summary.fields([&](const char*, double value, const char*) { values.push_back(value); });
      auto own = values.begin();
      maps.uniform.fields([&](const char*, double value, const char*) {
        if (!std::isnan(value)) row.push_back(std::isnan(*own) ? "-" : fixed(*own, 3));
        ++own;
      });
      table.add(std::move(row));
    };
    for (const HeadMap& map : maps.heads)
      add({std::string(enum_name(maps.part)), std::to_string(map.layer),
           map.head ? std::to_string(*map.head) : "mean"},
          map.summary);
    add({"uniform", "", ""}, maps.uniform);
    table.print(out());
  }

  std::string format_;  ///< of the weights; "": they are not written
  bool to_stdout_ = true;
  AttentionSelection selection_;
  int64_t printed_ = 0, broken_ = 0;
};

}  // namespace

Command attention_command() {
  return make_command<Attention>("attention", "Who looks at whom, in every layer and head");
}

}  // namespace zoo::cli
