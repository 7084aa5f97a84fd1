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
  std::array<unsigned char, 32> tokenizer{}, source{};
  uint64_t sequences = 0, end_places = 0, blank = 0, too_long = 0;
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

constexpr size_t kEndBytes = sizeof(uint64_t);
constexpr size_t kBufferedEnds = size_t{1} << 15;

bool needs_wide_ids(int64_t vocab_size) { return vocab_size > 65536; }

template <class Id>
void write_ids(std::ostream& out, std::span<const int64_t> ids) {
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
  // Bounded first, so that the sum below cannot overflow.
  const bool fits = header.count <= bytes.size() && header.end_places <= bytes.size() &&
                    header.sequences <= header.end_places;
  ids_start_ = kHeaderBytes + (fits ? header.end_places * kEndBytes : 0);
  if (!fits || ids_start_ + header.count * header.width != bytes.size())
    throw FormatError(cat(utf8(path), ": ", bytes.size(), " bytes, but ", header.count,
                          " ids need ", ids_start_ + header.count * header.width,
                          "; the file was cut or added to; pack the text again"));
  wide_ = header.width == 4;
  info_ = {.vocab_size = static_cast<int64_t>(header.vocab_size),
           .count = static_cast<int64_t>(header.count),
           .tokenizer_hash = to_hex(header.tokenizer),
           .source_hash = to_hex(header.source),
           .sequences = static_cast<int64_t>(header.sequences),
           .blank = static_cast<int64_t>(header.blank),
           .too_long = static_cast<int64_t>(header.too_long)};
}

std::pair<int64_t, int64_t> TokenFile::sequence(int64_t index) const {
  const auto* ends = reinterpret_cast<const uint64_t*>(file_.bytes().data() + kHeaderBytes);
  const uint64_t first = index == 0 ? 0 : ends[index - 1];
  if (first > ends[index] || ends[index] > static_cast<uint64_t>(info_.count))
    throw FormatError(cat(utf8(path_), ": sequence ", index, " ends after ", ends[index],
                          " ids of ", info_.count,
                          "; the file is damaged; remove it and pack the text again"));
  return {static_cast<int64_t>(first), static_cast<int64_t>(ends[index] - first)};
}

void TokenFile::read(int64_t first, std::span<int64_t> out) const {
  const std::byte* ids = file_.bytes().data() + ids_start_;
  if (wide_)
    read_ids<uint32_t>(ids + first * 4, out);
  else
    read_ids<uint16_t>(ids + first * 2, out);
}

TokenFileWriter::TokenFileWriter(std::ostream& out, int64_t vocab_size, int64_t end_places)
    : out_(out),
      vocab_size_(vocab_size),
      end_places_(end_places),
      wide_(needs_wide_ids(vocab_size)) {
  // The header and the ends are written when they are known.
  out_.seekp(
      static_cast<std::streamoff>(kHeaderBytes + static_cast<size_t>(end_places) * kEndBytes));
}

void TokenFileWriter::append(std::span<const int64_t> ids) {
  wide_ ? write_ids<uint32_t>(out_, ids) : write_ids<uint16_t>(out_, ids);
  count_ += static_cast<int64_t>(ids.size());
}

void TokenFileWriter::end_sequence() {
  ends_.push_back(static_cast<uint64_t>(count_));
  ++sequences_;
  if (ends_.size() == kBufferedEnds) write_ends();
}

void TokenFileWriter::write_ends() {
  if (ends_.empty()) return;
  const auto place = out_.tellp();
  const auto first = static_cast<size_t>(sequences_) - ends_.size();
  out_.seekp(static_cast<std::streamoff>(kHeaderBytes + first * kEndBytes));
  out_.write(reinterpret_cast<const char*>(ends_.data()),
             static_cast<std::streamsize>(ends_.size() * kEndBytes));
  out_.seekp(place);
  ends_.clear();
}

void TokenFileWriter::finish(const TokenFileInfo& info) {
  write_ends();
  Header header;
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  header.width = wide_ ? 4 : 2;
  header.vocab_size = static_cast<uint64_t>(vocab_size_);
  header.count = static_cast<uint64_t>(count_);
  header.tokenizer = from_hex(info.tokenizer_hash);
  header.source = from_hex(info.source_hash);
  header.sequences = static_cast<uint64_t>(sequences_);
  header.end_places = static_cast<uint64_t>(end_places_);
  header.blank = static_cast<uint64_t>(info.blank);
  header.too_long = static_cast<uint64_t>(info.too_long);
  out_.seekp(0);
  out_.write(reinterpret_cast<const char*>(&header), kHeaderBytes);
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

fs::path cached_token_file(const fs::path& cache, const std::string& key,
                           const std::function<void(const fs::path&)>& make) {
  const fs::path path = cache / (sha256(key).substr(0, 16) + ".tokens");
  if (!fs::exists(path)) make(path);
  return path;
}

TokenFileInfo pack_texts(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                         const fs::path& path, const PackProgress& progress) {
  TokenFileInfo info;
  info.vocab_size = tokenizer.vocab_size();
  info.source_hash = source_hash(texts);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  require_writable_folder(folder);
  info.tokenizer_hash = tokenizer_hash(tokenizer, folder);

  uint64_t total = 0, done = 0;
  for (const fs::path& text : texts) total += fs::file_size(text);
  write_file(path, [&](std::ostream& out) {
    TokenFileWriter writer(out, info.vocab_size);
    const std::optional<int64_t> end = tokenizer.special_ids().eos;
    for (size_t i = 0; i < texts.size(); ++i) {
      if (i > 0 && end) writer.append({&*end, 1});
      try {
        for_each_chunk(texts[i], [&](std::string_view chunk) {
          writer.append(tokenizer.encode(chunk));
          done += chunk.size();
          if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
        });
      } catch (const DataError& error) {
        throw DataError(utf8(texts[i]) + ": " + error.what());
      }
    }
    info.count = writer.count();
    if (info.count == 0)
      throw DataError(
          cat(utf8(texts.empty() ? path : texts[0]), ": holds no text; nothing to pack"));
    writer.finish(info);
  });
  return info;
}

fs::path pack_cached(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                     const fs::path& cache, const PackProgress& progress) {
  require_writable_folder(cache);
  return cached_token_file(
      cache, source_hash(texts) + tokenizer_hash(tokenizer, cache),
      [&](const fs::path& path) { pack_texts(texts, tokenizer, path, progress); });
}

}  // namespace zoo
