#pragma once
// What is in text files, and what is wrong with them.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "tokenizer/tokenizer.h"

namespace zoo {

struct TextReport {
  fs::path path;
  int64_t bytes = 0, characters = 0, words = 0, lines = 0;
  int64_t distinct_characters = 0;
  int64_t blank_lines = 0,
          duplicate_lines = 0;         ///< a line is a duplicate of an equal one before it
  int64_t longest_line = 0;            ///< in characters
  int64_t carriage_returns = 0;        ///< lines that end in CRLF
  int64_t inner_carriage_returns = 0;  ///< CRs elsewhere: they are read as blanks
  int64_t control_characters = 0;      ///< NUL and others, but tab and line ends
  int64_t invalid_bytes = 0;           ///< that are no UTF-8
  int64_t first_invalid_line = 0;      ///< counted from 1; 0: none
  bool ends_with_newline = true;
  int64_t tokens = -1;  ///< -1: no tokenizer was given
  std::string sha256;
};

/// Reads a file line by line. Lines are remembered by a hash of 64 bits. @throws DataError
TextReport report_text(const fs::path& path, const Tokenizer* tokenizer = nullptr);

struct Finding {
  bool is_error;  ///< training or evaluation would fail or be wrong; else worth a look
  std::string message;
};

/// What the reports say is wrong, each with the file. @param parallel the files must have equally
/// many lines, since line i of one belongs to line i of the other
std::vector<Finding> check_texts(const std::vector<TextReport>& reports, bool parallel);

}  // namespace zoo
