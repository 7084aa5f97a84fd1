#include "cli/console.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <mutex>
#include <streambuf>
#include <vector>

#include "core/files.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

constexpr double kRedrawSeconds = 0.1;  // on a terminal
constexpr double kRepeatSeconds = 10;   // elsewhere

/// Buffers standard output and turns failed writes into exceptions.
class StdoutBuffer : public std::streambuf {
 public:
  StdoutBuffer() { setp(buffer_, buffer_ + sizeof buffer_); }

 private:
  int_type overflow(int_type c) override {
    drain();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }
  int sync() override {
    drain();
    return 0;
  }
  void drain() {
    const char* from = pbase();
    const char* const end = pptr();
    setp(buffer_, buffer_ + sizeof buffer_);  // a failed write is not tried again
    while (from < end) {
      const ssize_t written = ::write(STDOUT_FILENO, from, static_cast<size_t>(end - from));
      if (written >= 0) {
        from += written;
      } else if (errno == EPIPE) {
        throw OutputClosed();
      } else if (errno != EINTR) {
        throw DataError(
            cat("standard output: ", std::strerror(errno), "; free space or write elsewhere"));
      }
    }
  }

  char buffer_[1 << 16];
};

struct State {
  std::mutex mutex;
  ConsoleOptions options;
  std::vector<std::ofstream> files;
  std::string live_line;  // what Progress drew last, "" if nothing
};

State& state() {
  static State instance;
  return instance;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void write_stderr(std::string_view text) {
  // Unbuffered and unchecked: nobody can be told that standard error is gone.
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return;
    }
  }
}

std::string time_stamp() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warn:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "?";
}

bool color_on(int descriptor) {
  switch (state().options.color) {
    case ColorMode::always:
      return true;
    case ColorMode::never:
      return false;
    case ColorMode::automatic:
      break;
  }
  const char* no_color = std::getenv("NO_COLOR");  // no-color.org: set and not empty
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && isatty(descriptor) &&
         (term == nullptr || std::string_view(term) != "dumb");
}

constexpr std::string_view kClearLine = "\r\x1b[K";

/// Columns that UTF-8 text takes, one for each code point.
size_t width(std::string_view text) {
  size_t columns = 0;
  for (const char c : text) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return columns;
}

}  // namespace

void configure_console(const ConsoleOptions& options) { state().options = options; }

void add_log_file(const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::app);
  if (!file)
    throw DataError(cat(utf8(path), ": cannot be opened for the log: ", std::strerror(errno),
                        "; choose a file in a folder that exists and can be written"));
  const std::lock_guard lock(state().mutex);
  state().files.push_back(std::move(file));
}

std::ostream& out() {
  struct Stream : std::ostream {
    Stream() : std::ostream(nullptr) {
      rdbuf(&buffer);
      exceptions(badbit);  // pass on what the buffer throws
    }
    StdoutBuffer buffer;
  };
  static Stream stream;
  return stream;
}

bool color_on_stderr() { return color_on(STDERR_FILENO); }
bool color_on_stdout() { return color_on(STDOUT_FILENO); }

void log(LogLevel level, std::string_view message) {
  State& console = state();
  const std::lock_guard lock(console.mutex);
  for (std::ofstream& file : console.files)
    file << time_stamp() << ' ' << level_name(level) << ": " << message << std::endl;
  if (level > console.options.level) return;
  std::string line;
  if (!console.live_line.empty()) line += kClearLine;
  if (level == LogLevel::error || level == LogLevel::warn) {
    const std::string label = cat(level_name(level), ": ");
    line += color_on_stderr()
                ? cat(level == LogLevel::error ? "\x1b[1;31m" : "\x1b[1;33m", label, "\x1b[0m")
                : label;
  }
  line += message;
  line += '\n';
  line += console.live_line;
  write_stderr(line);
}

bool Progress::due() const {
  const ConsoleOptions& options = state().options;
  return options.progress && options.level >= LogLevel::info && now() >= next_;
}

void Progress::show(std::string_view line) {
  if (!due()) return;
  State& console = state();
  const std::lock_guard lock(console.mutex);
  if (isatty(STDERR_FILENO)) {
    next_ = now() + kRedrawSeconds;
    console.live_line = line;
    write_stderr(cat(kClearLine, line));
  } else {
    // The first line comes after a while, so that short steps print none.
    const bool first = next_ == 0;
    next_ = now() + kRepeatSeconds;
    if (!first) write_stderr(cat(line, "\n"));
  }
}

void Progress::finish() {
  State& console = state();
  const std::lock_guard lock(console.mutex);
  if (console.live_line.empty()) return;
  console.live_line.clear();
  write_stderr(kClearLine);
}

void Table::print(std::ostream& out) const {
  std::vector<size_t> widths;
  std::vector<bool> numeric;
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) {
        widths.push_back(0);
        numeric.push_back(true);
      }
      widths[i] = std::max(widths[i], width(row[i]));
      // The header says nothing of its column.
      if (&row != &rows_.front() && !row[i].empty())
        numeric[i] =
            numeric[i] && row[i].find_first_not_of("0123456789,.-+e% ") == std::string::npos;
    }
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      line += numeric[i] ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
}

}  // namespace zoo::cli
