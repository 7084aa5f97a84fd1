#pragma once
// Packed tokens: ids in 2 or 4 bytes each behind a header of 128 bytes, read through a memory map,
// so that a corpus of any size needs next to no memory.
//
//   bytes 0-7    "ZOOTOKEN"
//   8-11         format version, 1
//   12-15        bytes in an id, 2 or 4
//   16-23        vocabulary size
//   24-31        number of ids
//   32-63        SHA-256 of the tokenizer's files (tokenizer_hash)
//   64-95        SHA-256 of the source (source_hash)
//   96-127       zeros
//
// Numbers are little-endian.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

struct TokenFileInfo {
  int64_t vocab_size = 0;
  int64_t count = 0;           ///< tokens
  std::string tokenizer_hash;  ///< hexadecimal
  std::string source_hash;     ///< hexadecimal
};

class TokenFile {
 public:
  /// @throws DataError if it cannot be opened, FormatError if it is no token file or is cut short
  explicit TokenFile(const fs::path& path);

  const fs::path& path() const { return path_; }
  const TokenFileInfo& info() const { return info_; }
  int64_t size() const { return info_.count; }
  /// Copies the tokens from `first` on. @param first, out.size() within [0, size()]
  void read(int64_t first, std::span<int64_t> out) const;

 private:
  fs::path path_;
  MappedFile file_;
  TokenFileInfo info_;
  bool wide_ = false;
};

/// SHA-256 over the files that the tokenizer saves. @param scratch a folder that can be written
/// into
std::string tokenizer_hash(const Tokenizer& tokenizer, const fs::path& scratch);

/// SHA-256 of one file, or over the hashes of several in order.
std::string source_hash(const std::vector<fs::path>& texts);

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
