// docs/tour.md: every command runs as it stands there, prints what stands there but for its
// numbers, and draws the pictures that are shown.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/run_cli.h"

namespace zoo {
namespace {

using testing::CliResult;
using testing::run_shell;

struct Shown {
  std::string command;
  std::vector<std::string> output;  ///< lines that must come in this order; others may lie between
};

struct Tour {
  std::vector<Shown> commands;
  std::vector<std::pair<std::string, std::string>> pictures;  ///< what draws it, its copy in docs
  int experiments = 0;
};

/// Commands stand after "$ " in blocks called console, their output below them; a picture is
/// ![the file that a command writes](its copy).
Tour read_tour() {
  Tour tour;
  bool console = false, continued = false;
  for_each_line(read_file(fs::path(ZOO_SOURCE_DIR) / "docs/tour.md"), [&](std::string_view text) {
    const std::string line(text);
    if (line.starts_with("```")) {
      console = line == "```console";
    } else if (console && (continued || line.starts_with("$ "))) {
      if (!continued) tour.commands.emplace_back();
      tour.commands.back().command += continued ? line : line.substr(2);
      continued = line.ends_with('\\');
      if (continued) tour.commands.back().command.pop_back();
    } else if (console && line != "…") {
      tour.commands.back().output.push_back(line);
    } else if (line.starts_with("## ")) {
      tour.experiments += std::isdigit(static_cast<unsigned char>(line[3])) != 0;
    } else if (line.starts_with("![")) {
      const size_t middle = line.find("](");
      tour.pictures.emplace_back(line.substr(2, middle - 2),
                                 line.substr(middle + 2, line.size() - middle - 3));
    }
  });
  return tour;
}

/// The words of a line, each number with its unit as #: another machine rounds and times otherwise.
std::string without_numbers(const std::string& line) {
  std::string words;
  for (size_t i = 0; i < line.size(); ++i) {
    const auto digit = [&](size_t at) {
      return at < line.size() && std::isdigit(static_cast<unsigned char>(line[at])) != 0;
    };
    if (line[i] == ' ' || line[i] == '\t') {
      if (!words.empty() && words.back() != ' ') words += ' ';
    } else if (digit(i) || (line[i] == '-' && digit(i + 1))) {
      while (i < line.size() && (digit(i) || std::string_view("-+.,e").find(line[i]) < 5)) ++i;
      --i;
      words += '#';
    } else {
      words += line[i];
    }
  }
  if (words.ends_with(' ')) words.pop_back();
  static const std::regex unit("# (ns|µs|ms|s|[kMGTPE]|[kMGTP]?B)(?= |$)");
  return std::regex_replace(words, unit, "#");
}

TEST(Tour, RunsAsItStands) {
  const Tour tour = read_tour();
  EXPECT_EQ(tour.experiments, 8);
  const testing::TempFolder folder;
  for (const char* name : {"configs", "weights"})
    fs::create_directory_symlink(fs::path(ZOO_SOURCE_DIR) / name, folder / name);
  for (const Shown& shown : tour.commands) {
    SCOPED_TRACE(shown.command);
    const CliResult result = run_shell(shown.command, "", folder.path());
    ASSERT_EQ(result.code, 0) << result.err;
    std::vector<std::string> found = result.lines();
    std::ranges::transform(found, found.begin(), without_numbers);
    auto place = found.begin();
    for (const std::string& line : shown.output) {
      const auto at = std::find(place, found.end(), without_numbers(line));
      ASSERT_NE(at, found.end()) << "not printed: " << line << "\nprinted:\n" << result.out;
      place = at + 1;
    }
  }
  EXPECT_GE(tour.pictures.size(), 8);
  for (const auto& [drawn, copy] : tour.pictures) {
    for (const fs::path& picture : {folder / drawn, fs::path(ZOO_SOURCE_DIR) / "docs" / copy}) {
      ASSERT_TRUE(fs::exists(picture)) << picture;
      EXPECT_TRUE(read_file(picture).starts_with("<svg")) << picture;
    }
  }
}

}  // namespace
}  // namespace zoo
