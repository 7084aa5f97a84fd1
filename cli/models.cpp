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
      for (const ModelPreset& preset : model_presets())
        json["presets"].push_back({{"model", std::string(preset.type)},
                                   {"preset", preset.name},
                                   {"config", config_to_json(preset.config)}});
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
    out() << "\npresets, as in \"model\": {\"type\": \"gpt\", \"preset\": \"gpt2\"}\n";
    Table table({"model", "preset", "parameters", "sizes"});
    for (const ModelPreset& preset : model_presets()) {
      bool open = false;  // a vocabulary is still the tokenizer's
      std::vector<std::string> sizes;
      for (const auto& [letter, size] : letter_sizes(preset.config)) {
        open |= size == 0;
        if (size > 0) sizes.push_back(letter + " " + with_thousands(size));
      }
      table.add({std::string(preset.type), preset.name,
                 with_thousands(parameter_count(preset.config)) + (open ? " + vocabulary" : ""),
                 join(sizes, "  ")});
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
