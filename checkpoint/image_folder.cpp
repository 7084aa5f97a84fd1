#include "checkpoint/image_folder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "checkpoint/known_keys.h"
#include "core/error.h"

namespace zoo {

namespace {

constexpr const char* kFile = "preprocessor_config.json";

/// Pillow's numbers of the filters.
constexpr std::pair<Interpolation, int64_t> kFilters[] = {{Interpolation::nearest, 0},
                                                          {Interpolation::lanczos, 1},
                                                          {Interpolation::bilinear, 2},
                                                          {Interpolation::bicubic, 3}};

/// The keys that decide numbers, with ViTImageProcessor's defaults; sizes come apart.
struct HfImageConfig {
  bool do_resize = true, do_center_crop = false, do_rescale = true, do_normalize = true;
  int64_t resample = 2;
  double rescale_factor = 1 / 255.0;
  std::vector<double> image_mean = {0.5, 0.5, 0.5}, image_std = {0.5, 0.5, 0.5};
  std::optional<double> crop_pct;  // of some processors; exact where sizes are rounded

  void fields(auto&& visit) {
    visit("do_resize", do_resize, "");
    visit("do_center_crop", do_center_crop, "");
    visit("do_rescale", do_rescale, "");
    visit("do_normalize", do_normalize, "");
    visit("resample", resample, non_negative(), "");
    visit("rescale_factor", rescale_factor, positive(), "");
    visit("image_mean", image_mean, "");
    visit("image_std", image_std, positive(), "");
    visit("crop_pct", crop_pct, {.low = 0, .high = 1, .low_open = true}, "");
  }
};

/// A size: a number, {"shortest_edge": n} or {"height": n, "width": n}, whose smaller one counts.
std::optional<int64_t> size_in(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  const Json& size = json[key];
  if (size.is_number_integer()) return size.get<int64_t>();
  std::optional<int64_t> least;
  for (const char* side : {"shortest_edge", "height", "width"})
    if (size.is_object() && size.contains(side) && size[side].is_number_integer())
      least = std::min(least.value_or(INT64_MAX), size[side].get<int64_t>());
  return least;
}

}  // namespace

std::vector<double> channel_values(const std::vector<double>& values, int64_t channels) {
  if (values.empty()) return values;
  const auto count = std::ssize(values);
  if (std::count(values.begin(), values.end(), values[0]) == count) return {values[0]};
  if (channels == 1)
    return {std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count)};
  return values;
}

void read_image_input(const fs::path& folder, ModelConfig& config) {
  auto* vit = std::get_if<VitConfig>(&config);
  const fs::path path = folder / kFile;
  if (vit == nullptr || !fs::exists(path)) return;
  const Json json = read_json_file(path);
  const std::string where = utf8(path) + "#";
  HfImageConfig theirs;
  read_known_keys(json, theirs, where);
  if (!theirs.do_rescale || std::abs(theirs.rescale_factor * 255 - 1) > 1e-6)
    throw DataError(where + "/rescale_factor: only 1/255 is supported");
  const auto* const filter =
      std::find_if(std::begin(kFilters), std::end(kFilters),
                   [&](const auto& entry) { return entry.second == theirs.resample; });
  if (filter == std::end(kFilters))
    throw DataError(cat(where, "/resample: found ", theirs.resample,
                        "; known: 0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic)"));
  vit->input.interpolation = filter->first;
  vit->input.mean = {0};
  vit->input.std = {1};
  if (theirs.do_normalize) {
    vit->input.mean = channel_values(theirs.image_mean, vit->channels);
    vit->input.std = channel_values(theirs.image_std, vit->channels);
  }
  // Without a crop the picture is squeezed into the model's size.
  vit->input.crop_pct = 0;
  const auto resized = size_in(json, "size"), cut = size_in(json, "crop_size");
  if (theirs.do_center_crop && theirs.crop_pct)
    vit->input.crop_pct = *theirs.crop_pct;
  else if (theirs.do_center_crop && cut)
    vit->input.crop_pct =
        resized && *resized > 0
            ? std::min(1.0, static_cast<double>(*cut) / static_cast<double>(*resized))
            : 1;
  if (const std::string problem = vit->check(); !problem.empty())
    throw FormatError(where + " " + problem);
}

void write_image_input(const fs::path& folder, const ModelConfig& config) {
  const auto* vit = std::get_if<VitConfig>(&config);
  if (vit == nullptr) return;
  const ImageInputConfig& ours = vit->input;
  const auto for_each_channel = [&](std::vector<double> values) {
    if (values.size() == 1) values.resize(static_cast<size_t>(vit->channels), values[0]);
    return values;
  };
  HfImageConfig theirs;
  theirs.image_mean = for_each_channel(ours.mean);
  theirs.image_std = for_each_channel(ours.std);
  theirs.do_center_crop = ours.crop_pct > 0;
  if (theirs.do_center_crop) theirs.crop_pct = ours.crop_pct;
  for (const auto& [interpolation, number] : kFilters)
    if (interpolation == ours.interpolation) theirs.resample = number;
  Json json = config_to_json(theirs);
  const Json sizes = {{"height", vit->image_height}, {"width", vit->image_width}};
  if (ours.crop_pct > 0) {
    json["image_processor_type"] = "CLIPImageProcessor";  // the one that cuts the middle out
    json["crop_size"] = sizes;
    json["size"] = {
        {"shortest_edge",
         static_cast<int64_t>(static_cast<double>(std::min(vit->image_height, vit->image_width)) /
                              ours.crop_pct)}};
    json["do_convert_rgb"] = vit->channels == 3;
  } else {
    json["image_processor_type"] = "ViTImageProcessor";
    json["size"] = sizes;
  }
  write_json_file(folder / kFile, json);
}

}  // namespace zoo
