#pragma once
// Runs the built transformer-cli as a user would. No torch in this header.

#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/text.h"
#include "tests/support/temp_folder.h"

namespace zoo::testing {

struct CliResult {
  int code = 0;
  std::string out, err;

  std::vector<std::string> lines() const {  ///< of standard output
    std::vector<std::string> found;
    for_each_line(out, [&](std::string_view line) { found.emplace_back(line); });
    return found;
  }
};

inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Runs a line of the shell, in which transformer-cli is the built one.
/// @param input standard input
inline CliResult run_shell(const std::string& line, const std::string& input = "",
                           const fs::path& where = ".") {
  const TempFolder folder;
  write_file(folder / "in", input);
  const std::string script = cat("cd ", shell_quoted(utf8(where)),
                                 " || exit\nPATH=", shell_quoted(ZOO_BINARY_DIR), ":$PATH\n", line);
  std::string command = "bash -o pipefail -c " + shell_quoted(script);
  for (const auto& [stream, name] : {std::pair{"<", "in"}, {">", "out"}, {"2>", "err"}})
    command += cat(" ", stream, shell_quoted(utf8(folder / name)));
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          read_file(folder / "out"), read_file(folder / "err")};
}

/// @param input standard input
inline CliResult run_cli(const std::vector<std::string>& arguments, const std::string& input = "",
                         const fs::path& where = ".") {
  std::string line = "exec transformer-cli";
  for (const std::string& argument : arguments) line += " " + shell_quoted(argument);
  return run_shell(line, input, where);
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace zoo::testing
