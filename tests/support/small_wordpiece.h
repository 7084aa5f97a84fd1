#pragma once
// A WordPiece tokenizer of a few pieces. No torch in this header.

#include "tests/support/temp_folder.h"
#include "tokenizer/tokenizer.h"

namespace zoo::testing {

/// [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then the pieces.
inline std::unique_ptr<Tokenizer> small_wordpiece(const std::vector<std::string>& pieces) {
  const TempFolder folder;
  std::string text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const std::string& piece : pieces) text += piece + "\n";
  write_file(folder / "vocab.txt", text);
  return load_tokenizer(folder.path());
}

}  // namespace zoo::testing
