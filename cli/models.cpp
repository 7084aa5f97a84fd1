// transformer-cli models: what there is to choose from, with config keys and papers. The list is
// walked from the configs themselves.

#include "cli/command.h"
#include "core/config.h"
#include "core/text.h"
#include "models/cost.h"
#include "training/config.h"

namespace zoo::cli {
namespace {

struct Models {
  void declare(Flags& flags) {
    flags.example("models, presets and parts", "transformer-cli models");
    flags.example("the same for a program", "transformer-cli models --json");
  }

  int run(const GlobalOptions& globals) {
    const std::vector<AlternativeDoc> alternatives = describe_variants(ProjectConfig{});
    if (globals.json) {
      Json json{{"choices", Json::array()}, {"presets", Json::array()}};
      for (const AlternativeDoc& doc : alternatives)
        json["choices"].push_back({{"slot", doc.slot},
                                   {"name", doc.name},
                                   {"default", doc.is_default},
                                   {"keys", doc.keys},
                                   {"about", doc.about}});
      for (const std::string& name : GptConfig::preset_names())
        json["presets"].push_back({{"model", "gpt"},
                                   {"preset", name},
                                   {"config", config_to_json(GptConfig::preset(name))}});
      out() << json.dump(2) << '\n';
      return kDone;
    }
    std::string slot;
    for (const AlternativeDoc& doc : alternatives) {
      if (doc.slot != slot) {
        out() << (slot.empty() ? "" : "\n") << doc.slot << '\n';
        slot = doc.slot;
      }
      out() << "  " << doc.name << (doc.is_default ? " (default)" : "") << ": " << doc.about
            << '\n';
      if (!doc.keys.empty()) out() << "    keys: " << join(doc.keys, ", ") << '\n';
    }
    out() << "\npresets of the model \"gpt\", as in \"model\": {\"type\": \"gpt\", \"preset\": "
             "\"gpt2\"}\n";
    Table table({"preset", "parameters", "layers", "d_model", "heads", "kv heads", "context",
                 "vocabulary"});
    for (const std::string& name : GptConfig::preset_names()) {
      const GptConfig config = GptConfig::preset(name);
      const AttentionConfig& attention = config.block.attention;

      table.add({name,
                 with_thousands(parameter_count(config)) + (config.vocab_size == 0 ? " + V D" : ""),
                 std::to_string(config.num_layers), std::to_string(config.d_model),
                 std::to_string(attention.num_heads), std::to_string(attention.kv_heads()),
                 with_thousands(config.max_length),
                 config.vocab_size == 0 ? "the tokenizer's" : with_thousands(config.vocab_size)});
    }
    table.print(out());
    return kDone;
  }
};

}  // namespace

Command models_command() {
  return make_command<Models>(
      "models", "Models, presets and parts to choose from, with config keys and papers");
}

}  // namespace zoo::cli
