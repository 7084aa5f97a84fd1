// The task image_classification.

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint.h"
#include "core/config.h"
#include "data/image_file.h"
#include "tests/support/message_of.h"
#include "tests/training/small_project.h"
#include "training/image_task.h"

namespace zoo {
namespace {

using testing::after;
using testing::message_of;
using testing::Notices;

struct SmallPictures : testing::SmallProject {
  SmallPictures() {
    // A bright square at the left or at the right of noise.
    RandomStream random(3, 4);
    for (int i = 0; i < 40; ++i) {
      Image image = Image::black(3, 8, 8);
      for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.next_below(60));
      for (int64_t row = 2; row < 6; ++row)
        for (int64_t column = 0; column < 4; ++column)
          image.at(row, column + (i % 2 == 0 ? 0 : 4))[i % 3] = 255;
      write_file(folder / "set" / (i % 2 == 0 ? "left" : "right") / (std::to_string(i) + ".png"),
                 encode_png(image));
    }
  }

  ProjectConfig project(const std::vector<std::string>& settings = {}) const {
    Json json = {{"model",
                  {{"type", "vit"},
                   {"image_height", 8},
                   {"image_width", 8},
                   {"patch_size", 4},
                   {"num_layers", 1},
                   {"d_model", 32},
                   {"block", {{"attention", {{"num_heads", 2}}}}}}},
                 {"task",
                  {{"type", "image_classification"},
                   {"train", {utf8(folder / "set")}},
                   {"valid", {utf8(folder / "set")}}}},
                 {"training",
                  {{"learning_rate", 3e-3},
                   {"schedule", {{"type", "linear"}, {"warmup_steps", 5}}},
                   {"max_steps", 12},
                   {"batch_size", 16},
                   {"log_every", 1},
                   {"eval_every", 12}}}};
    for (const std::string& setting : settings) merge_setting(json, parse_setting(setting));
    return read_project(std::move(json), "small#");
  }
  double accuracy(const std::string& run = "run") const {
    return metrics(run).back()["valid_accuracy"].get<double>();
  }
  Tensor weights(const std::string& run = "run") const {
    std::vector<Tensor> all;
    for (const Tensor& parameter : load_model(folder / run).model->parameters())
      all.push_back(parameter.detach().flatten());
    return torch::cat(all);
  }
};

TEST(ImageTask, LearnsAndSavesWithLabels) {
  const SmallPictures small;
  Notices notices;
  train(small.project({"training.max_steps=60", "training.eval_every=60"}), small.options(),
        notices);
  EXPECT_EQ(small.accuracy(), 1) << small.metrics().back().dump();
  const LoadedModel loaded = load_model(small.folder / "run");
  EXPECT_EQ(loaded.as<ImageEncoder>()->labels(), (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(loaded.tokenizer, nullptr);
  const std::string sample = read_file(small.folder / "run/samples" / "step-000060.txt");
  EXPECT_NE(sample.find("0.png\tleft (wanted: left)\n"), std::string::npos) << sample;
}

TEST(ImageTask, WorkersAndInterruptionsChangeNothing) {
  const SmallPictures small;
  const std::vector<std::string> changes = {
      "task.augment={\"random_crop\": 1, \"horizontal_flip\": 0.1, \"random_erasing\": 0.5, "
      "\"mixup\": 0.2, \"cutmix\": 1}"};
  const auto with_workers = [&](int64_t workers) {
    std::vector<std::string> all = changes;
    all.push_back(cat("task.workers=", workers));
    return small.project(all);
  };
  Notices notices;
  train(with_workers(0), small.options("none"), notices);
  train(with_workers(3), small.options("three"), notices);
  TrainOptions options = small.options("parts");
  options.stop = after(5);
  train(with_workers(2), options, notices);
  options.stop = [] { return false; };
  options.resume = "last";
  train(with_workers(2), options, notices);
  EXPECT_TRUE(torch::equal(small.weights("none"), small.weights("three")));
  EXPECT_TRUE(torch::equal(small.weights("none"), small.weights("parts")));
}

TEST(ImageTask, BrokenPicturesAreLeftOutAndCounted) {  // IMG-4
  const SmallPictures small;
  write_file(small.folder / "set/left/00.png", "text");
  write_file(small.folder / "set/right/99.jpg", "");
  Notices notices;
  train(small.project(), small.options(), notices);
  const std::string all = join(notices.all, "\n");
  EXPECT_NE(all.find("left/00.png: neither a PNG nor a JPEG"), std::string::npos) << all;
  EXPECT_NE(all.find("right/99.jpg: an empty file"), std::string::npos) << all;
  EXPECT_NE(all.find("; it is left out (2 so far)"), std::string::npos) << all;
  EXPECT_EQ(small.metrics().back().contains("valid_accuracy"), true);

  for (int i = 0; i < 40; ++i)
    write_file(
        small.folder / "set" / (i % 2 == 0 ? "left" : "right") / (std::to_string(i) + ".png"),
        "text");
  const std::string none =
      message_of([&] { train(small.project(), small.options("none"), notices); });
  EXPECT_TRUE(none.starts_with("task.train: every picture is broken; the first: ")) << none;
}

TEST(ImageTask, AShareIsHeldOutWhereNothingElseIsNamed) {
  const SmallPictures small;
  Notices notices;
  train(small.project({"task.valid=[]", "task.valid_fraction=0.25"}), small.options(), notices);
  const Json receipt = read_json_file(small.folder / "run/run.json")["data"];
  EXPECT_EQ(receipt["train"]["pictures"], 30);
  EXPECT_EQ(receipt["valid"]["pictures"], 10);
  const std::string none = message_of([&] {
    train(small.project({"task.valid=[]", "task.valid_fraction=0"}), small.options("b"), notices);
  });
  EXPECT_NE(none.find("leaves none to evaluate on"), std::string::npos) << none;
}

TEST(ImageTask, MixedPicturesCountForBothClasses) {
  const SmallPictures small;
  const ProjectConfig project =
      small.project({"task.augment.mixup=1", "task.workers=0", "training.label_smoothing=0.1"});
  ModelConfig config = project.model;
  fit_to_data(config, project.task);
  torch::manual_seed(1);
  const auto model = make_model(config);
  const auto task =
      make_task(project.task,
                {.model = model, .training = &project.training, .cache = small.folder / "cache"});
  const Batch batch = task->batch(0);
  ASSERT_TRUE(batch.shares.defined());
  EXPECT_TRUE(torch::equal(batch.other_targets, batch.targets.flip(0)));
  auto& encoder = dynamic_cast<ImageEncoder&>(*model);
  const Tensor logits = encoder.logits(encoder.encode(batch.inputs)).to(torch::kFloat64);
  // Cross entropy with the mixed and smoothed distribution, from its definition.
  const Tensor hard = torch::one_hot(batch.targets, 2).to(torch::kFloat64);
  const Tensor share = batch.shares.unsqueeze(1).to(torch::kFloat64);
  const Tensor mixed = 0.9 * (share * hard + (1 - share) * hard.flip(0)) + 0.1 / 2;
  const double wanted = -(mixed * logits.log_softmax(-1)).sum().item<double>();
  EXPECT_NEAR(task->loss_sum(*model, batch).item<double>(), wanted, 1e-4);
}

TEST(ImageTask, FineTuningResizesPositionsAndDrawsANewHead) {
  const SmallPictures small;
  Notices notices;
  train(small.project(), small.options("first"), notices);
  fs::rename(small.folder / "set/left", small.folder / "set/links");
  TrainOptions options = small.options("second");
  options.init_from = small.folder / "first";
  train(small.project({"model.image_height=16", "model.image_width=12", "training.max_steps=1",
                       "training.schedule.warmup_steps=0"}),
        options, notices);
  EXPECT_NE(join(notices.all, "\n").find("has no weights for classifier.weight, classifier.bias"),
            std::string::npos);
  const LoadedModel loaded = load_model(small.folder / "second");
  EXPECT_EQ(loaded.model->named_parameters()["position.weight"].size(0), 4 * 3 + 1);
  EXPECT_EQ(loaded.as<ImageEncoder>()->labels(), (std::vector<std::string>{"links", "right"}));
}

TEST(ImageTask, PicturesAndTextDoNotMix) {
  const SmallPictures small;
  Notices notices;
  const auto problem = [&](const std::vector<std::string>& settings) {
    fs::remove_all(small.folder / "bad");
    return message_of([&] { train(small.project(settings), small.options("bad"), notices); });
  };
  EXPECT_NE(problem({"tokenizer=char"}).find("reads pictures; leave the tokenizer out"),
            std::string::npos);
  EXPECT_NE(problem({"model={\"type\": \"bert\"}"}).find("image_classification has no text"),
            std::string::npos);
  EXPECT_NE(problem({"model={\"type\": \"bert\"}", "tokenizer=none"})
                .find("reads text, and needs another tokenizer than \"none\""),
            std::string::npos);
  EXPECT_NE(problem({cat("task={\"type\": \"language_model\", \"train\": [\"",
                         utf8(small.folder / "text.txt"), "\"]}")})
                .find("model"),
            std::string::npos);
  EXPECT_NE(problem({"task.train=[]"}).find("task.train: names no pictures"), std::string::npos);
}

}  // namespace
}  // namespace zoo
