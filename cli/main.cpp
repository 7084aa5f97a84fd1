// transformer-cli: reads the flags, runs one command, turns errors into exit codes.

#include <torch/version.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <new>
#include <random>

#include "cli/command.h"
#include "core/files.h"
#include "core/system.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

std::vector<Command> all_commands() {
  return {train_command(),    generate_command(),   translate_command(),       eval_command(),
          score_command(),    fill_mask_command(),  classify_command(),        embed_command(),
          tokenize_command(), detokenize_command(), train_tokenizer_command(), data_command(),
          average_command(),  convert_command(),    inspect_command(),         cost_command(),
          bench_command(),    attention_command(),  verify_command(),          gradnorm_command(),
          compare_command(),  report_command(),     config_command(),          models_command(),
          env_command()};
}

/// What the parser writes before it becomes GlobalOptions.
struct ParsedGlobals {
  GlobalOptions options;
  bool help = false, help_all = false, version = false;
};

/// @param command null: for the program itself
void declare_globals(Flags& flags, ParsedGlobals& parsed, const Command* command) {
  GlobalOptions& options = parsed.options;
  flags.group("Options of every command");
  flags.flag("-h,--help", parsed.help, "print the help");
  flags.flag("--help-all", parsed.help_all, "print the help with the rare options");
  if (command != nullptr) flags.rare();
  if (command == nullptr || command->reads_config) {
    flags.texts("-c,--config", options.config, "FILE",
                "config file; given again, the later one wins");
    flags.texts("--set", options.set, "KEY=VALUE",
                "set a key of the config, such as training.max_steps=100; wins over files");
  }
  flags.text("--device", options.device, "auto|cpu|cuda[:i]",
             "where tensors live; auto: the first GPU, else the CPU");
  flags.number("-t,--threads", options.threads, between(1, 1024),
               "CPU threads; default: OMP_NUM_THREADS, else one for each core");
  flags.number("--seed", options.seed, at_least(-1),
               "seed of everything random; -1: a random one, printed");
  if (!flags.has("--dtype"))  // convert has one that means the file's, cost any format
    flags.choice("--dtype", options.dtype, {"float32", "bfloat16"},
                 "number format of the weights in use");
  flags.flag("--deterministic", options.deterministic,
             "refuse operations whose results can vary from run to run");
  flags.choice("--log-level", options.log_level, {"error", "warn", "info", "debug"},
               "messages to print");
  flags.text("--log-file", options.log_file, "FILE", "append all messages to this file too");
  flags.flag("-q,--quiet", options.quiet, "print errors only (results are printed all the same)");
  flags.flag("-v,--verbose", options.verbose, "print debug messages too");
  flags.flag("--no-progress", options.no_progress, "no progress lines");
  flags.choice("--color", options.color, {"auto", "always", "never"},
               "colour messages; auto: on a terminal, unless NO_COLOR is set");
  flags.flag("--json", options.json, "print the result as JSON");
  flags.flag("--version", parsed.version, "print the version");
}

/// Refuses --config and --set, before or after the command's name, where they would change nothing.
void require_no_config(const Command& command, const GlobalOptions& options, const CLI::App& part) {
  std::vector<std::string> given = part.remaining();
  if (!options.config.empty()) given.emplace_back("--config");
  if (!options.set.empty()) given.emplace_back("--set");
  for (const std::string& argument : given) {
    const std::string flag = argument.substr(0, argument.find('='));
    if (flag == "-c" || flag == "--config" || flag == "--set")
      throw ConfigError(cat(flag, ": ", command.name,
                            " reads no config, so it would change nothing; leave it out: what a "
                            "model is stands in its folder, and the rest is said by flags (",
                            command.name, " --help)"));
  }
}

void require_device_name(const std::string& text) {
  const std::string index = text.starts_with("cuda:") ? text.substr(5) : "0";
  const bool is_index = !index.empty() && index.size() <= 3 &&
                        index.find_first_not_of("0123456789") == std::string::npos;
  if (text != "auto" && text != "cpu" && text != "cuda" && !(text.starts_with("cuda:") && is_index))
    throw ConfigError(
        cat("--device: \"", text, "\" is refused; allowed: auto, cpu, cuda, cuda:0, cuda:1, …"));
}

/// Applies the options that concern the whole process, and resolves the seed.
void start(GlobalOptions& globals) {
  if (globals.quiet && globals.verbose)
    throw ConfigError("--quiet and --verbose contradict each other; give one of them");
  require_device_name(globals.device);
  static const std::map<std::string, LogLevel> levels{{"error", LogLevel::error},
                                                      {"warn", LogLevel::warn},
                                                      {"info", LogLevel::info},
                                                      {"debug", LogLevel::debug}};
  static const std::map<std::string, ColorMode> colors{
      {"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}};
  ConsoleOptions console;
  console.level = globals.quiet     ? LogLevel::error
                  : globals.verbose ? LogLevel::debug
                                    : levels.at(globals.log_level);
  console.progress = !globals.no_progress;
  console.color = colors.at(globals.color);
  configure_console(console);
  if (!globals.log_file.empty()) add_log_file(utf8_path(globals.log_file));
  if (globals.seed == -1) {
    globals.seed = std::random_device{}();
    log_info("seed ", globals.seed);
  }
}

int run(const std::string& command_line, std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.insert(arguments.begin() + (arguments.empty() ? 0 : 1), "--help");
  }
  CLI::App app("Trains, runs and examines sequence models.", "transformer-cli");
  app.set_help_flag();
  app.option_defaults()->always_capture_default(false);
  app.get_formatter()->column_width(36);
  app.allow_extras();
  app.require_subcommand(0, 1);

  ParsedGlobals parsed;
  parsed.options.command_line = command_line;
  Flags app_flags(app);
  declare_globals(app_flags, parsed, nullptr);
  app_flags.example("what a command does, and its flags", "transformer-cli inspect --help");
  app_flags.example("what there is to choose from", "transformer-cli models");

  const std::vector<Command> commands = all_commands();
  std::vector<std::pair<CLI::App*, Flags>> parts;
  std::vector<std::string> names;
  for (const Command& command : commands) {
    CLI::App* part = app.add_subcommand(command.name, command.summary);
    part->set_help_flag();
    part->allow_extras();
    part->group("Commands");
    parts.emplace_back(part, Flags(*part));
    command.declare(parts.back().second);
    declare_globals(parts.back().second, parsed, &command);
    names.push_back(command.name);
  }

  accept_underscores(arguments, app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    throw ConfigError(cat(text.substr(0, text.find(':')), ": needs a value; see --help"));
  } catch (const CLI::ParseError& error) {
    throw ConfigError(error.what());
  }

  for (size_t i = 0; i < parts.size(); ++i) {
    auto& [part, flags] = parts[i];
    if (!part->parsed()) continue;
    if (parsed.help || parsed.help_all) {
      out() << help_text(*part, flags, parsed.help_all);
      return kDone;
    }
    require_clean_parse(app);
    if (!commands[i].reads_config) require_no_config(commands[i], parsed.options, *part);
    require_clean_parse(*part);
    parsed.options.seed_given = app.count("--seed") + part->count("--seed") > 0;
    start(parsed.options);
    return commands[i].run(parsed.options);
  }
  if (parsed.version) {
    out() << "transformer-cli " ZOO_VERSION " (LibTorch " TORCH_VERSION ")\n";
    return kDone;
  }
  const std::vector<std::string> rest = app.remaining();
  if (!rest.empty() && !rest.front().starts_with('-')) {
    const std::string guess = nearest(rest.front(), names);
    throw ConfigError(cat("unknown command \"", rest.front(), "\"",
                          guess.empty() ? "" : cat("; did you mean \"", guess, "\"?"),
                          guess.empty() ? "; " : " ", "commands: ", join(names, ", ")));
  }
  require_clean_parse(app);
  out() << help_text(app, app_flags, true);
  return kDone;
}

/// As one types it into a shell.
std::string shell_quoted(const std::string& argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// Runs, reports what went wrong in one line, and gives the exit code.
int run_and_report(const std::string& command_line, std::vector<std::string> arguments) {
  const auto report = [](ExitCode code, std::string_view message) {
    log(LogLevel::error, message);
    return code;
  };
  try {
    try {
      const int code = run(command_line, std::move(arguments));
      out().flush();
      return code;
    } catch (const OutputClosed&) {
      throw;
    } catch (...) {
      // Results made before the failure stand before its message.
      if (out().good()) out().flush();
      throw;
    }
  } catch (const OutputClosed&) {
    return kDone;
  } catch (const ConfigError& error) {
    return report(kUsage, error.what());
  } catch (const DataError& error) {
    return report(kData, error.what());
  } catch (const NumericError& error) {
    return report(kNumeric, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return report(kData, error.what());
  } catch (const std::bad_alloc&) {
    return report(kFailed, "out of memory; use a smaller batch, context or model");
  } catch (const std::exception& error) {
    // LibTorch's errors carry a stack trace after the first line.
    const std::string message = first_line(error.what());
    const bool memory = message.find("out of memory") != std::string::npos ||
                        message.find("can't allocate memory") != std::string::npos;
    return report(kFailed,
                  memory ? cat(message, "; use a smaller batch, context or model") : message);
  }
}

}  // namespace
}  // namespace zoo::cli

int main(int argc, char** argv) {
  // A closed pipe is seen as a failed write, so that files in the making can still be finished.
  // So is a file that outgrows the limit of its size.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  zoo::keep_freed_memory();
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  std::string command_line = "transformer-cli";
  for (const std::string& argument : arguments)
    command_line += " " + zoo::cli::shell_quoted(argument);
  return zoo::cli::run_and_report(command_line, std::move(arguments));
}
