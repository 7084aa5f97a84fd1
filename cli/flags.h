#pragma once
// How a command declares its flags. One wrapper over CLI11, so that every flag behaves alike:
// numbers have bounds, choices have a list, a refused value is answered with what is allowed and
// what is nearest, a flag given twice with different values is an error.
//
// `names` is CLI11's form: "-n,--max-new-tokens"; a name without dashes is a positional argument
// ("-m,--model,model" is both); "--stream,!--no-stream" is a flag that can be switched off.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace zoo::cli {

class Flags {
 public:
  explicit Flags(CLI::App& app) : app_(app) {}

  /// Longer text under the summary: units, formulas, file formats.
  void describe(const std::string& text);
  /// Heading in --help for the flags declared from here on.
  void group(const std::string& heading) { group_ = heading; }
  /// The flags declared from here on are shown by --help-all only.
  void rare() { group_ = kRare; }
  /// A command line for --help, which a test runs. See tests/cli/examples_test.cpp for the files
  /// that it finds.
  void example(const std::string& purpose, const std::string& command_line);

  /// Whether a flag of this name is declared.
  bool has(const std::string& name) const;

  void flag(const std::string& names, bool& value, const std::string& help);
  /// A switch whose absence means something else than "off".
  void flag(const std::string& names, std::optional<bool>& value, const std::string& help);
  /// @param placeholder stands for the value in the help: "FILE", "DIR", "TEXT"
  void text(const std::string& names, std::string& value, const std::string& placeholder,
            const std::string& help);
  void text(const std::string& names, std::optional<std::string>& value,
            const std::string& placeholder, const std::string& help);
  /// A flag whose value may be left out; then it is `implied`.
  void optional_text(const std::string& names, std::optional<std::string>& value,
                     const std::string& placeholder, const std::string& implied,
                     const std::string& help);
  /// May be given several times; each time with one value (positional: any number of values).
  void texts(const std::string& names, std::vector<std::string>& values,
             const std::string& placeholder, const std::string& help);
  void number(const std::string& names, int64_t& value, const Bound& bound,
              const std::string& help);
  void number(const std::string& names, double& value, const Bound& bound, const std::string& help);
  void number(const std::string& names, std::optional<int64_t>& value, const Bound& bound,
              const std::string& help);
  void number(const std::string& names, std::optional<double>& value, const Bound& bound,
              const std::string& help);
  /// Several of them, with commas between.
  void numbers(const std::string& names, std::vector<int64_t>& values, const Bound& bound,
               const std::string& help);
  void choice(const std::string& names, std::string& value, const std::vector<std::string>& allowed,
              const std::string& help);
  void choice(const std::string& names, std::optional<std::string>& value,
              const std::vector<std::string>& allowed, const std::string& help);
  /// Several of them, with commas between.
  void choices(const std::string& names, std::vector<std::string>& values,
               const std::vector<std::string>& allowed, const std::string& help);

  const std::vector<std::pair<std::string, std::string>>& examples() const { return examples_; }

  static constexpr const char* kRare = "Rare options";

 private:
  CLI::Option* add(const std::string& names, const std::string& placeholder,
                   const std::string& help,
                   std::function<void(const std::string& flag, const std::string& text)> read);

  CLI::App& app_;
  std::string group_ = "Options";
  std::vector<std::pair<std::string, std::string>> examples_;
};

/// Throws ConfigError if an option of `app` was given twice with different values, or if arguments
/// were left over that no option takes; proposes the nearest flag.
void require_clean_parse(const CLI::App& app);

/// The help of a command.
std::string help_text(CLI::App& app, const Flags& flags, bool with_rare);

/// "--max_new_tokens" becomes "--max-new-tokens" if that is a flag of `app`.
void accept_underscores(std::vector<std::string>& arguments, const CLI::App& app);

}  // namespace zoo::cli
