#pragma once
// The terminal. Standard output carries results and nothing else; messages, progress and warnings
// go to standard error and to the log file.

#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace zoo::cli {

enum class LogLevel { error, warn, info, debug };

enum class ColorMode { automatic, always, never };

struct ConsoleOptions {
  LogLevel level = LogLevel::info;
  bool progress = true;  ///< show Progress lines
  ColorMode color = ColorMode::automatic;
};
void configure_console(const ConsoleOptions& options);

/// Writes every message, whatever its level, into this file too, after what it holds. May be called
/// more than once. @throws DataError if it cannot be opened
void add_log_file(const std::filesystem::path& path);

/// Standard output was closed by its reader (`| head`): nothing is left to do.
class OutputClosed : public std::exception {};

/// Standard output, for results. A failed write throws: OutputClosed, or DataError for a full disk.
std::ostream& out();

void log(LogLevel level, std::string_view message);
void log_warning(const auto&... parts) { log(LogLevel::warn, cat(parts...)); }
void log_info(const auto&... parts) { log(LogLevel::info, cat(parts...)); }
void log_debug(const auto&... parts) { log(LogLevel::debug, cat(parts...)); }

/// Progress of one long step on standard error: one line that is redrawn on a terminal, a new line
/// now and then elsewhere. Nothing with --quiet or --no-progress.
class Progress {
 public:
  Progress() = default;
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// True if show() would draw now; ask before making an expensive line.
  bool due() const;
  void show(std::string_view line);
  void finish();  ///< takes the redrawn line away

 private:
  double next_ = 0;  ///< seconds of the steady clock
};

/// Whether standard error or standard output may be coloured.
bool color_on_stderr();
bool color_on_stdout();

/// A table with aligned columns; the first row is the header. Columns of numbers are aligned right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace zoo::cli
