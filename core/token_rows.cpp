#include "core/token_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace zoo {

Tensor pad_rows(const std::vector<std::span<const int64_t>>& rows) {
  int64_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, std::ssize(row));
  Tensor tokens = torch::zeros({std::ssize(rows), longest}, torch::kInt64);
  auto* next = tokens.mutable_data_ptr<int64_t>();
  for (const auto& row : rows) {
    std::copy(row.begin(), row.end(), next);
    next += longest;
  }
  return tokens;
}

std::vector<std::vector<size_t>> batches_of_like_length(const std::vector<int64_t>& lengths,
                                                        int64_t tokens,
                                                        const std::vector<int64_t>& groups) {
  const auto group = [&](size_t row) { return groups.empty() ? 0 : groups[row]; };
  const auto key = [&](size_t row) { return std::pair(group(row), lengths[row]); };
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  std::vector<std::vector<size_t>> batches;
  for (const size_t row : order) {
    // The order makes this row the longest.
    const bool fits = !batches.empty() && group(batches.back().front()) == group(row) &&
                      (std::ssize(batches.back()) + 1) * lengths[row] <= tokens;
    if (!fits) batches.emplace_back();
    batches.back().push_back(row);
  }
  return batches;
}

}  // namespace zoo
