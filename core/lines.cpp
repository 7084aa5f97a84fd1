#include "core/lines.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "core/error.h"
#include "core/files.h"

namespace zoo {

namespace {

bool is_stdin(const std::string& path) { return path.empty() || path == "-"; }

std::unique_ptr<std::istream> open(const std::string& path) {
  if (is_stdin(path)) return nullptr;
  if (fs::is_directory(utf8_path(path)))
    throw DataError(path + ": is a folder; give a text file, or - for standard input");
  auto file = std::make_unique<std::ifstream>(utf8_path(path), std::ios::binary);
  if (!*file) throw DataError(path + ": cannot be opened; check the path and the right to read it");
  return file;
}

}  // namespace

LineReader::LineReader(const std::string& path)
    : name_(is_stdin(path) ? "standard input" : path),
      file_(open(path)),
      stream_(file_ ? *file_ : std::cin) {}

std::optional<std::string> LineReader::next() {
  std::string line;
  if (!std::getline(stream_, line)) {
    if (stream_.bad()) throw DataError(name_ + ": reading failed; check the disk and the file");
    return std::nullopt;
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::string LineReader::rest() {
  std::string text{std::istreambuf_iterator<char>(stream_), {}};
  if (stream_.bad()) throw DataError(name_ + ": reading failed; check the disk and the file");
  return text;
}

}  // namespace zoo
