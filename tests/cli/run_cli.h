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

/// @param input standard input
inline CliResult run_cli(const std::vector<std::string>& arguments, const std::string& input = "") {
  const TempFolder folder;
  write_file(folder / "in", input);
  std::string command = shell_quoted(ZOO_BINARY_DIR "/transformer-cli");
  for (const std::string& argument : arguments) command += " " + shell_quoted(argument);
  for (const auto& [stream, name] : {std::pair{"<", "in"}, {">", "out"}, {"2>", "err"}})
    command += cat(" ", stream, shell_quoted(utf8(folder / name)));
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          read_file(folder / "out"), read_file(folder / "err")};
}

}  // namespace zoo::testing
