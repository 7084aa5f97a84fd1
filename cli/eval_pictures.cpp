// transformer-cli eval MODEL of a vision model: how well it tells classes of pictures.

#include "cli/class_report.h"
#include "cli/picture_model.h"
#include "core/scratch.h"
#include "training/config.h"

namespace zoo::cli {
namespace {

constexpr int64_t kPicturesAtOnce = 64;

struct EvalPictures : EvalMode {
  using EvalMode::EvalMode;
  PictureFlags pictures;

  void declare(Flags& flags) override {
    flags.group("Of a vision model");
    flags.example("classes of pictures, a subfolder for each class",
                  "transformer-cli eval runs/vit --data pictures");
    pictures.declare(flags);
  }

  /// The model's config decides.
  bool asked_for() const override { return evaluates<VitConfig>(shared); }

  int run(const GlobalOptions& globals) override {
    const PictureModel opened = load_picture_model(shared.model, pictures, globals);
    const EvalData data = find_eval_data(shared, opened.loaded, false);
    const std::vector<std::string>& labels = opened.model->labels();
    const ScratchFolder scratch;
    const auto set = open_images(data.files, labels, scratch.path());
    std::vector<int64_t> indices = all_of(*set);
    if (data.tail < 1) {
      const auto seed = opened.loaded.project["training"]["seed"].get<uint64_t>();
      indices = held_out_pictures(set->size(), data.tail, seed).held;
    }
    Confusion confusion(std::ssize(labels));
    Progress progress;
    int64_t broken = 0;
    see_pictures(opened, *set, indices, kPicturesAtOnce, [&](const SeenPicture& picture) {
      if (progress.due())
        progress.show(cat(confusion.total(), " of ", indices.size(), " pictures"));
      if (picture.problem.empty())
        return confusion.add(set->label(picture.index),
                             picture.probabilities.argmax().item<int64_t>());
      ++broken;
      progress.finish();
      log_warning(picture.problem);
    });
    progress.finish();
    if (broken > 0) log_warning(broken, " pictures could not be read and are left out");
    return report_classes(shared, globals.json, confusion, labels, "pictures",
                          describe_eval(shared, data));
  }
};

}  // namespace

std::unique_ptr<EvalMode> make_picture_mode(EvalFlags& shared) {
  return std::make_unique<EvalPictures>(shared);
}

}  // namespace zoo::cli
