// transformer-cli convert: writes a model's folder anew, for Hugging Face's library or for this
// one.

#include "checkpoint/convert.h"

#include <cmath>
#include <map>

#include "analysis/deviation.h"
#include "checkpoint/safetensors.h"
#include "cli/command.h"
#include "cli/project.h"
#include "cli/runtime.h"
#include "core/json.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

/// "500MB": bytes, with powers of 1,000 as Hugging Face counts.
int64_t bytes_of(const std::string& flag, const std::string& text) {
  static const std::map<std::string, int64_t> units = {
      {"", 1}, {"KB", 1'000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}, {"TB", 1'000'000'000'000}};
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = units.find(text.substr(digits));
  if (digits == 0 || digits > 6 + 6 || unit == units.end())
    throw ConfigError(cat(flag, ": \"", text,
                          "\" is no size; give a whole number with KB, MB, GB or nothing, such as "
                          "5GB"));
  const int64_t bytes = std::stoll(text.substr(0, digits)) * unit->second;
  if (bytes < 1) throw ConfigError(cat(flag, ": must be at least 1 byte, found ", text));
  return bytes;
}

struct Convert {
  std::string model, output, to = "hf", max_shard_size = "5GB";
  std::optional<std::string> dtype;
  bool check = false, overwrite = false;

  void declare(Flags& flags) {
    flags.describe(
        "Writes a model's folder anew. --to hf: a folder that Hugging Face's library opens, "
        "without\n"
        "our zoo.json; the model must have the shape of one of its families. --to zoo: a "
        "checkpoint\n"
        "of this program. Tokenizer, generation config and pooling come along. The model may be a\n"
        "run, a checkpoint, or a folder of Hugging Face's or timm's.\n"
        "\n"
        "--check opens the new folder and compares its logits for random inputs with the model's, "
        "in\n"
        "float32. They must be equal; in a narrower number format they may differ by 8 of its\n"
        "epsilons times the largest logit (bfloat16 6.25 %, float16 0.78 %). If they differ by "
        "more,\n"
        "nothing is written and the exit code is 4.");
    flags.text("-m,--model,model", model, "DIR", "run, checkpoint or Hugging Face folder");
    flags.text("-o,--output", output, "DIR", "folder to write");
    flags.choice("--to", to, {"hf", "zoo"}, "whose folder to write");
    flags.choice("--dtype", dtype, {"float32", "float16", "bfloat16"},
                 "number format of the weights; default: as they are");
    flags.text("--max-shard-size", max_shard_size, "SIZE",
               "larger weights go into several files of at most this size, with an index");
    flags.flag("--check", check, "compare the new folder's logits with the model's");
    flags.flag("--overwrite", overwrite, "replace a folder that is not empty");
    flags.example("for Hugging Face's library, in half the space",
                  "transformer-cli convert runs/bert -o runs/bert-hf --dtype bfloat16 --check");
    flags.example("a checkpoint of this program",
                  "transformer-cli convert runs/bert-hf -o runs/bert-zoo --to zoo");
  }

  int run(const GlobalOptions& globals) {
    if (model.empty()) throw ConfigError("convert: no model is given; name its folder: -m DIR");
    if (output.empty())
      throw ConfigError("convert: no output folder is given; name one with -o DIR");
    if (globals.dtype != "float32")
      throw ConfigError(
          "--dtype: stands before \"convert\", where it would change nothing; give "
          "it after it, as the format to write");
    start_runtime(globals);
    ConvertOptions options{.to = to == "hf" ? FolderKind::hf : FolderKind::zoo,
                           .dtype = {},
                           .max_file_bytes = bytes_of("--max-shard-size", max_shard_size)};
    if (dtype)
      options.dtype = *dtype == "float16"    ? torch::kFloat16
                      : *dtype == "bfloat16" ? torch::kBFloat16
                                             : torch::kFloat32;
    Converted converted;
    std::optional<Deviation> deviation;
    double allowed = 0;
    write_folder(output_folder(output, overwrite), [&](const fs::path& fresh) {
      converted = convert_model(utf8_path(model), fresh, options);
      if (!check) return;
      deviation = compare_logits(utf8_path(model), fresh, static_cast<uint64_t>(globals.seed));
      allowed = allowed_deviation(converted.from, converted.dtype) * deviation->scale;
      if (std::isnan(deviation->largest))
        throw NumericError(cat(model, ": its logits are not all numbers; nothing is written"));
      if (deviation->largest > allowed)
        throw NumericError(cat(model, ": its logits and those of the new folder differ by up to ",
                               deviation->largest, "; allowed is ", allowed,
                               converted.dtype == torch::kFloat32 ? "" : ": keep it in float32",
                               "; nothing is written"));
    });
    report(globals, converted, deviation, allowed);
    return kDone;
  }

 private:
  void report(const GlobalOptions& globals, const Converted& converted,
              const std::optional<Deviation>& deviation, double allowed) const {
    if (globals.json) {
      Json json{{"path", output},
                {"to", to},
                {"model_type", converted.family},
                {"parameters", converted.parameters},
                {"dtype", dtype_name(converted.dtype)},
                {"files", converted.files},
                {"bytes", converted.bytes}};
      if (deviation)
        json["check"] = {{"largest_deviation", deviation->largest},
                         {"allowed", allowed},
                         {"largest_logit", deviation->scale}};
      out() << json.dump(2) << '\n';
      return;
    }
    out() << output << ": " << converted.family << ", " << with_thousands(converted.parameters)
          << " parameters in " << dtype_name(converted.dtype) << ", " << converted.files
          << (converted.files == 1 ? " file, " : " files, ")
          << human_bytes(static_cast<double>(converted.bytes)) << '\n';
    if (deviation)
      out() << "largest deviation of a logit: " << deviation->largest << " (allowed " << allowed
            << "; largest logit " << deviation->scale << ")\n";
  }
};

}  // namespace

Command convert_command() {
  return make_command<Convert>("convert",
                               "Write a model for Hugging Face's library, or take one from it");
}

}  // namespace zoo::cli
