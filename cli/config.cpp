// transformer-cli config: what a config says, whether it holds, and which keys there are.

#include "core/config.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/project.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

const std::vector<std::string> kActions = {"show", "check",     "explain", "diff",
                                           "list", "reference", "schema"};

std::string escaped(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + escaped(text) + "`"; }

/// "Presets of `gpt`: …", a paragraph for each model.
std::string presets_text() {
  std::string text, type;
  for (const ModelPreset& preset : model_presets()) {
    if (preset.type == type) {
      text += ", ";
    } else {
      type = preset.type;
      text += cat(text.empty() ? "" : ".\n\n", "Presets of `", type, "`: ");
    }
    text += "`" + preset.name + "`";
  }
  return text + ".\n\n";
}

/// Every key as Markdown: docs/config-reference.md.
std::string reference() {
  const ProjectConfig defaults;
  const std::vector<AlternativeDoc> alternatives = describe_variants(defaults);
  const auto alternatives_of = [&](const std::string& slot) {
    std::string text;
    for (const AlternativeDoc& doc : alternatives)
      if (doc.slot == slot)
        text += cat("- `", doc.name, "`", doc.is_default ? " (the default)" : "", ": ", doc.about,
                    "\n");
    return text;
  };
  std::string text =
      "# Config reference\n\n"
      "The output of `transformer-cli config reference`; a test compares the two.\n\n"
      "A config is a JSON file, in which comments are allowed, with the sections `model`, "
      "`tokenizer`, `task` and\n"
      "`training`. What is left out has its default. A key that is not in this list is refused.\n\n"
      "A *variant* is written as its name, `\"norm\": \"rms\"`, or with its keys, `\"norm\": "
      "{\"type\": \"rms\", \"eps\": 1e-5}`.\n"
      "In the tables `norm[rms].eps` is the key `eps` of `norm` when its type is `rms`. A key "
      "`preset` beside `type`\n"
      "fills a model with ready-made values, which the other keys then change.\n";
  for (const FieldDoc& doc : describe_config(defaults)) {
    if (doc.path.find('.') == std::string::npos) {
      text += cat("\n## `", doc.path, "`: ", doc.meaning, "\n\n");
      const std::string choices = alternatives_of(doc.path);
      if (!choices.empty()) text += choices + "\n";
      if (doc.path == "model") text += presets_text();
      text += "| key | type | default | bounds | meaning |\n|---|---|---|---|---|\n";
      continue;
    }
    const bool names = doc.type.starts_with("variant: ") || doc.type.starts_with("one of: ");
    const std::string type = names ? doc.type.substr(0, doc.type.find(':') + 2) +
                                         code(doc.type.substr(doc.type.find(':') + 2))
                                   : doc.type;
    text += cat("| `", doc.path.substr(doc.path.find('.') + 1), "` | ", type, " | ",
                code(doc.fallback), " | ", code(doc.bounds), " | ", escaped(doc.meaning), " |\n");
  }
  text += "\n## The variants\n";
  std::string slot;
  for (const AlternativeDoc& doc : alternatives) {
    if (doc.slot.find('.') == std::string::npos || doc.slot == slot) continue;
    slot = doc.slot;
    text += cat("\n`", slot, "`\n\n", alternatives_of(slot));
  }
  return text;
}

/// "model.block.norm.eps" of "model[gpt].block.norm[rms].eps".
std::string plain_path(const std::string& path) {
  std::string plain;
  bool inside = false;
  for (const char c : path) {
    if (c == '[') inside = true;
    if (!inside) plain += c;
    if (c == ']') inside = false;
  }
  return plain;
}

Json to_json(const FieldDoc& doc) {
  return {{"key", doc.path},
          {"type", doc.type},
          {"default", doc.fallback.empty() ? Json(nullptr) : Json::parse(doc.fallback)},
          {"bounds", doc.bounds},
          {"meaning", doc.meaning}};
}

/// The docs of the key that the user typed and of the keys below it. The last part alone will do
/// when it is the name of a key.
std::vector<FieldDoc> find_keys(const std::string& typed) {
  const std::vector<FieldDoc> docs = describe_config(ProjectConfig{});
  std::vector<FieldDoc> found;
  std::vector<std::string> known;
  for (const FieldDoc& doc : docs) {
    const std::string plain = plain_path(doc.path);
    known.push_back(plain);
    if (doc.path == typed || plain == typed || plain.starts_with(typed + ".") ||
        doc.path.starts_with(typed + "["))
      found.push_back(doc);
  }
  if (!found.empty()) return found;
  for (const FieldDoc& doc : docs)
    if (doc.path.ends_with("." + typed)) found.push_back(doc);
  if (!found.empty()) return found;
  for (const FieldDoc& doc : docs)
    known.push_back(plain_path(doc.path).substr(plain_path(doc.path).rfind('.') + 1));
  const std::string guess = nearest(typed, known);
  throw ConfigError(cat("config explain: unknown key \"", typed, "\"",
                        guess.empty() ? "; " : cat("; did you mean \"", guess, "\"? "),
                        "`transformer-cli config list` prints all keys"));
}

/// A side of `config diff`: a config file, or a run or checkpoint folder.
Json side(const std::string& name) {
  fs::path path = utf8_path(name);
  if (!fs::is_directory(path)) return config_to_json(zoo::read_project({path}));
  const fs::path file = path / "zoo.json";
  if (!fs::exists(file))
    throw DataError(
        cat(name, ": holds no zoo.json; give a config file, a run folder or a checkpoint folder"));
  Json content = read_json_file(file);
  return content.contains("project") ? content["project"] : content;
}

struct Config {
  static constexpr bool kReadsConfig = true;
  std::string action;
  std::vector<std::string> arguments;
  bool reference_flag = false;

  void declare(Flags& flags) {
    flags.describe(
        "show       the whole config, with every default, as JSON\n"
        "check      read configs and say whether they hold; exit 2 if one does not, 3 if it is no "
        "JSON\n"
        "explain    type, default, bounds and meaning of a key and of those below it\n"
        "diff       what differs between two configs, run folders or checkpoint folders\n"
        "list       every key with type and default\n"
        "reference  every key as Markdown (docs/config-reference.md)\n"
        "schema     JSON Schema for editors");
    flags.text("action", action, "ACTION", join(kActions, ", "));
    flags.texts("arguments", arguments, "FILE|KEY", "config files; for explain, keys");
    flags.flag("--reference", reference_flag, "the same as the action `reference`");
    flags.example("the config of a run before it starts",
                  "transformer-cli config show configs/gpt_shakespeare_char.json --set "
                  "training.max_steps=100");
    flags.example("find mistakes",
                  "transformer-cli config check configs/gpt_shakespeare_char.json");
    flags.example("what a key means", "transformer-cli config explain model.block.attention");
    flags.example("how a model was made, against a config",
                  "transformer-cli config diff configs/gpt_shakespeare_char.json "
                  "weights/gpt-shakespeare-char");
    flags.example("completion in an editor", "transformer-cli config schema");
    flags.example("every key", "transformer-cli config list");
  }

  int run(const GlobalOptions& globals) {
    if (reference_flag && action.empty()) action = "reference";
    if (std::find(kActions.begin(), kActions.end(), action) == kActions.end()) {
      const std::string guess = nearest(action, kActions);
      throw ConfigError(
          cat("config: ",
              action.empty() ? "an action is needed" : cat("unknown action \"", action, "\""),
              guess.empty() ? "; " : cat("; did you mean \"", guess, "\"? "),
              "actions: ", join(kActions, ", ")));
    }
    if (action == "show") return show(globals);
    if (action == "check") return check(globals);
    if (action == "explain") return explain(globals);
    if (action == "diff") return diff(globals);
    if (!arguments.empty())
      throw ConfigError(cat("config ", action, ": takes no argument, found \"", arguments.front(),
                            "\"; leave it out"));
    if (action == "list") return list(globals);
    out() << (action == "schema" ? config_schema(ProjectConfig{}).dump(2) + "\n" : reference());
    return kDone;
  }

 private:
  int show(const GlobalOptions& globals) const {
    out() << config_to_json(read_project(globals, arguments)).dump(2) << '\n';
    return kDone;
  }

  int check(const GlobalOptions& globals) const {
    std::vector<std::string> files = globals.config;
    files.insert(files.end(), arguments.begin(), arguments.end());
    if (files.empty())
      throw ConfigError("config check: no config was given; name one or more files");
    size_t bad = 0;
    for (const std::string& file : files) {
      try {
        zoo::read_project({utf8_path(file)}, settings_of(globals));
        out() << file << ": ok\n";
      } catch (const Error& error) {
        if (files.size() == 1) throw;
        log(LogLevel::error, error.what());
        ++bad;
      }
    }
    if (bad > 0)
      throw ConfigError(
          cat(bad, " of ", files.size(), " configs cannot be used; see the messages above"));
    return kDone;
  }

  int explain(const GlobalOptions& globals) const {
    if (arguments.empty())
      throw ConfigError(
          "config explain: no key was given; `transformer-cli config list` prints all keys");
    Json json = Json::array();
    for (const std::string& key : arguments)
      for (const FieldDoc& doc : find_keys(key)) {
        json.push_back(to_json(doc));
        if (globals.json) continue;
        out() << doc.path << "\n  " << doc.meaning << "\n  type: " << doc.type << '\n';
        if (!doc.fallback.empty()) out() << "  default: " << doc.fallback << '\n';
        if (!doc.bounds.empty()) out() << "  bounds: " << doc.bounds << '\n';
      }
    if (globals.json) out() << json.dump(2) << '\n';
    return kDone;
  }

  int diff(const GlobalOptions& globals) const {
    if (arguments.size() != 2)
      throw ConfigError(cat("config diff: needs two configs or folders, found ", arguments.size()));
    const std::vector<ConfigDifference> differences =
        compare_json(side(arguments[0]), side(arguments[1]));
    if (globals.json) {
      Json json = Json::array();
      for (const auto& [key, first, second] : differences)
        json.push_back({{"key", key}, {"first", first}, {"second", second}});
      out() << json.dump(2) << '\n';
      return kDone;
    }
    if (differences.empty()) {
      out() << "no difference\n";
      return kDone;
    }
    Table table({"key", arguments[0], arguments[1]});
    for (const auto& [key, first, second] : differences) table.add({key, first, second});
    table.print(out());
    return kDone;
  }

  static int list(const GlobalOptions& globals) {
    Json json = Json::array();
    Table table({"key", "type", "default", "bounds"});
    for (const FieldDoc& doc : describe_config(ProjectConfig{})) {
      json.push_back(to_json(doc));
      table.add({doc.path, doc.type, doc.fallback, doc.bounds});
    }
    if (globals.json)
      out() << json.dump(2) << '\n';
    else
      table.print(out());
    return kDone;
  }
};

}  // namespace

Command config_command() {
  return make_command<Config>("config",
                              "Show, check, explain and compare configs; every key there is");
}

}  // namespace zoo::cli
