#include "cli/picture_model.h"

#include <ATen/Parallel.h>

#include <charconv>

#include "cli/runtime.h"
#include "core/config.h"
#include "core/prefetch.h"
#include "core/text.h"

namespace zoo::cli {

namespace {

/// A batch before the model.
struct Read {
  std::vector<SeenPicture> pictures;
  Tensor inputs;  // (B, X, Y, Z) of those that could be read
};

/// "224" or "224x160": rows, then columns.
std::pair<int64_t, int64_t> parse_image_size(const std::string& text) {
  std::vector<int64_t> sides;
  for (const std::string& part : split(text, 'x')) {
    int64_t side = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), side);
    if (error != std::errc() || end != part.data() + part.size() || side < 1 || side > 65536)
      sides.clear();
    sides.push_back(side);
  }
  if (sides.size() == 1) sides.push_back(sides[0]);
  if (sides.size() != 2 || split(text, 'x').size() > 2)
    throw ConfigError(cat("--image-size ", text,
                          ": expected pixels, such as 224, or rows and "
                          "columns, such as 224x160"));
  return {sides[0], sides[1]};
}

}  // namespace

void PictureFlags::declare(Flags& flags) {
  flags.text("--image-size", image_size, "N|ROWSxCOLUMNS",
             "pixels that pictures are brought to; learned positions are interpolated");
  flags.number("--crop-pct", crop_pct, between(0, 1),
               "share of the shorter side that is kept, about the middle; 0: squeeze the whole "
               "picture into the size");
  flags.text("--interpolation", interpolation, "NAME",
             "how pictures are resized: " + join(enum_names<Interpolation>(), ", "));
  flags.text("--mean", mean, "A,B,C", "taken from each colour, on a scale of 0 to 1");
  flags.text("--std", std, "A,B,C", "what the rest is divided by");
}

PictureModel load_picture_model(const std::string& path, const PictureFlags& flags,
                                const GlobalOptions& globals) {
  const Runtime runtime = start_runtime(globals);
  PictureModel opened;
  opened.loaded = load_model(utf8_path(path), {.device = runtime.device, .dtype = runtime.dtype});
  opened.model = opened.loaded.as<ImageEncoder>();
  const ImageShape shape = opened.model->image_shape();
  opened.height = shape.height;
  opened.width = shape.width;
  if (flags.image_size) {
    std::tie(opened.height, opened.width) = parse_image_size(*flags.image_size);
    if (opened.height % shape.patch_size != 0 || opened.width % shape.patch_size != 0)
      throw ConfigError(cat("--image-size ", *flags.image_size,
                            ": must be a multiple of the model's patch size, ", shape.patch_size));
  }
  // Checked as the config's own keys are.
  Json changes = Json::object();
  const auto numbers = [](const char* flag, const std::string& text) {
    const std::string json = "[" + text + "]";
    if (!Json::accept(json))
      throw ConfigError(cat(flag, " ", text,
                            ": expected numbers with commas between, such as "
                            "0.5,0.5,0.5"));
    return parse_json(json, flag);
  };
  if (flags.crop_pct) changes["crop_pct"] = *flags.crop_pct;
  if (flags.interpolation) changes["interpolation"] = *flags.interpolation;
  if (flags.mean) changes["mean"] = numbers("--mean", *flags.mean);
  if (flags.std) changes["std"] = numbers("--std", *flags.std);
  opened.input = opened.model->input();
  read_config(changes, opened.input, "classify's flags#");
  auto config = std::get<VitConfig>(opened.loaded.config);
  config.input = opened.input;
  if (const std::string problem = config.check(); !problem.empty())
    throw ConfigError("--mean, --std: " + problem);
  return opened;
}

void see_pictures(const PictureModel& opened, const ImageSet& set,
                  const std::vector<int64_t>& indices, int64_t batch_size,
                  const std::function<void(const SeenPicture&)>& use) {
  const int64_t channels = opened.model->image_shape().channels, size = std::ssize(indices);
  const auto read = [&](int64_t start) {
    Read made;
    const int64_t count = std::min(batch_size, size - start);
    made.inputs = torch::empty({count, channels, opened.height, opened.width});
    const int64_t numbers = channels * opened.height * opened.width;
    int64_t row = 0;
    for (int64_t i = start; i < start + count; ++i) {
      SeenPicture picture{.index = indices[i], .problem = {}, .input = {}, .probabilities = {}};
      try {
        fill_input(
            set.image(indices[i]), channels, opened.height, opened.width, opened.input,
            {made.inputs.mutable_data_ptr<float>() + row * numbers, static_cast<size_t>(numbers)});
        ++row;
      } catch (const DataError& error) {
        picture.problem = error.what();
      }
      made.pictures.push_back(std::move(picture));
    }
    made.inputs = made.inputs.narrow(0, 0, row);
    return made;
  };
  const int64_t workers = at::get_num_threads();
  Prefetch<Read> loader(workers, 2 * workers, read, [&](int64_t start) {
    return start + batch_size < size ? start + batch_size : 0;
  });
  const torch::InferenceMode inference;
  const torch::Device device = device_of(*opened.model);
  const torch::Dtype dtype = dtype_of(*opened.model);
  for (int64_t start = 0; start < size; start += batch_size) {
    Read made = loader.take(start);
    Tensor probabilities;  // (B, C)
    if (made.inputs.size(0) > 0)
      probabilities = opened.model->logits(opened.model->encode(made.inputs.to(device, dtype)))
                          .to(torch::kCPU, torch::kFloat32)
                          .softmax(-1);
    int64_t row = 0;
    for (SeenPicture& picture : made.pictures) {
      if (picture.problem.empty()) {
        picture.input = made.inputs[row];
        picture.probabilities = probabilities[row++];
      }
      use(picture);
    }
  }
}

}  // namespace zoo::cli
