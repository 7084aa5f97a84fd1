#include "cli/classify_pictures.h"

#include <algorithm>

#include "analysis/rollout.h"
#include "cli/lines.h"
#include "core/scratch.h"
#include "core/text.h"
#include "data/image_file.h"

namespace zoo::cli {

namespace {

constexpr int64_t kPicturesAtOnce = 32;
/// A file name for the heat of a picture: "a/b.png" becomes "a-b.png.rollout.png".
std::string heat_name(std::string name) {
  for (char& letter : name)
    if (letter == '/' || letter == '\\') letter = '-';
  return name + ".rollout.png";
}

}  // namespace

void ClassifyPictures::declare(Flags& flags) {
  flags.example("classes of pictures",
                "transformer-cli classify runs/vit pictures/red/1.png --top 2");
  flags.texts("images", inputs, "IMAGE",
              "PNG or JPEG files, folders of them, IDX or CIFAR files, behind the model");
  flags.text("--list", list, "FILE",
             "a file that names pictures, a line each; - is standard input");
  flags.text("--rollout", rollout, "DIR",
             "write pictures of what contributes to the class: attention rollout (Abnar & Zuidema "
             "2020)");
  pictures.declare(flags);
}

void ClassifyPictures::run(const std::string& model, const std::string& labels_file, int64_t top,
                           const GlobalOptions& globals) const {
  std::vector<std::string> names = inputs;
  if (!list.empty()) {
    LineReader lines(list);
    while (const auto line = lines.next())
      if (!is_blank(*line)) names.push_back(*line);
  }
  if (names.empty())
    throw ConfigError(
        "classify: no picture is given; name PNG or JPEG files or folders behind the model, or in "
        "a file with --list");
  const PictureModel opened = load_picture_model(model, pictures, globals);
  std::vector<std::string> labels = opened.model->labels();
  if (!labels_file.empty()) labels = read_labels(labels_file, labels.size());
  const int64_t count = std::min<int64_t>(top, std::ssize(labels));
  const fs::path heat_folder = utf8_path(rollout);
  if (!rollout.empty()) require_writable_folder(heat_folder);

  const ScratchFolder scratch;
  int64_t broken = 0;
  const auto print = [&](const std::string& name, const SeenPicture& picture) {
    if (!picture.problem.empty()) {
      ++broken;
      log_warning(picture.problem);
      return;
    }
    const auto [values, classes] = picture.probabilities.topk(count);  // (K)
    Json found = Json::array();
    if (!globals.json) out() << on_one_line(name);
    for (int64_t rank = 0; rank < count; ++rank) {
      const std::string& label = labels[classes[rank].item<int64_t>()];
      const double value = values[rank].item<double>();
      if (globals.json)
        found.push_back({{"label", label}, {"probability", value}});
      else
        out() << '\t' << label << '\t' << fixed(value, 4);
    }
    if (globals.json) out() << Json{{"image", name}, {"classes", std::move(found)}}.dump();
    out() << '\n';
    if (!rollout.empty()) {
      const Tensor input = picture.input.unsqueeze(0);  // (1, X, Y, Z)
      const Tensor relevance = patch_relevance(
          *opened.model, input.to(device_of(*opened.model), dtype_of(*opened.model)))[0];
      write_file(heat_folder / utf8_path(heat_name(name)),
                 encode_png(relevance_picture(picture.input, opened.input,
                                              relevance.to(torch::kCPU, torch::kFloat32))));
    }
  };
  std::vector<fs::path> paths;
  for (const std::string& name : names) paths.push_back(utf8_path(name));
  const auto set = open_unlabelled_images(paths, scratch.path());
  see_pictures(opened, *set, all_of(*set), kPicturesAtOnce,
               [&](const SeenPicture& picture) { print(set->name(picture.index), picture); });
  if (broken > 0) {
    out().flush();
    throw DataError(
        cat(broken, " of ", set->size(), " pictures could not be read; their messages are above"));
  }
}

}  // namespace zoo::cli
