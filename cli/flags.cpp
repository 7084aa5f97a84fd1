#include "cli/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

std::vector<std::string> names_of(const std::string& names) {
  std::vector<std::string> parts = split(names, ',');
  for (std::string& part : parts)
    if (part.front() == '!') part.erase(0, 1);
  return parts;
}

bool is_positional(const std::string& name) { return name.front() != '-'; }

/// The name for messages: the first long one, else the first.
std::string spoken_name(const std::string& names) {
  const std::vector<std::string> parts = names_of(names);
  for (const std::string& part : parts)
    if (part.starts_with("--")) return part;
  return parts.front();
}

std::string nearest_number(double value, const Bound& bound, bool integer) {
  const bool below = !(value > bound.low) && (bound.low_open || value < bound.low);
  const double edge = below ? bound.low : bound.high;
  const bool open = below ? bound.low_open : bound.high_open;
  if (!open) return cat("; nearest allowed: ", edge);
  if (integer) return cat("; nearest allowed: ", below ? edge + 1 : edge - 1);
  return cat("; nearest allowed: just ", below ? "above " : "below ", edge);
}

template <class T>
T parse_number(const std::string& flag, const std::string& text, const Bound& bound) {
  constexpr bool kInteger = std::is_integral_v<T>;
  const std::string allowed =
      cat(kInteger ? "an integer" : "a number", bound.text().empty() ? "" : " ", bound.text());
  T value{};
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range)
    throw ConfigError(cat(flag, ": ", text, " is out of range; allowed: ", allowed));
  if (error != std::errc() || rest != end ||
      (!kInteger && !std::isfinite(static_cast<double>(value))))
    throw ConfigError(cat(flag, ": \"", text, "\" is not ",
                          kInteger ? "an integer" : "a finite number", "; allowed: ", allowed));
  if (!bound.holds(static_cast<double>(value)))
    throw ConfigError(cat(flag, ": ", text, " is refused; allowed: ", allowed,
                          nearest_number(static_cast<double>(value), bound, kInteger)));
  return value;
}

std::string parse_choice(const std::string& flag, const std::string& text,
                         const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return text;
  const std::string guess = nearest(text, allowed);
  throw ConfigError(cat(flag, ": \"", text, "\" is refused; allowed: ", join(allowed, ", "),
                        guess.empty() ? "" : "; did you mean \"" + guess + "\"?"));
}

std::string with_bound(const std::string& help, const Bound& bound) {
  return bound.text().empty() ? help : cat(help, " (", bound.text(), ")");
}

std::string default_text(double value) { return cat(value); }
std::string default_text(int64_t value) { return cat(value); }

}  // namespace

CLI::Option* Flags::add(const std::string& names, const std::string& placeholder,
                        const std::string& help,
                        std::function<void(const std::string&, const std::string&)> read) {
  const std::string flag = spoken_name(names);
  CLI::callback_t callback = [read = std::move(read), flag](const CLI::results_t& results) {
    read(flag, results.back());
    return true;
  };
  return app_.add_option(names, std::move(callback), help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name(placeholder)
      ->group(group_);
}

void Flags::describe(const std::string& text) {
  app_.description(app_.get_description() + "\n\n" + text);
}

void Flags::example(const std::string& purpose, const std::string& command_line) {
  examples_.emplace_back(purpose, command_line);
}

bool Flags::has(const std::string& name) const { return app_.get_option_no_throw(name) != nullptr; }

void Flags::flag(const std::string& names, bool& value, const std::string& help) {
  app_.add_flag_function(
          names, [&value](std::int64_t count) { value = count > 0; }, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(group_);
}

void Flags::flag(const std::string& names, std::optional<bool>& value, const std::string& help) {
  app_.add_flag_function(
          names, [&value](std::int64_t count) { value = count > 0; }, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->group(group_);
}

void Flags::text(const std::string& names, std::string& value, const std::string& placeholder,
                 const std::string& help) {
  CLI::Option* option =
      add(names, placeholder, help,
          [&value](const std::string&, const std::string& text) { value = text; });
  if (!value.empty()) option->default_str(value);
}

void Flags::text(const std::string& names, std::optional<std::string>& value,
                 const std::string& placeholder, const std::string& help) {
  add(names, placeholder, help,
      [&value](const std::string&, const std::string& text) { value = text; });
}

void Flags::optional_text(const std::string& names, std::optional<std::string>& value,
                          const std::string& placeholder, const std::string& implied,
                          const std::string& help) {
  // Without a value CLI11 hands over "" or, in later releases, "true".
  add(names, cat("[", placeholder, "]"), help,
      [&value, implied](const std::string&, const std::string& text) {
        value = text.empty() || text == "true" ? implied : text;
      })
      ->expected(0, 1);
}

void Flags::texts(const std::string& names, std::vector<std::string>& values,
                  const std::string& placeholder, const std::string& help) {
  const std::vector<std::string> parts = names_of(names);
  const bool positional = std::any_of(parts.begin(), parts.end(), is_positional);
  CLI::callback_t callback = [&values](const CLI::results_t& results) {
    values.insert(values.end(), results.begin(), results.end());
    return true;
  };
  app_.add_option(names, std::move(callback), help)
      ->expected(-1)
      ->allow_extra_args(positional)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(placeholder)
      ->group(group_);
}

void Flags::number(const std::string& names, int64_t& value, const Bound& bound,
                   const std::string& help) {
  add(names, "N", with_bound(help, bound),
      [&value, bound](const std::string& flag, const std::string& text) {
        value = parse_number<int64_t>(flag, text, bound);
      })
      ->default_str(default_text(value));
}

void Flags::number(const std::string& names, double& value, const Bound& bound,
                   const std::string& help) {
  add(names, "X", with_bound(help, bound),
      [&value, bound](const std::string& flag, const std::string& text) {
        value = parse_number<double>(flag, text, bound);
      })
      ->default_str(default_text(value));
}

void Flags::number(const std::string& names, std::optional<int64_t>& value, const Bound& bound,
                   const std::string& help) {
  add(names, "N", with_bound(help, bound),
      [&value, bound](const std::string& flag, const std::string& text) {
        value = parse_number<int64_t>(flag, text, bound);
      });
}

void Flags::number(const std::string& names, std::optional<double>& value, const Bound& bound,
                   const std::string& help) {
  add(names, "X", with_bound(help, bound),
      [&value, bound](const std::string& flag, const std::string& text) {
        value = parse_number<double>(flag, text, bound);
      });
}

void Flags::numbers(const std::string& names, std::vector<int64_t>& values, const Bound& bound,
                    const std::string& help) {
  CLI::Option* option = add(names, "N,N", with_bound(help, bound),
                            [&values, bound](const std::string& flag, const std::string& text) {
                              values.clear();
                              for (const std::string& part : split(text, ','))
                                values.push_back(parse_number<int64_t>(flag, part, bound));
                            });
  std::vector<std::string> defaults;
  for (const int64_t value : values) defaults.push_back(default_text(value));
  if (!values.empty()) option->default_str(join(defaults, ","));
}

void Flags::choice(const std::string& names, std::string& value,
                   const std::vector<std::string>& allowed, const std::string& help) {
  add(names, join(allowed, "|"), help,
      [&value, allowed](const std::string& flag, const std::string& text) {
        value = parse_choice(flag, text, allowed);
      })
      ->default_str(value);
}

void Flags::choice(const std::string& names, std::optional<std::string>& value,
                   const std::vector<std::string>& allowed, const std::string& help) {
  add(names, join(allowed, "|"), help,
      [&value, allowed](const std::string& flag, const std::string& text) {
        value = parse_choice(flag, text, allowed);
      });
}

void Flags::choices(const std::string& names, std::vector<std::string>& values,
                    const std::vector<std::string>& allowed, const std::string& help) {
  add(names, join(allowed, ","), help,
      [&values, allowed](const std::string& flag, const std::string& text) {
        values.clear();
        for (const std::string& part : split(text, ','))
          values.push_back(parse_choice(flag, part, allowed));
      });
}

void require_clean_parse(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    const std::vector<std::string>& results = option->results();
    if (option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll) continue;
    for (const std::string& result : results)
      if (result != results.front())
        throw ConfigError(cat(option->get_name(), ": given more than once, as \"", results.front(),
                              "\" and \"", result, "\"; give it once"));
  }
  const std::vector<std::string> rest = app.remaining();
  if (rest.empty()) return;
  const std::string help = cat("`", app.get_parent() ? "transformer-cli " : "", app.get_name(),
                               " --help` lists the flags");
  const std::string found = rest.front().substr(0, rest.front().find('='));
  if (!found.starts_with('-') || found == "-")
    throw ConfigError(cat("unexpected argument \"", rest.front(), "\"; ", help));
  const std::string guess = nearest(found, known);
  throw ConfigError(cat("unknown flag ", found,
                        guess.empty() ? "; " : cat("; did you mean ", guess, "? "), help));
}

std::string help_text(CLI::App& app, const Flags& flags, bool with_rare) {
  std::string hidden;
  if (!with_rare)
    for (CLI::Option* option : app.get_options())
      if (option->get_group() == Flags::kRare) {
        hidden += " " + option->get_name();
        option->group("");  // hides it, and its name
      }
  std::string text = app.help(app.get_parent() ? app.get_parent()->get_name() : "");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  text += '\n';
  if (!hidden.empty()) text += "\n--help-all explains these too:" + hidden + "\n";
  if (!flags.examples().empty()) text += "\nExamples:\n";
  for (const auto& [purpose, command_line] : flags.examples())
    text += cat("  # ", purpose, "\n  ", command_line, "\n");
  return text;
}

void accept_underscores(std::vector<std::string>& arguments, const CLI::App& app) {
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    const size_t end = std::min(argument.find('='), argument.size());
    if (!argument.starts_with("--") || argument.substr(0, end).find('_') == std::string::npos)
      continue;
    std::string name = argument.substr(0, end);
    std::replace(name.begin(), name.end(), '_', '-');
    const auto takes = [&](const CLI::App* part) {
      return part->get_option_no_throw(name) != nullptr;
    };
    const auto parts = app.get_subcommands([](const CLI::App*) { return true; });
    if (takes(&app) || std::any_of(parts.begin(), parts.end(), takes))
      argument.replace(0, end, name);
  }
}

}  // namespace zoo::cli
