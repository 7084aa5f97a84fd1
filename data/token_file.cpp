#include "data/token_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/error.h"
#include "core/text.h"
#include "data/text_chunks.h"

namespace zoo {

namespace {

static_assert(std::endian::native == std::endian::little, "token files are mapped as they are");

constexpr size_t kHeaderBytes = 128;
constexpr std::string_view kMagic = "ZOOTOKEN";
constexpr uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic{};
  uint32_t version = kVersion, width = 0;
  uint64_t vocab_size = 0, count = 0;
  std::array<unsigned char, 32> tokenizer{}, source{}, zeros{};
};
static_assert(sizeof(Header) == kHeaderBytes && std::is_trivially_copyable_v<Header>);

std::array<unsigned char, 32> from_hex(const std::string& text) {
  std::array<unsigned char, 32> bytes{};
  for (size_t i = 0; i < bytes.size() && 2 * i + 1 < text.size(); ++i)
    bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

std::string to_hex(const std::array<unsigned char, 32>& bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

template <class Id>
void write_ids(std::ostream& out, const std::vector<int64_t>& ids) {
  const std::vector<Id> narrow(ids.begin(), ids.end());
  out.write(reinterpret_cast<const char*>(narrow.data()),
            static_cast<std::streamsize>(narrow.size() * sizeof(Id)));
}

template <class Id>
void read_ids(const std::byte* ids, std::span<int64_t> out) {
  const auto* first = reinterpret_cast<const Id*>(ids);
  std::copy_n(first, out.size(), out.begin());
}

}  // namespace

TokenFile::TokenFile(const fs::path& path) : path_(path), file_(path) {
  const auto bytes = file_.bytes();
  Header header;
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    throw FormatError(utf8(path) + ": is no packed token file; make one with `data pack`");
  std::memcpy(&header, bytes.data(), kHeaderBytes);
  if (header.version != kVersion || (header.width != 2 && header.width != 4))
    throw FormatError(cat(utf8(path), ": token file of version ", header.version, " with ids of ",
                          header.width, " bytes; this program reads version ", kVersion,
                          " with 2 or 4; pack the text again"));
  if (header.count != (bytes.size() - kHeaderBytes) / header.width ||
      (bytes.size() - kHeaderBytes) % header.width != 0)
    throw FormatError(cat(utf8(path), ": ", bytes.size(), " bytes, but ", header.count,
                          " ids need ", kHeaderBytes + header.count * header.width,
                          "; the file was cut or added to; pack the text again"));
  wide_ = header.width == 4;
  info_ = {static_cast<int64_t>(header.vocab_size), static_cast<int64_t>(header.count),
           to_hex(header.tokenizer), to_hex(header.source)};
}

void TokenFile::read(int64_t first, std::span<int64_t> out) const {
  const std::byte* ids = file_.bytes().data() + kHeaderBytes;
  if (wide_)
    read_ids<uint32_t>(ids + first * 4, out);
  else
    read_ids<uint16_t>(ids + first * 2, out);
}

std::string tokenizer_hash(const Tokenizer& tokenizer, const fs::path& scratch) {
  const fs::path folder = scratch / cat(".tokenizer-", ::getpid());
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  std::string hashes(tokenizer.type());
  try {
    fs::create_directories(folder);
    tokenizer.save(folder);
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files)
      hashes += "\n" + utf8(file.lexically_relative(folder)) + " " + sha256_file(file);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(folder, ignored);
    throw DataError(
        cat(utf8(scratch), ": the tokenizer cannot be saved there: ", error.code().message()));
  }
  fs::remove_all(folder, ignored);
  return sha256(hashes);
}

std::string source_hash(const std::vector<fs::path>& texts) {
  if (texts.size() == 1) return sha256_file(texts[0]);
  std::string hashes;
  for (const fs::path& text : texts) hashes += sha256_file(text) + "\n";
  return sha256(hashes);
}

TokenFileInfo pack_texts(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                         const fs::path& path, const PackProgress& progress) {
  TokenFileInfo info{tokenizer.vocab_size(), 0, "", source_hash(texts)};
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  require_writable_folder(folder);
  info.tokenizer_hash = tokenizer_hash(tokenizer, folder);
  const bool wide = info.vocab_size > 65536;

  uint64_t total = 0, done = 0;
  for (const fs::path& text : texts) total += fs::file_size(text);
  write_file(path, [&](std::ostream& out) {
    Header header;  // written again at the end, with the count
    out.write(reinterpret_cast<const char*>(&header), kHeaderBytes);
    const auto append = [&](const std::vector<int64_t>& ids) {
      wide ? write_ids<uint32_t>(out, ids) : write_ids<uint16_t>(out, ids);
      info.count += static_cast<int64_t>(ids.size());
    };
    const std::optional<int64_t> end = tokenizer.special_ids().eos;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0 && end) append({*end});
      try {
        for_each_chunk(texts[i], [&](std::string_view chunk) {
          append(tokenizer.encode(chunk));
          done += chunk.size();
          if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
        });
      } catch (const DataError& error) {
        throw DataError(utf8(texts[i]) + ": " + error.what());
      }
    }
    if (info.count == 0)
      throw DataError(
          cat(utf8(texts.empty() ? path : texts[0]), ": holds no text; nothing to pack"));
    std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
    header.width = wide ? 4 : 2;
    header.vocab_size = static_cast<uint64_t>(info.vocab_size);
    header.count = static_cast<uint64_t>(info.count);
    header.tokenizer = from_hex(info.tokenizer_hash);
    header.source = from_hex(info.source_hash);
    out.seekp(0);
    out.write(reinterpret_cast<const char*>(&header), kHeaderBytes);
  });
  return info;
}

fs::path pack_cached(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                     const fs::path& cache, const PackProgress& progress) {
  require_writable_folder(cache);
  const std::string name = sha256(source_hash(texts) + tokenizer_hash(tokenizer, cache));
  const fs::path path = cache / (name.substr(0, 16) + ".tokens");
  if (!fs::exists(path)) pack_texts(texts, tokenizer, path, progress);
  return path;
}

}  // namespace zoo
