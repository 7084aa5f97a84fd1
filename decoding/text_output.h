#pragma once
// The text of a row as its tokens come: whole characters only, ended by stop texts. No torch here.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace zoo {

/// Finds stop texts in a stream of pieces, wherever the pieces end, and holds back text that may be
/// the start of one. The first stop text to be complete ends the output.
class StopMatcher {
 public:
  /// @param stops not empty texts; no texts: nothing stops, nothing is held back
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// Adds a piece. @return the text that is certain now to belong to the output
  std::string push(std::string_view piece);
  /// The text held back, when nothing more will come.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

/// Ids in, text out. The pieces joined are the text of the output.
class TextOutput {
 public:
  /// @param tokenizer null: no text  @param prompt what the output continues: pieces that begin a
  /// word keep their blank after it
  TextOutput(const Tokenizer* tokenizer, std::span<const int64_t> prompt,
             const std::vector<std::string>& stops);

  std::string push(int64_t id);  ///< the text that is certain now; may be empty
  std::string finish();          ///< the text held back, when nothing more will come
  bool stopped() const { return stops_.stopped(); }

 private:
  std::unique_ptr<StreamDecoder> decoder_;
  StopMatcher stops_;
};

}  // namespace zoo
