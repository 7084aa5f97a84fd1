#include "analysis/attention_figure.h"

#include <algorithm>

#include "analysis/rollout.h"
#include "core/utf8.h"

namespace zoo {

namespace {

constexpr size_t kHeadsInRow = 4;      // of a layer alone
constexpr int64_t kTitleLetters = 60;  // of the input, and of what belongs to it

std::vector<double> values_of(const Tensor& matrix) {
  const Tensor doubles = matrix.to(torch::kFloat64).contiguous();
  const auto* data = doubles.const_data_ptr<double>();
  return {data, data + doubles.numel()};
}

/// Its beginning, control characters as blanks.
std::string shortened(std::string_view text) {
  std::string out;
  for (int64_t letters = 0; !text.empty(); ++letters) {
    if (letters == kTitleLetters) return out + "…";
    const Utf8Step step = next_utf8(text);
    append_utf8(out, step.code_point < 0x20 ? U' ' : step.code_point);
    text.remove_prefix(step.length);
  }
  return out;
}

std::string title_of(const ModelAttention& attention) {
  return shortened(attention.input) +
         (attention.second ? " | " + shortened(*attention.second) : "");
}

/// A map of the shape of `maps`. @param weights (T, K)
HeatMap heat_map(const AttentionMaps& maps, const Tensor& weights) {
  HeatMap map;
  if (maps.grid) {
    const int64_t others = maps.grid->class_token ? 1 : 0;
    const Tensor seen = others > 0 ? weights[0] : weights.mean(0);  // (K)
    map.row_count = maps.grid->rows;
    map.column_count = maps.grid->columns;
    map.values = values_of(seen.slice(0, others));
    return map;
  }
  map.row_count = weights.size(0);
  map.column_count = weights.size(1);
  map.rows = maps.queries;
  map.columns = maps.keys;
  map.row_title = maps.part == AttentionPart::cross ? "target" : "query";
  map.column_title = maps.part == AttentionPart::self    ? "key"
                     : maps.part == AttentionPart::cross ? "cross: source"
                                                         : cat(enum_name(maps.part), ": key");
  map.values = values_of(weights);
  return map;
}

void add_rows(HeatMapGrid& grid, const AttentionMaps& maps) {
  const bool one_layer = std::all_of(maps.heads.begin(), maps.heads.end(), [&](const HeadMap& map) {
    return map.layer == maps.heads.front().layer;
  });
  const HeadMap* before = nullptr;
  for (const HeadMap& map : maps.heads) {
    const bool new_row = before == nullptr || (one_layer ? grid.rows.back().size() == kHeadsInRow
                                                         : before->layer != map.layer);
    if (new_row) grid.rows.emplace_back();
    grid.rows.back().push_back(heat_map(maps, map.weights));
    grid.rows.back().back().title =
        map.head ? cat("layer ", map.layer, " head ", *map.head) : cat("layer ", map.layer);
    before = &map;
  }
}

}  // namespace

HeatMapGrid attention_grid(const ModelAttention& attention) {
  HeatMapGrid grid{.title = title_of(attention), .rows = {}};
  for (const AttentionMaps& maps : attention.maps) add_rows(grid, maps);
  return grid;
}

HeatMapGrid rollout_grid(const ModelAttention& attention) {
  HeatMapGrid grid{.title = title_of(attention), .rows = {}};
  for (const AttentionMaps& maps : attention.maps) {
    if (!maps.rollout.defined()) continue;
    grid.rows.push_back({heat_map(maps, maps.rollout)});
    if (maps.grid)
      grid.rows.back()[0].values = values_of(
          patch_relevance(maps.rollout.unsqueeze(0), maps.grid->rows, maps.grid->columns)[0]);
  }
  if (grid.rows.empty())
    throw ConfigError(
        "rollout: only the attention of a text or a source to itself has one, the product of its "
        "layers; choose that (--part encoder)");
  return grid;
}

}  // namespace zoo
