#pragma once
// Packed tokens: ids in 2 or 4 bytes each behind a header of 128 bytes, read through a memory map,
// so that a corpus of any size needs next to no memory. The ids are one running text, or sequences
// whose ends stand before them.
//
//   bytes 0-7    "ZOOTOKEN"
//   8-11         format version, 1
//   12-15        bytes in an id, 2 or 4
//   16-23        vocabulary size
//   24-31        number of ids
//   32-63        SHA-256 of the tokenizer's files (tokenizer_hash)
//   64-95        SHA-256 of the source (source_hash)
//   96-103       number of sequences, 0: running text
//   104-111      places for their ends, some of them unused
//   112-119      pairs left out because a side is blank
//   120-127      pairs left out because a side is too long
//   128-         the ends, 8 bytes each: how many ids stand in a sequence and those before it
//   then         the ids
//
// Numbers are little-endian.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

struct TokenFileInfo {
  int64_t vocab_size = 0;
  int64_t count = 0;           ///< tokens
  std::string tokenizer_hash;  ///< hexadecimal
  std::string source_hash;     ///< hexadecimal
  int64_t sequences = 0;       ///< 0: running text
  int64_t blank = 0;           ///< pairs left out: a side is blank
  int64_t too_long = 0;        ///< pairs left out: a side has too many tokens
};

class TokenFile {
 public:
  /// @throws DataError if it cannot be opened, FormatError if it is no token file or is cut short
  explicit TokenFile(const fs::path& path);

  const fs::path& path() const { return path_; }
  const TokenFileInfo& info() const { return info_; }
  int64_t size() const { return info_.count; }
  /// The place of a sequence's first token, and how many it has. @param index in [0, sequences)
  std::pair<int64_t, int64_t> sequence(int64_t index) const;
  /// Copies the tokens from `first` on. @param first, out.size() within [0, size()]
  void read(int64_t first, std::span<int64_t> out) const;

 private:
  fs::path path_;
  MappedFile file_;
  TokenFileInfo info_;
  size_t ids_start_ = 0;
  bool wide_ = false;
};

/// Writes a token file a piece at a time; only a buffer is held in memory.
class TokenFileWriter {
 public:
  /// @param out a seekable stream at its start  @param end_places most sequences there can be
  TokenFileWriter(std::ostream& out, int64_t vocab_size, int64_t end_places = 0);
  void append(std::span<const int64_t> ids);
  /// What was appended since the last call is a sequence.
  void end_sequence();
  int64_t count() const { return count_; }          ///< ids so far
  int64_t sequences() const { return sequences_; }  ///< so far
  /// Writes the header. @param info its vocab_size, count and sequences are known here
  void finish(const TokenFileInfo& info);

 private:
  void write_ends();

  std::ostream& out_;
  int64_t vocab_size_, end_places_;
  bool wide_;
  int64_t count_ = 0, sequences_ = 0;
  std::vector<uint64_t> ends_;  // not written yet
};

/// SHA-256 over the files that the tokenizer saves. @param scratch a folder that can be written
/// into
std::string tokenizer_hash(const Tokenizer& tokenizer, const fs::path& scratch);

/// SHA-256 of one file, or over the hashes of several in order.
std::string source_hash(const std::vector<fs::path>& texts);

/// The file that `make` writes for `key` (hashes of all that it depends on) in the folder `cache`,
/// which is made if it is not there yet.
fs::path cached_token_file(const fs::path& cache, const std::string& key,
                           const std::function<void(const fs::path&)>& make);

/// Share of the work that is done, in [0, 1].
using PackProgress = std::function<void(double)>;

/// Encodes texts into the token file `path`, about a megabyte at a time. Where the tokenizer has an
/// end token, it stands between two texts.
/// @throws DataError if a text is missing, empty or cannot be encoded, or the disk is full
TokenFileInfo pack_texts(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                         const fs::path& path, const PackProgress& progress = {});

/// The token file of these texts and this tokenizer in the folder `cache`, packed if it is not
/// there yet; its name holds both hashes.
fs::path pack_cached(const std::vector<fs::path>& texts, const Tokenizer& tokenizer,
                     const fs::path& cache, const PackProgress& progress = {});

}  // namespace zoo
