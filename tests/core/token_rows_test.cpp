#include "core/token_rows.h"

#include <gtest/gtest.h>

namespace zoo {
namespace {

TEST(TokenRows, ArePaddedAtTheRight) {
  const std::vector<int64_t> a = {5, 6, 7}, b = {8};
  EXPECT_TRUE(torch::equal(pad_rows({a, b}), torch::tensor({{5, 6, 7}, {8, 0, 0}})));
}

TEST(TokenRows, AreBatchedByLength) {
  using Batches = std::vector<std::vector<size_t>>;
  const std::vector<int64_t> lengths = {4, 1, 9, 3, 1};
  EXPECT_EQ(batches_of_like_length(lengths, 8), (Batches{{1, 4}, {3, 0}, {2}}));
  EXPECT_EQ(batches_of_like_length(lengths, 1), (Batches{{1}, {4}, {3}, {0}, {2}}));
  EXPECT_EQ(batches_of_like_length(lengths, 100), (Batches{{1, 4, 3, 0, 2}}));
  EXPECT_EQ(batches_of_like_length(lengths, 100, {0, 1, 0, 1, 1}), (Batches{{0, 2}, {1, 4, 3}}));
  EXPECT_EQ(batches_of_like_length({}, 8), Batches{});
}

}  // namespace
}  // namespace zoo
