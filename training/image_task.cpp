#include "training/image_task.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/prefetch.h"
#include "core/text.h"
#include "data/image_set.h"
#include "data/token_file.h"
#include "models/zoo.h"
#include "training/class_task.h"

namespace zoo {

namespace {

constexpr uint64_t kOrderStream = uint64_t{19} << 56, kAugmentStream = uint64_t{20} << 56,
                   kMixStream = uint64_t{21} << 56;
constexpr int64_t kSamples = 10, kNamedProblems = 10;

/// Some pictures of a set.
struct Split {
  std::shared_ptr<const ImageSet> set;
  std::vector<int64_t> indices;  // in the set

  int64_t size() const { return std::ssize(indices); }
};

/// Pictures that were read and made inputs.
struct Pictures {
  Tensor inputs;   // (B, X, Y, Z)
  Tensor targets;  // (B) int64
  int64_t asked = 0;
  std::vector<std::pair<int64_t, std::string>> problems;  // pictures of the set that are broken
};

std::vector<fs::path> paths_of(const std::vector<std::string>& names) {
  std::vector<fs::path> paths;
  for (const std::string& name : names) paths.push_back(utf8_path(name));
  return paths;
}

/// @throws ConfigError if there is none
std::vector<fs::path> paths_of_train(const ImageClassificationTaskConfig& config) {
  if (config.train.empty())
    throw ConfigError(
        "task.train: names no pictures; name a folder with a subfolder for each class, an IDX file "
        "or a CIFAR .bin file");
  return paths_of(config.train);
}

class ImageTask final : public ClassTask {
 public:
  ImageTask(const ImageClassificationTaskConfig& config, const TaskParts& parts,
            std::shared_ptr<ImageEncoder> model)
      : ClassTask(*parts.training, parts.device, model->labels()),
        config_(config),
        model_(std::move(model)),
        shape_(model_->image_shape()),
        input_(model_->input()),
        notice_(parts.notice),
        train_files_(paths_of_train(config)),
        valid_files_(paths_of(config.valid)),
        batch_size_(training_.batch_type == BatchType::tokens
                        ? std::max<int64_t>(1, training_.batch_size / tokens_of_picture())
                        : training_.batch_size) {
    const fs::path cache = config.cache.empty() ? parts.cache : utf8_path(config.cache);
    train_ = open(train_files_, cache);
    if (valid_files_.empty())
      hold_out();
    else
      valid_ = open(valid_files_, cache);
    train_loader_.emplace(
        config.workers, 2 * config.workers,
        [this](int64_t position) { return learn_from(position); },
        [this](int64_t position) { return position + batch_examples(position); });
    valid_loader_.emplace(
        config.workers, 2 * config.workers, [this](int64_t position) { return look_at(position); },
        [this](int64_t position) {
          const int64_t next = position + evaluation_pictures();
          return next < valid_.size() ? next : 0;
        });
  }

  torch::nn::Module& module() override { return *model_; }
  std::shared_ptr<torch::nn::Module> replica() const override { return model_->replica(); }
  int64_t epoch_size() const override { return train_.size(); }
  int64_t batch_examples(int64_t position) const override {
    return std::min(batch_size_, train_.size() - position % train_.size());
  }
  Batch batch(int64_t position) const override {
    Batch batch = batch_of(train_loader_->take(position), "task.train", *train_.set);
    mix(batch, position);
    return on_device(std::move(batch));
  }

  Tensor loss_sum(torch::nn::Module& module, const Batch& batch) override {
    if (!batch.shares.defined()) return TokenTask::loss_sum(module, batch);
    const Predictions found = predict(module, batch);
    const auto losses = [&](const Tensor& targets) {
      return at::cross_entropy_loss(found.logits, targets, {}, at::Reduction::None, kNoTarget,
                                    training_.label_smoothing);  // (B)
    };
    return (losses(batch.targets) * batch.shares + losses(batch.other_targets) * (1 - batch.shares))
        .sum();
  }

  std::string sample() override {
    const torch::NoGradGuard no_grad;
    std::string text;
    for (int64_t i = 0; i < std::min(kSamples, valid_.size()); ++i) {
      const int64_t index = valid_.indices[i];
      text += valid_.set->name(index);
      const Batch one = batch_of(read(*valid_.set, {index}), "task.valid", *valid_.set);
      if (one.target_count == 0) {
        text += "\tcannot be read\n";
        continue;
      }
      const auto guess = predict(*model_, on_device(one)).logits.argmax(-1).item<int64_t>();
      text += cat("\t", labels_[guess], " (wanted: ", labels_[valid_.set->label(index)], ")\n");
    }
    return text;
  }

  Json data_receipt() const override {
    const auto part = [](const std::vector<std::string>& names, const std::vector<fs::path>& paths,
                         const Split& split) {
      // Of a folder the number of pictures stands for their content.
      return Json{{"files", names},
                  {"source_sha256", source_hash(image_files(paths))},
                  {"pictures", split.size()}};
    };
    Json receipt = {{"train", part(config_.train, train_files_, train_)}};
    receipt["valid"] = valid_files_.empty() ? Json{{"pictures", valid_.size()}}
                                            : part(config_.valid, valid_files_, valid_);
    return receipt;
  }

 protected:
  Predictions predict(torch::nn::Module& module, const Batch& batch) override {
    auto& model = static_cast<ImageEncoder&>(module);
    return {model.logits(model.encode(batch.inputs)), batch.targets, {}};
  }

  int64_t validation_size() const override { return valid_.size(); }
  Batch validation_batch(int64_t position) const override {
    return on_device(batch_of(valid_loader_->take(position), "task.valid", *valid_.set));
  }
  Batch random_validation_batch(RandomStream& random) const override {
    std::vector<int64_t> chosen;
    for (int64_t i = 0; i < batch_size_; ++i)
      chosen.push_back(valid_.indices[random.next_below(static_cast<uint64_t>(valid_.size()))]);
    return on_device(batch_of(read(*valid_.set, chosen), "task.valid", *valid_.set));
  }

 private:
  int64_t tokens_of_picture() const {
    return shape_.height / shape_.patch_size * (shape_.width / shape_.patch_size);
  }
  int64_t evaluation_pictures() const {
    return std::max<int64_t>(1, evaluation_tokens(1) / tokens_of_picture());
  }

  Split open(const std::vector<fs::path>& paths, const fs::path& cache) const {
    Split split{open_images(paths, labels_, cache), {}};
    split.indices = all_of(*split.set);
    return split;
  }

  /// Draws valid_ out of train_.
  void hold_out() {
    HeldOut parts = held_out_pictures(train_.size(), config_.valid_fraction, seed());
    if (parts.held.empty() || parts.rest.empty())
      throw ConfigError(cat("task.valid_fraction: ", config_.valid_fraction, " of ", train_.size(),
                            " pictures leaves none to ",
                            parts.held.empty() ? "evaluate on" : "learn from",
                            "; change it, or name pictures in task.valid"));
    valid_ = {train_.set, std::move(parts.held)};
    train_.indices = std::move(parts.rest);
  }

  /// Which picture of the set is example `position` of the training.
  int64_t drawn(int64_t position) const {
    const int64_t size = train_.size(), epoch = position / size;
    return train_
        .indices[permuted_index(static_cast<uint64_t>(position % size), static_cast<uint64_t>(size),
                                seed(), kOrderStream | static_cast<uint64_t>(epoch))];
  }

  Pictures room_for(int64_t pictures) const {
    return {torch::empty({pictures, shape_.channels, shape_.height, shape_.width}),
            torch::empty({pictures}, torch::kInt64),
            pictures,
            {}};
  }
  /// (X, Y, Z)
  std::span<float> pixels_of(Pictures& made, int64_t row) const {
    const int64_t count = shape_.channels * shape_.height * shape_.width;
    return {made.inputs.mutable_data_ptr<float>() + row * count, static_cast<size_t>(count)};
  }

  // The following run on worker threads: they call no operator of LibTorch, whose threads are busy.

  /// A training batch. In the place of a broken picture comes the next good one of the epoch's
  /// order, so that batches keep their size.
  Pictures learn_from(int64_t position) const {
    const int64_t rows = batch_examples(position), size = train_.size();
    const int64_t epoch_start = position / size * size;
    Pictures made = room_for(rows);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t tried = 0;
      RandomStream random(seed(), kAugmentStream | static_cast<uint64_t>(position + row));
      const std::span<float> to = pixels_of(made, row);
      for (bool done = false; !done; ++tried) {
        const int64_t index = drawn(epoch_start + (position + row + tried - epoch_start) % size);
        done = try_read(*train_.set, index, made, [&](Image image) {
          image = with_channels(std::move(image), shape_.channels);
          normalize(
              fit_randomly(image, shape_.height, shape_.width, input_, config_.augment, random),
              input_, to);
          erase_randomly(to, shape_.height, shape_.width, config_.augment, random);
          made.targets.mutable_data_ptr<int64_t>()[row] = train_.set->label(index);
        });
        if (!done && tried + 1 == size)
          throw DataError("task.train: every picture is broken; the first: " +
                          made.problems[0].second);
      }
    }
    return made;
  }

  Pictures look_at(int64_t position) const {
    const auto first = valid_.indices.begin() + position;
    const int64_t rows = std::min(evaluation_pictures(), valid_.size() - position);
    return read(*valid_.set, std::vector<int64_t>(first, first + rows));
  }

  /// Pictures as they are. A broken one has no row.
  Pictures read(const ImageSet& set, const std::vector<int64_t>& indices) const {
    Pictures made = room_for(std::ssize(indices));
    int64_t row = 0;
    for (const int64_t index : indices)
      row += try_read(set, index, made, [&](Image image) {
        fill_input(std::move(image), shape_.channels, shape_.height, shape_.width, input_,
                   pixels_of(made, row));
        made.targets.mutable_data_ptr<int64_t>()[row] = set.label(index);
      });
    made.inputs = made.inputs.narrow(0, 0, row);
    made.targets = made.targets.narrow(0, 0, row);
    return made;
  }

  /// Whether picture `index` could be read and used; else the problem is noted.
  template <class Use>
  bool try_read(const ImageSet& set, int64_t index, Pictures& made, const Use& use) const {
    try {
      use(set.image(index));
      return true;
    } catch (const DataError& error) {
      made.problems.emplace_back(index, error.what());
      return false;
    }
  }

  // Those on the thread that trains.

  Batch batch_of(Pictures pictures, const char* key, const ImageSet& set) const {
    for (const auto& [index, problem] : pictures.problems) {
      if (!broken_.emplace(&set, index).second) continue;
      const int64_t count = std::ssize(broken_);
      // Each of the first ones, then fewer and fewer.
      if (count <= kNamedProblems || (count & (count - 1)) == 0)
        notice_(cat(key, ": ", problem, "; it is left out (", count, " so far)"));
    }
    Batch batch;
    batch.inputs = pictures.inputs;
    batch.targets = pictures.targets;
    batch.examples = pictures.asked;
    batch.target_count = batch.targets.size(0);
    batch.token_count = batch.target_count * tokens_of_picture();
    return batch;
  }

  /// mixup or cutmix: each picture with the one as far from the batch's end as it is from its
  /// start.
  void mix(Batch& batch, int64_t position) const {
    RandomStream random(seed(), kMixStream | static_cast<uint64_t>(position));
    const Mix mix = draw_mix(shape_.height, shape_.width, config_.augment, random);
    if (mix.share == 1) return;
    const torch::NoGradGuard no_grad;
    batch.other_targets = batch.targets.flip(0);
    batch.shares = torch::full({batch.target_count}, mix.share, torch::kFloat32);
    const Tensor others = batch.inputs.flip(0);  // (B, X, Y, Z)
    if (mix.cut) {
      const auto part = [&](const Tensor& images) {
        return images.narrow(2, mix.top, mix.height).narrow(3, mix.left, mix.width);
      };
      part(batch.inputs).copy_(part(others));
    } else {
      batch.inputs.mul_(mix.share).add_(others, 1 - mix.share);
    }
  }

  ImageClassificationTaskConfig config_;
  std::shared_ptr<ImageEncoder> model_;
  ImageShape shape_;
  ImageInputConfig input_;
  std::function<void(const std::string&)> notice_;
  std::vector<fs::path> train_files_, valid_files_;
  int64_t batch_size_;
  Split train_, valid_;
  mutable std::set<std::pair<const ImageSet*, int64_t>> broken_;
  // Last, so that their threads end before what they use.
  mutable std::optional<Prefetch<Pictures>> train_loader_, valid_loader_;
};

}  // namespace

std::vector<std::string> labels_of_pictures(const ImageClassificationTaskConfig& config) {
  return image_labels(paths_of_train(config));
}

std::unique_ptr<Task> make_image_classification_task(const ImageClassificationTaskConfig& config,
                                                     const TaskParts& parts) {
  return std::make_unique<ImageTask>(
      config, parts,
      as_kind<ImageEncoder>(parts.model, cat("model.type, for the task ", config.kType)));
}

}  // namespace zoo
