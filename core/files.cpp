#include "core/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace zoo {

namespace {

std::string reason() { return std::strerror(errno); }

/// A name beside `path` that no other process uses and no reader takes for complete.
fs::path aside(const fs::path& path) {
  fs::path name = path;
  name += cat(".partial-", ::getpid());
  return name;
}

void sync_path(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw DataError(utf8(path) + ": cannot be opened to sync: " + reason());
  // Some file systems do not support syncing a folder (EINVAL); then the rename is all there is.
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  if (result != 0 && error != EINVAL) {
    errno = error;
    throw DataError(utf8(path) + ": cannot be written to disk: " + reason());
  }
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void make_folders(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_directory(path, error))
    throw DataError(utf8(path) + ": is a file; a folder is needed there");
  fs::create_directories(path, error);
  if (error) throw DataError(utf8(path) + ": the folder cannot be made: " + error.message());
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw DataError(utf8(to) + ": cannot be put in place: " + error.message());
}

/// Swaps two folders in one step, so that `path` is there at every moment.
void exchange(const fs::path& partial, const fs::path& path) {
#ifdef RENAME_EXCHANGE
  if (::renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return;
#endif
  // Some file systems have no such step: then there is a moment with the old folder aside only.
  fs::path old = path;
  old += cat(".old-", ::getpid());
  rename_or_throw(path, old);
  try {
    rename_or_throw(partial, path);
  } catch (...) {
    std::error_code ignored;
    fs::rename(old, path, ignored);
    throw;
  }
  rename_or_throw(old, partial);
}

/// Removes the partial folders beside `path` whose writers are gone.
void remove_leftovers(const fs::path& path) {
  const std::string prefix = utf8(path.filename()) + ".partial-";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent_of(path), ignored)) {
    const std::string name = utf8(entry.path().filename());
    if (!name.starts_with(prefix)) continue;
    const pid_t writer = std::atoi(name.c_str() + prefix.size());
    if (writer == ::getpid() || (::kill(writer, 0) != 0 && errno == ESRCH))
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

fs::path utf8_path(std::string_view text) {
  // On POSIX a path is its bytes: building it from std::string keeps them whatever the locale.
  return fs::path(std::string(text));
}

std::string utf8(const fs::path& path) { return path.native(); }

std::string read_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw DataError(utf8(path) + ": is a folder; a file is needed");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(utf8(path) + ": cannot be opened: " + reason());
  std::ostringstream content;
  content << in.rdbuf();
  if (in.bad()) throw DataError(utf8(path) + ": cannot be read: " + reason());
  return std::move(content).str();
}

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  make_folders(parent_of(path));
  const fs::path partial = aside(path);
  try {
    std::ofstream out(partial, std::ios::binary | std::ios::trunc);
    if (!out) throw DataError(utf8(path) + ": cannot be written: " + reason());
    write(out);
    out.close();
    if (!out) throw DataError(utf8(path) + ": cannot be written: " + reason());
    sync_path(partial);
    rename_or_throw(partial, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    throw;
  }
}

void write_file(const fs::path& path, std::string_view content) {
  write_file(path, [&](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  });
}

void write_folder(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  make_folders(parent_of(path));
  remove_leftovers(path);
  const fs::path partial = aside(path);
  std::error_code ignored;
  try {
    make_folders(partial);
    fill(partial);
    for (const auto& entry : fs::recursive_directory_iterator(partial)) sync_path(entry.path());
    sync_path(partial);
    if (fs::exists(path))
      exchange(partial, path);
    else
      rename_or_throw(partial, path);
    sync_path(parent_of(path));
  } catch (...) {
    fs::remove_all(partial, ignored);
    throw;
  }
  fs::remove_all(partial, ignored);  // what was there before
}

void replace_link(const fs::path& path, const fs::path& target) {
  const fs::path partial = aside(path);
  std::error_code error;
  fs::remove(partial, error);
  fs::create_symlink(target, partial, error);
  if (error) throw DataError(utf8(path) + ": the link cannot be made: " + error.message());
  rename_or_throw(partial, path);
}

void require_writable_folder(const fs::path& folder) {
  make_folders(folder);
  const fs::path probe = aside(folder / "write-probe");
  std::ofstream out(probe);
  out << "probe";
  out.close();
  const std::string why = reason();
  std::error_code ignored;
  fs::remove(probe, ignored);
  if (!out) throw DataError(utf8(folder) + ": nothing can be written into this folder: " + why);
}

MappedFile::MappedFile(const fs::path& path, MapAccess access) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw DataError(utf8(path) + ": cannot be opened: " + reason());
  struct stat status {};
  const bool usable = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  size_ = usable ? static_cast<size_t>(status.st_size) : 0;
  const bool writable = access == MapAccess::copy_on_write;
  void* data = nullptr;
  if (size_ > 0)
    data = ::mmap(nullptr, size_, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                  writable ? MAP_PRIVATE | MAP_NORESERVE : MAP_SHARED, descriptor, 0);
  const std::string why = usable ? reason() : "not a regular file";
  ::close(descriptor);
  if (!usable || data == MAP_FAILED) throw DataError(utf8(path) + ": cannot be mapped: " + why);
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::string sha256(std::string_view bytes) {
  // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  static constexpr std::array<uint32_t, 64> kRound = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto absorb = [&](const unsigned char* block) {
    std::array<uint32_t, 64> w{};
    for (size_t i = 0; i < 16; ++i)
      w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
             uint32_t{block[4 * i + 2]} << 8 | uint32_t{block[4 * i + 3]};
    for (size_t i = 16; i < 64; ++i)
      w[i] = w[i - 16] + w[i - 7] +
             (std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3)) +
             (std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10));
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const uint32_t second =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::array<uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state[i] += added[i];
  };

  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const size_t whole = bytes.size() / 64 * 64;
  for (size_t i = 0; i < whole; i += 64) absorb(data + i);
  // The rest, a single 1 bit, zeros, and the length in bits in the last 8 bytes.
  std::string tail(bytes.substr(whole));
  tail += '\x80';
  tail.append((tail.size() <= 56 ? 56 : 120) - tail.size(), '\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    tail += static_cast<char>(uint64_t{bytes.size()} * 8 >> shift & 0xff);
  for (size_t i = 0; i < tail.size(); i += 64)
    absorb(reinterpret_cast<const unsigned char*>(tail.data()) + i);

  std::string hex;
  for (const uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
  return hex;
}

std::string sha256_file(const fs::path& path) { return sha256(MappedFile(path).text()); }

}  // namespace zoo
