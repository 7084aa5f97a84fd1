// transformer-cli cost: what a model of any size costs in parameters, arithmetic and memory, and,
// with --measure, what it takes when it is built.

#include "models/cost.h"

#include <algorithm>
#include <map>

#include "analysis/measured_cost.h"
#include "cli/command.h"
#include "cli/model_subject.h"
#include "cli/runtime.h"
#include "core/config.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

std::string percent(double share) { return fixed(100 * share, 1) + "%"; }

/// Numbers of a part of the model, all of them and those in blocks.
struct PartSize {
  std::string name;
  int64_t all = 0, in_blocks = 0;
};

std::vector<PartSize> parts_of(const ModelConfig& model) {
  std::vector<PartSize> parts;
  for (const ParameterCost& cost : parameter_costs(model)) {
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const PartSize& known) { return known.name == cost.part; });
    if (part == parts.end()) part = parts.insert(parts.end(), PartSize{cost.part});
    part->all += cost.count();
    if (cost.name.find('*') != std::string::npos) part->in_blocks += cost.count();
  }
  return parts;
}

/// What sequences of one length cost.
struct LengthCost {
  int64_t tokens = 0;
  ForwardFlops flops;  ///< of a token
  std::optional<GenerationFlops> generation;
  double kept = 0, activations = 0, cache = 0;
  std::vector<KvCacheForm> forms;
  ScoreBytes scores;
};

struct Cost {
  static constexpr bool kReadsConfig = true;
  std::string target;
  std::vector<int64_t> tokens;
  int64_t batch_size = 1, ranks = 1;
  std::string dtype = "float32";
  std::optional<double> parameters;
  bool measure = false;

  void declare(Flags& flags) {
    flags.describe(
        "MODEL is a run, checkpoint or Hugging Face folder, a config file, or a preset. `inspect` "
        "lists what\n"
        "a model is made of; this says what it costs by length, batch, number format and number of "
        "ranks.\n"
        "FLOPs count 2 for a multiply-add of the matrix products, causal attention whole; training "
        "is three\n"
        "forward passes. Bytes are in powers of 1,000. Activations are an estimate (--measure says "
        "how good a\n"
        "one). Explicit weights are softmax(q k^T), which the fused kernel never holds.");
    flags.text("-m,--model,model", target, "MODEL", "what to look at; or give a config with -c");
    flags.numbers("--tokens", tokens, at_least(1),
                  "lengths of a sequence (default: the model's longest); longer ones are worked "
                  "out all the same");
    flags.number("--batch-size,--batch", batch_size, at_least(1), "sequences");
    flags.number("--ranks", ranks, at_least(1), "processes that train together, for ZeRO");
    flags.choice("--dtype", dtype, {"float32", "float16", "bfloat16", "int8"},
                 "number format of weights in use, cache and attention weights; with 16 bits "
                 "activations count 2 bytes too");
    flags.number("--parameters", parameters, positive(),
                 "without a model: the memory of so many parameters, such as 7.5e9");
    flags.flag("--measure", measure,
               "build the model in float32, take a training step of random tokens on the CPU, and "
               "compare");
    flags.example("a published model, with an eighth of the key/value heads",
                  "transformer-cli cost llama2-70b --tokens 4096,100000 --dtype float16");
    flags.example("what training takes on each of 64 ranks",
                  "transformer-cli cost --parameters 7.5e9 --ranks 64");
    flags.example("how far measurement agrees",
                  "transformer-cli cost weights/gpt-shakespeare-char --batch-size 4 --measure");
    flags.example("a preset, changed",
                  "transformer-cli cost gpt2 --set model.block.attention.num_kv_heads=4 --json");
  }

  int run(const GlobalOptions& globals) {
    if (parameters) return report_parameters(globals);
    const ModelSubject subject = find_model(globals, "cost", target);
    const int64_t longest = longest_context(subject.model);
    if (tokens.empty()) tokens = {longest};
    const bool pictures = std::holds_alternative<VitConfig>(subject.model);
    for (const int64_t length : tokens) {
      if (length > longest && measure)
        throw ConfigError(cat("--measure: ", length, " tokens do not fit into the model; allowed: ",
                              "1 to ", longest, ", by --tokens"));
      if (length > longest)
        log_warning("--tokens: ", length, " is more than the model's longest sequence, ", longest,
                    "; its table of positions, if it has one, is not counted longer");
      if (pictures && length != longest)
        throw ConfigError(cat("--tokens: a picture of this model has ", longest,
                              " tokens; leave the flag out, or change the picture's size with "
                              "--set model.image_height=N"));
    }
    warn_of_open_vocabulary(subject.model);
    std::vector<LengthCost> costs;
    for (const int64_t length : tokens) costs.push_back(cost_at(subject.model, length));
    std::vector<MeasuredCost> measured;
    if (measure) {
      start_runtime(globals);
      measured = measure_cost(subject.model, batch_size, tokens.back());
    }
    if (globals.json) {
      out() << to_json(subject.model, costs, measured).dump(2) << '\n';
      return kDone;
    }
    print_parameters(subject.model);
    out() << '\n';
    print_arithmetic(costs);
    out() << '\n';
    print_memory(costs);
    out() << '\n';
    print_training(real(parameter_count(subject.model)));
    if (measure) print_measured(measured);
    return kDone;
  }

 private:
  static double real(int64_t number) { return static_cast<double>(number); }

  int64_t bytes() const { return dtype == "float32" ? 4 : dtype == "int8" ? 1 : 2; }

  LengthCost cost_at(const ModelConfig& model, int64_t length) const {
    const TrainingMemory training = training_memory(
        model, {.batch = batch_size, .tokens = length, .half_precision = bytes() <= 2});
    LengthCost cost{.tokens = length,
                    .flops = forward_flops_by_part(model, length),
                    .kept = training.kept,
                    .activations = training.activations,
                    .cache = kv_cache_bytes(model, batch_size, length, bytes()),
                    .forms = kv_cache_forms(model, batch_size, length, bytes()),
                    .scores = attention_score_bytes(model, batch_size, length, bytes())};
    if (const auto* gpt = std::get_if<GptConfig>(&model))
      cost.generation = generation_flops(*gpt, length);
    return cost;
  }

  // ---- text ----------------------------------------------------------------------------------

  void print_parameters(const ModelConfig& model) const {
    const std::vector<PartSize> parts = parts_of(model);
    const int64_t total = parameter_count(model);
    int64_t in_blocks = 0;
    for (const PartSize& part : parts) in_blocks += part.in_blocks;
    out() << model_type(model) << ": " << with_thousands(total) << " parameters, "
          << exact_bytes(real(total * bytes())) << " in " << dtype << "\n\n";
    Table table({"part", "parameters", "share", "of the blocks"});
    for (const PartSize& part : parts)
      table.add({part.name, with_thousands(part.all),
                 percent(real(part.all) / real(std::max<int64_t>(total, 1))),
                 part.in_blocks > 0 ? percent(real(part.in_blocks) / real(in_blocks)) : ""});
    table.print(out());
  }

  void print_arithmetic(const std::vector<LengthCost>& costs) const {
    const bool writes = costs.front().generation.has_value();
    std::vector<std::string> header = {"tokens", "FLOPs a token", "attention's", "a sequence",
                                       "to train"};
    if (writes) header.insert(header.end(), {"to write, with cache", "without"});
    Table table(header);
    for (const LengthCost& cost : costs) {
      const double token = cost.flops.total(), n = real(cost.tokens);
      std::vector<std::string> row = {with_thousands(cost.tokens), human_count(token),
                                      percent(cost.flops.attention / token), human_count(n * token),
                                      human_count(3 * n * token)};
      if (writes)
        row.insert(row.end(), {human_count(cost.generation->with_cache),
                               human_count(cost.generation->without_cache)});
      table.add(row);
    }
    table.print(out());
  }

  void print_memory(const std::vector<LengthCost>& costs) const {
    out() << "batch " << batch_size << ", " << dtype << '\n';
    std::vector<std::string> header = {"tokens", "activations", "explicit weights, a layer",
                                       "all layers"};
    for (const KvCacheForm& form : costs.front().forms)
      header.push_back(cat(form.own ? "its KV cache, " : "as ", form.name, " of ", form.kv_heads));
    const bool source_only = costs.front().forms.empty() && costs.front().cache > 0;
    if (source_only) header.emplace_back("kept of the source");
    Table table(header);
    for (const LengthCost& cost : costs) {
      std::vector<std::string> row = {with_thousands(cost.tokens), exact_bytes(cost.activations),
                                      exact_bytes(cost.scores.one_layer),
                                      exact_bytes(cost.scores.all_layers)};
      for (const KvCacheForm& form : cost.forms) row.push_back(exact_bytes(form.bytes));
      if (source_only) row.push_back(exact_bytes(cost.cache));
      table.add(row);
    }
    table.print(out());
  }

  struct Precision {
    const char* name;
    StateBytes bytes;
  };
  static constexpr Precision kPrecisions[] = {{"Adam, float32", kFloat32Adam},
                                              {"Adam, mixed 16 bits", kMixedAdam}};

  void print_training(double count) const {
    out() << "to train, activations left out; on each of " << with_thousands(ranks)
          << (ranks == 1 ? " rank" : " ranks") << '\n';
    Table table(
        {"", "weights", "gradients", "optimizer", "replicated", "ZeRO-1", "ZeRO-2", "ZeRO-3"});
    for (const auto& [name, state] : kPrecisions) {
      const ZeroMemory zero = zero_memory(count, ranks, state);
      table.add({name, exact_bytes(count * state.weight), exact_bytes(count * state.gradient),
                 exact_bytes(count * state.optimizer), exact_bytes(zero.replicated),
                 exact_bytes(zero.stage1), exact_bytes(zero.stage2), exact_bytes(zero.stage3)});
    }
    table.print(out());
  }

  int report_parameters(const GlobalOptions& globals) const {
    if (!target.empty() || !globals.config.empty() || !globals.set.empty() || measure ||
        !tokens.empty())
      throw ConfigError(
          "--parameters: stands for a model, so that a model, a config, --tokens and --measure say "
          "nothing beside it; leave one of both out");
    if (globals.json) {
      out() << Json{{"parameters", {{"total", *parameters}}},
                    {"training", training_json(*parameters)}}
                   .dump(2)
            << '\n';
      return kDone;
    }
    out() << human_count(*parameters) << " parameters, " << exact_bytes(*parameters * real(bytes()))
          << " in " << dtype << "\n\n";
    print_training(*parameters);
    return kDone;
  }

  void print_measured(const std::vector<MeasuredCost>& measured) const {
    out() << "\nmeasured in float32 with " << with_thousands(tokens.back()) << " tokens\n";
    Table table({"", "predicted", "measured", "measured / predicted"});
    for (const MeasuredCost& cost : measured) {
      const auto text = [&](double value) {
        return cost.unit == "bytes" ? exact_bytes(value)
                                    : with_thousands(static_cast<int64_t>(value));
      };
      table.add({cost.unit == "FLOPs" ? cost.what + ", FLOPs" : cost.what, text(cost.predicted),
                 text(cost.measured), fixed(cost.ratio(), 3)});
    }
    table.print(out());
  }

  // ---- JSON ----------------------------------------------------------------------------------

  Json training_json(double count) const {
    Json list = Json::array();
    for (const auto& [name, state] : kPrecisions) {
      const ZeroMemory zero = zero_memory(count, ranks, state);
      list.push_back({{"precision", name},
                      {"ranks", ranks},
                      {"weights", count * state.weight},
                      {"gradients", count * state.gradient},
                      {"optimizer", count * state.optimizer},
                      {"replicated", zero.replicated},
                      {"zero_1", zero.stage1},
                      {"zero_2", zero.stage2},
                      {"zero_3", zero.stage3}});
    }
    return list;
  }

  Json to_json(const ModelConfig& model, const std::vector<LengthCost>& costs,
               const std::vector<MeasuredCost>& measured) const {
    const int64_t total = parameter_count(model);
    Json json{{"config", config_to_json(model)},
              {"batch_size", batch_size},
              {"dtype", dtype},
              {"parameters", {{"total", total}, {"bytes", total * bytes()}}},
              {"lengths", Json::array()},
              {"training", training_json(real(total))}};
    for (const PartSize& part : parts_of(model))
      json["parameters"]["parts"][part.name] = {{"all", part.all}, {"in_blocks", part.in_blocks}};
    for (const LengthCost& cost : costs) {
      Json entry{{"tokens", cost.tokens},
                 {"flops_per_token",
                  {{"total", cost.flops.total()},
                   {"embedding", cost.flops.embedding},
                   {"projections", cost.flops.projections},
                   {"attention", cost.flops.attention},
                   {"feed_forward", cost.flops.feed_forward},
                   {"recurrent", cost.flops.recurrent},
                   {"output", cost.flops.output}}},
                 {"flops_forward", real(cost.tokens) * cost.flops.total()},
                 {"flops_training", 3 * real(cost.tokens) * cost.flops.total()},
                 {"activation_bytes_estimate", cost.activations},
                 {"kept_bytes_estimate", cost.kept},
                 {"explicit_weight_bytes",
                  {{"layer", cost.scores.one_layer}, {"all", cost.scores.all_layers}}},
                 {"cache_bytes", cost.cache},
                 {"cache_forms", Json::array()}};
      for (const KvCacheForm& form : cost.forms)
        entry["cache_forms"].push_back({{"form", form.name},
                                        {"kv_heads", form.kv_heads},
                                        {"bytes", form.bytes},
                                        {"own", form.own}});
      if (cost.generation)
        entry["flops_generation"] = {{"with_cache", cost.generation->with_cache},
                                     {"without_cache", cost.generation->without_cache}};
      json["lengths"].push_back(std::move(entry));
    }
    for (const MeasuredCost& cost : measured)
      json["measured"].push_back({{"what", cost.what},
                                  {"unit", cost.unit},
                                  {"predicted", cost.predicted},
                                  {"measured", cost.measured}});
    return json;
  }
};

}  // namespace

Command cost_command() {
  return make_command<Cost>(
      "cost", "Parameters, FLOPs and memory by length, batch and ranks, against measurement");
}

}  // namespace zoo::cli
