#include "nn/source_rows.h"

#include <algorithm>

namespace zoo {

SourceRows::SourceRows(const Tensor& lengths)
    : lengths_(lengths), source_of_row_(static_cast<size_t>(lengths.size(0))) {
  for (size_t row = 0; row < source_of_row_.size(); ++row)
    source_of_row_[row] = static_cast<int64_t>(row);
}

int64_t SourceRows::longest() const { return lengths_.max().item<int64_t>(); }

Tensor SourceRows::reorder(const Tensor& rows) {
  const Tensor host = rows.to(torch::kCPU).contiguous();
  std::vector<int64_t> sources(static_cast<size_t>(host.numel()));
  std::vector<int64_t> new_name(static_cast<size_t>(lengths_.size(0)), -1);
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i] = source_of_row_[static_cast<size_t>(host.const_data_ptr<int64_t>()[i])];
    new_name[static_cast<size_t>(sources[i])] = 0;
  }
  source_of_row_ = std::move(sources);

  std::vector<int64_t> kept;
  for (size_t source = 0; source < new_name.size(); ++source)
    if (new_name[source] == 0) {
      new_name[source] = std::ssize(kept);
      kept.push_back(static_cast<int64_t>(source));
    }
  Tensor keep;
  // Copying every time that a source falls away would cost more than reading a few idle ones.
  if (4 * std::ssize(kept) <= 3 * lengths_.size(0)) {
    for (int64_t& source : source_of_row_) source = new_name[static_cast<size_t>(source)];
    keep = torch::tensor(kept, torch::kInt64).to(lengths_.device());
    lengths_ = lengths_.index_select(0, keep);
  }
  place_rows();
  return keep;
}

void SourceRows::place_rows() {
  std::vector<int64_t> taken(static_cast<size_t>(lengths_.size(0)), 0);
  for (const int64_t source : source_of_row_) ++taken[static_cast<size_t>(source)];
  width_ = std::max<int64_t>(1, *std::max_element(taken.begin(), taken.end()));

  std::fill(taken.begin(), taken.end(), 0);
  std::vector<int64_t> place_of_row;
  std::vector<int64_t> row_of_place(taken.size() * static_cast<size_t>(width_), 0);
  in_order_ = rows() == std::ssize(row_of_place);
  for (const int64_t source : source_of_row_) {
    const int64_t place = source * width_ + taken[static_cast<size_t>(source)]++;
    in_order_ &= place == std::ssize(place_of_row);
    row_of_place[static_cast<size_t>(place)] = std::ssize(place_of_row);
    place_of_row.push_back(place);
  }
  if (in_order_) return;
  place_of_row_ = torch::tensor(place_of_row, torch::kInt64).to(lengths_.device());
  row_of_place_ = torch::tensor(row_of_place, torch::kInt64).to(lengths_.device());
}

Tensor SourceRows::spread(const Tensor& x) const {
  const Tensor places = in_order_ ? x.squeeze(1) : x.squeeze(1).index_select(0, row_of_place_);
  return places.unflatten(0, {lengths_.size(0), width_});
}

Tensor SourceRows::gather(const Tensor& y) const {
  const Tensor places = y.flatten(0, 1);
  return (in_order_ ? places : places.index_select(0, place_of_row_)).unsqueeze(1);
}

}  // namespace zoo
