#pragma once
// Files and folders: read whole, map into memory, write so that a kill loses nothing.
// Paths are UTF-8 in messages and on the command line, whatever the locale.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace zoo {

namespace fs = std::filesystem;

/// A path given by a user, in UTF-8.
fs::path utf8_path(std::string_view text);
/// A path for a message or a JSON file, in UTF-8.
std::string utf8(const fs::path& path);

/// The whole file. @throws DataError
std::string read_file(const fs::path& path);

/// Writes `path` aside, syncs it and renames it over the old file: a reader sees the old or the new
/// content, never a part. Missing parent folders are made. @throws DataError (a full disk included)
void write_file(const fs::path& path, std::string_view content);
void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write);

/// Makes a folder complete or not at all: `fill` writes into a folder beside `path`, every file is
/// synced, then it is renamed to `path`, replacing what was there. @throws DataError
void write_folder(const fs::path& path, const std::function<void(const fs::path&)>& fill);

/// Makes `path` a symbolic link to `target`, replacing an older link in one step.
void replace_link(const fs::path& path, const fs::path& target);

/// Checks before the work starts that files can be written into `folder`, making it if needed.
/// @throws DataError: a regular file in its place, a read-only parent, a full disk
void require_writable_folder(const fs::path& folder);

enum class MapAccess {
  read,           ///< writing to the bytes is an error of the program
  copy_on_write,  ///< a page that is written to becomes a private copy; the file never changes
};

/// A file mapped into memory; pages are loaded when touched and can be dropped again.
class MappedFile {
 public:
  /// @throws DataError if it cannot be opened or is not a regular file
  explicit MappedFile(const fs::path& path, MapAccess access = MapAccess::read);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// SHA-256 of some bytes, in lower-case hexadecimal (FIPS 180-4).
std::string sha256(std::string_view bytes);
/// The same of a file, read through a memory map.
std::string sha256_file(const fs::path& path);

}  // namespace zoo
