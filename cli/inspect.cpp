// transformer-cli inspect: what a model is made of and what it costs. Weights are never loaded
// unless --stats asks for them.

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "cli/command.h"
#include "cli/model_subject.h"
#include "core/config.h"
#include "core/text.h"
#include "models/cost.h"

namespace zoo::cli {
namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + join(sizes, ", ") + ")";
}

std::string type_of(const auto& variant) {
  return std::visit([](const auto& v) { return std::string(v.kType); }, variant);
}

std::string parts_of(const PositionConfig& position, const BlockConfig& block) {
  return cat(type_of(position), " positions, ", type_of(block.norm), " norm (",
             enum_name(block.placement), "), ", type_of(block.feed_forward), " feed-forward");
}

/// What a model is made of, in a line.
std::string summary(const GptConfig& config) {
  return cat(parts_of(config.position, config.block), ", ",
             config.tie_embeddings ? "tied" : "untied", " output");
}
std::string summary(const TransformerConfig& config) {
  return cat(config.encoder_layers, " + ", config.decoder_layers, " layers, ",
             parts_of(config.position, config.block),
             ", tied embeddings: ", enum_name(config.tie_embeddings));
}
std::string summary(const BertConfig& config) {
  return cat(config.num_layers, " layers, ", parts_of(config.position, config.block),
             ", pooling: ", enum_name(config.pooling), ", head: ", type_of(config.head));
}
std::string summary(const VitConfig& config) {
  return cat(config.num_layers, " layers, pictures of ", config.image_height, " x ",
             config.image_width, ", ", enum_name(config.position), " positions, ",
             type_of(config.block.norm), " norm (", enum_name(config.block.placement), "), ",
             type_of(config.block.feed_forward),
             " feed-forward, pooling: ", enum_name(config.pooling));
}
std::string summary(const RnnSeq2SeqConfig& config) {
  return cat(config.encoder_layers, " + ", config.decoder_layers, " layers of ",
             enum_name(config.cell), ", ", config.bidirectional ? "bidirectional" : "forward",
             " encoder, attention: ", type_of(config.attention),
             ", readout: ", enum_name(config.readout),
             ", tied embeddings: ", enum_name(config.tie_embeddings));
}

struct Inspect {
  static constexpr bool kReadsConfig = true;
  std::string target;
  std::optional<std::string> tensors;  // a pattern of names
  bool stats = false, parameters = false, flops = false, memory = false;
  int64_t batch_size = 1, context = 0;

  void declare(Flags& flags) {
    flags.describe(
        "MODEL is a run, checkpoint or Hugging Face folder, a .safetensors file, a config file, or "
        "a preset.\n"
        "FLOPs count 2 for a multiply-add, attention included, of the last token of the context; "
        "training costs\n"
        "three forward passes. Memory is in powers of 1,000; that of activations is an estimate.");
    flags.text("-m,--model,model", target, "MODEL", "what to look at; or give a config with -c");
    flags.flag("--params", parameters, "print the parameters only");
    flags.flag("--memory", memory, "print the memory only");
    flags.flag("--flops", flops, "print the arithmetic only");
    flags.number("--batch-size", batch_size, at_least(1),
                 "sequences, for the memory of activations and KV cache");
    flags.number("--context", context, non_negative(),
                 "tokens of a sequence; 0: the model's max_length");
    flags.optional_text("--tensors", tensors, "GLOB", "*",
                        "list the tensors in the files, those whose name fits the pattern");
    flags.flag("--stats", stats, "with --tensors: read them and print mean, deviation and range");
    flags.example("a published shape", "transformer-cli inspect gpt2");
    flags.example("a trained model", "transformer-cli inspect weights/gpt-shakespeare-char");
    flags.example(
        "what a config would cost to train",
        "transformer-cli inspect configs/gpt_shakespeare_char.json --memory --batch-size 8");
    flags.example(
        "its tensors, and whether they look sane",
        "transformer-cli inspect weights/gpt-shakespeare-char --tensors '*norm*' --stats");
    flags.example("a preset, changed",
                  "transformer-cli inspect gpt2 --set model.block.attention.num_kv_heads=4 --json");
  }

  int run(const GlobalOptions& globals) {
    if (target.empty() && tensors && *tensors != "*")
      throw ConfigError(cat("inspect: no model was given; --tensors took \"", *tensors,
                            "\" as its pattern: name the model first"));
    if (stats && !tensors)
      throw ConfigError("--stats: needs --tensors, whose tensors it describes; add it");
    const fs::path path = utf8_path(target);
    if (!tensors && path.extension() == ".safetensors") tensors = "*";
    if (tensors) return list_tensors(globals, path);
    return report(globals);
  }

 private:
  // ---- costs ---------------------------------------------------------------------------------

  int report(const GlobalOptions& globals) {
    const ModelSubject subject = find_model(globals, "inspect", target);
    const int64_t longest = longest_context(subject.model);
    if (context > longest)
      throw ConfigError(cat("--context: ", context,
                            " is refused; allowed: 1 to the model's max_length ", longest));
    const int64_t tokens = context == 0 ? longest : context;
    const int64_t bytes = globals.dtype == "bfloat16" ? 2 : 4;
    const std::vector<ParameterCost> costs = parameter_costs(subject.model);
    const int64_t total = parameter_count(subject.model);
    const TrainingMemory training = training_memory(
        subject.model, {batch_size, tokens, states_of(subject.optimizer), bytes == 2});
    const double cache = kv_cache_bytes(subject.model, batch_size, tokens, bytes);
    const double forward = forward_flops(subject.model, tokens);
    warn_of_open_vocabulary(subject.model);

    std::map<std::string, int64_t> groups;
    for (const ParameterCost& cost : costs) groups[cost.part] += cost.count();
    const auto letters = letter_sizes(subject.model);

    if (globals.json) {
      Json json;
      json["config"] = config_to_json(subject.model);
      if (!subject.tokenizer.empty()) json["tokenizer"] = subject.tokenizer;
      json["letters"] = Json::object();
      for (const auto& [letter, value] : letters) json["letters"][letter] = value;
      json["parameters"] = {{"total", total}, {"groups", groups}, {"tensors", Json::array()}};
      for (const ParameterCost& cost : costs)
        json["parameters"]["tensors"].push_back({{"name", cost.name},
                                                 {"letters", cost.letters},
                                                 {"shape", cost.shape},
                                                 {"copies", cost.copies},
                                                 {"count", cost.count()}});
      json["memory_bytes"] = {{"batch_size", batch_size},
                              {"context", tokens},
                              {"dtype", globals.dtype},
                              {"weights", static_cast<double>(total * bytes)},
                              {"kv_cache", cache},
                              {"kv_cache_per_token", kv_cache_bytes(subject.model, 1, 1, bytes)},
                              {"training",
                               {{"weights", training.weights},
                                {"gradients", training.gradients},
                                {"optimizer", training.optimizer},
                                {"activations_estimate", training.activations},
                                {"total", training.total()}}}};
      json["flops_per_token"] = {
          {"context", tokens}, {"forward", forward}, {"training", 3 * forward}};
      out() << json.dump(2) << '\n';
      return kDone;
    }

    const bool all = !parameters && !memory && !flops;
    if (all || parameters) {
      out() << model_type(subject.model) << ": "
            << std::visit([](const auto& model) { return summary(model); }, subject.model) << '\n';
      if (!subject.tokenizer.empty()) out() << "tokenizer: " << subject.tokenizer << '\n';
      std::vector<std::string> legend;
      for (const auto& [letter, value] : letters)
        legend.push_back(letter + " " + with_thousands(value));
      out() << join(legend, "  ") << "\n\n";
      Table table({"parameter", "shape", "sizes", "copies", "numbers", "share"});
      for (const ParameterCost& cost : costs) {
        const double percent = 100.0 * static_cast<double>(cost.count()) /
                               static_cast<double>(std::max<int64_t>(total, 1));
        table.add({cost.name, cost.letters, shape_text(cost.shape), std::to_string(cost.copies),
                   with_thousands(cost.count()), fixed(percent, 1) + "%"});
      }
      table.print(out());
      out() << "\nparameters: " << with_thousands(total) << " ("
            << with_thousands(total - groups["embedding"] - groups["position"])
            << " without embeddings)\n";
    }
    if (all || memory) {
      const std::string size = cat("batch ", batch_size, ", ", with_thousands(tokens), " tokens");
      out() << (all ? "\n" : "");
      Table table({"memory", "", ""});
      table.add({"weights", human_bytes(static_cast<double>(total * bytes)), globals.dtype});
      if (cache > 0)
        table.add({"KV cache", human_bytes(cache),
                   cat(size, ", ", globals.dtype, "; ",
                       human_bytes(kv_cache_bytes(subject.model, 1, 1, bytes)), " a token")});
      table.add({"to train: weights", human_bytes(training.weights), "float32"});
      table.add({"to train: gradients", human_bytes(training.gradients), "float32"});
      table.add({"to train: optimizer", human_bytes(training.optimizer),
                 cat(type_of(subject.optimizer), ", float32")});
      table.add(
          {"to train: activations", human_bytes(training.activations), cat(size, "; an estimate")});
      table.add({"to train: sum", human_bytes(training.total()), ""});
      table.print(out());
    }
    if (all || flops)
      out() << (all ? "\n" : "") << "FLOPs a token at " << with_thousands(tokens)
            << " tokens of context: forward " << human_count(forward) << ", training "
            << human_count(3 * forward) << '\n';
    return kDone;
  }

  // ---- tensors -------------------------------------------------------------------------------

  int list_tensors(const GlobalOptions& globals, const fs::path& path) {
    if (target.empty())
      throw ConfigError("inspect: --tensors needs a folder or a .safetensors file; name it first");
    if (!fs::exists(path))
      throw DataError(cat(target,
                          ": no such folder or file; --tensors reads weights, so name a run, a "
                          "checkpoint or a .safetensors file"));
    if (path.extension() == ".safetensors") return print_tensors(globals, SafetensorsFile(path));
    if (!fs::is_directory(path))
      throw DataError(cat(target, ": holds no tensors; name a folder or a .safetensors file"));
    return print_tensors(globals, WeightFiles(resolve_checkpoint(path)));
  }

  static std::vector<std::string> names_of(const SafetensorsFile& file) {
    std::vector<std::string> names;
    for (const auto& [name, info] : file.tensors()) names.push_back(name);
    return names;
  }
  static std::vector<std::string> names_of(const WeightFiles& files) { return files.names(); }
  static const TensorInfo& info_of(const SafetensorsFile& file, const std::string& name) {
    return file.tensors().at(name);
  }
  static const TensorInfo& info_of(const WeightFiles& files, const std::string& name) {
    return files.info(name);
  }

  int print_tensors(const GlobalOptions& globals, const auto& files) const {
    std::vector<std::string> header = {"tensor", "dtype", "shape", "bytes"};
    if (stats) header.insert(header.end(), {"mean", "std", "min", "max", "not finite"});
    Table table(header);
    Json json = Json::array();
    int64_t count = 0, bytes = 0, found = 0;
    for (const std::string& name : names_of(files)) {
      if (!matches_pattern(name, *tensors)) continue;
      const TensorInfo& info = info_of(files, name);
      int64_t numbers = 1;
      for (const int64_t size : info.shape) numbers *= size;
      ++found;
      count += numbers;
      const auto tensor_bytes = static_cast<int64_t>(info.end - info.begin);
      bytes += tensor_bytes;
      std::vector<std::string> row = {name, dtype_name(info.dtype), shape_text(info.shape),
                                      with_thousands(tensor_bytes)};
      Json entry{{"name", name},
                 {"dtype", dtype_name(info.dtype)},
                 {"shape", info.shape},
                 {"bytes", tensor_bytes}};
      if (stats && numbers > 0) {
        const at::Tensor values = files.tensor(name).to(torch::kFloat64).flatten();
        const double mean = values.mean().template item<double>();
        const double deviation = values.var(/*unbiased=*/false).sqrt().template item<double>();
        const double low = values.min().template item<double>(),
                     high = values.max().template item<double>();
        const auto odd = values.isfinite().logical_not().sum().template item<int64_t>();
        for (const double value : {mean, deviation, low, high}) row.push_back(cat(value));
        row.push_back(std::to_string(odd));
        entry["mean"] = mean;
        entry["std"] = deviation;
        entry["min"] = low;
        entry["max"] = high;
        entry["not_finite"] = odd;
      }
      table.add(row);
      json.push_back(entry);
    }
    if (found == 0)
      throw ConfigError(cat("--tensors: no tensor of ", target, " fits \"", *tensors,
                            "\"; leave the pattern out to see all names"));
    if (globals.json) {
      out() << json.dump(2) << '\n';
      return kDone;
    }
    table.print(out());
    out() << "\n"
          << found << " tensors, " << with_thousands(count) << " numbers, "
          << human_bytes(static_cast<double>(bytes)) << '\n';
    return kDone;
  }
};

}  // namespace

Command inspect_command() {
  return make_command<Inspect>(
      "inspect", "Layers, shapes, parameters, memory and FLOPs of a model; tensors of a file");
}

}  // namespace zoo::cli
