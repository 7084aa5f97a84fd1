#pragma once
// Which source each row of a decoder reads. The rows of one source (the beams of a sentence) attend
// to the same keys and values together, so that these are kept and read once, however often beam
// search moves its rows.

#include <vector>

#include "core/shape.h"

namespace zoo {

/// R rows over P sources; at most W rows read the same one.
class SourceRows {
 public:
  /// Row i reads source i. @param lengths (P) int64, the real tokens of each source
  explicit SourceRows(const Tensor& lengths);

  /// Keeps the rows `rows` (R') int64, repeats allowed.
  /// @return the sources to keep, (P') int64, when enough of them have lost their last row to be
  /// worth the copy: then the caller keeps these of its tensors, cut to longest(). Else undefined.
  Tensor reorder(const Tensor& rows);

  /// The queries of each source side by side. @param x (R, 1, ...)  @return (P, W, ...)
  Tensor spread(const Tensor& x) const;
  /// The inverse of spread(). @param y (P, W, ...)  @return (R, 1, ...)
  Tensor gather(const Tensor& y) const;

  int64_t rows() const { return static_cast<int64_t>(source_of_row_.size()); }
  const Tensor& lengths() const { return lengths_; }  ///< (P) int64
  int64_t longest() const;                            ///< tokens of the longest source

 private:
  void place_rows();

  Tensor lengths_;
  std::vector<int64_t> source_of_row_;
  int64_t width_ = 1;     // W
  bool in_order_ = true;  // row i is place i, and every place has a row
  Tensor row_of_place_;   // (P W) int64, any row where a place is empty
  Tensor place_of_row_;   // (R) int64
};

}  // namespace zoo
