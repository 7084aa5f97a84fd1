#include "training/config.h"

#include <gtest/gtest.h>

#include "core/config.h"
#include "core/error.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using testing::message_of;

class ProjectConfigTest : public ::testing::Test {
 protected:
  testing::TempFolder folder_;
  fs::path file(const std::string& name, std::string_view content) {
    write_file(folder_ / name, content);
    return folder_ / name;
  }
};

TEST_F(ProjectConfigTest, LaterFilesAndSettingsWin) {
  const auto first = file("a.json", R"({"training": {"batch_size": 4, "learning_rate": 0.5}})");
  const auto second = file("b.json", R"({"$schema": "x", "training": {"batch_size": 8}})");
  const ProjectConfig project =
      read_project({first, second}, {parse_setting("training.learning_rate=0.25")});
  EXPECT_EQ(project.training.batch_size, 8);
  EXPECT_EQ(project.training.learning_rate, 0.25);
}

TEST_F(ProjectConfigTest, AVariantKeepsItsKeysUntilItsTypeChanges) {
  const auto base = file("a.json", R"({"training": {"optimizer": {"type": "adamw", "beta2": 0.99},
                                                     "schedule": "linear"}})");
  const auto beta2 = [&](const char* setting) {
    return std::get<AdamWConfig>(read_project({base}, {parse_setting(setting)}).training.optimizer)
        .beta2;
  };
  EXPECT_EQ(beta2("training.optimizer=adamw"), 0.99);
  EXPECT_EQ(beta2("training.optimizer.eps=1e-6"), 0.99);
  const auto sgd = read_project({base}, {parse_setting("training.optimizer.type=sgd"),
                                         parse_setting("training.schedule.warmup_steps=7")});
  EXPECT_TRUE(std::holds_alternative<SgdConfig>(sgd.training.optimizer));
  EXPECT_EQ(std::get<LinearScheduleConfig>(sgd.training.schedule).warmup_steps, 7);
}

TEST(ParseSetting, ReadsJsonElseAString) {
  EXPECT_EQ(parse_setting("a.b=3").value, Json(3));
  EXPECT_EQ(parse_setting("a.b=[1, 2]").value, Json::array({1, 2}));
  EXPECT_EQ(parse_setting("a.b=x=y").value, Json("x=y"));
  EXPECT_EQ(parse_setting("a.b=").value, Json(""));
  EXPECT_EQ(message_of([] { parse_setting("training.max_steps"); }),
            "--set training.max_steps: expected KEY=VALUE, such as training.max_steps=100");
}

TEST_F(ProjectConfigTest, NamesTheSourceOfAMistake) {
  const auto base = file("a.json", "{}");
  const std::string found =
      message_of([&] { read_project({base}, {parse_setting("training.max_step=3")}); });
  EXPECT_TRUE(found.starts_with(utf8(base) + " + --set#/training/max_step: unknown key "
                                             "\"max_step\"; did you mean \"max_steps\"?"))
      << found;
  const auto list = file("list.json", "[1]");
  EXPECT_EQ(message_of([&] { read_project({list}); }),
            utf8(list) +
                ": expected an object with the keys model, tokenizer, task and training, "
                "found an array");
}

TEST(TrainingConfigCheck, RefusesWhatCannotBeMeant) {
  const auto problem = [](const char* text) {
    return message_of([&] { read_project(parse_json(text, "x"), "x#"); });
  };
  EXPECT_NE(problem(R"({"training": {"schedule": "noam"}})").find("set learning_rate to 1"),
            std::string::npos);
  EXPECT_EQ(problem(R"({"training": {"schedule": "noam", "learning_rate": 1}})"), "");
  EXPECT_EQ(
      problem(R"({"training": {"schedule": {"type": "cosine", "min_learning_rate": 0.01}}})"),
      "x#/training: schedule: min_learning_rate 0.01 is above learning_rate 0.001; it must not be");
  EXPECT_EQ(
      problem(R"({"training": {"optimizer": {"type": "sgd", "momentum": 0, "nesterov": true}}})"),
      "x#/training/optimizer: nesterov needs a momentum above 0, found 0");
  EXPECT_EQ(
      problem(R"({"task": {"train": ["a.tokens", "b.txt"]}})"),
      "x#/task: train: a.tokens is packed and must stand alone, found 2 files; pack all texts "
      "into one file with `data pack`");
}

TEST(ProjectConfigJson, EveryConfigOfTheProjectIsRead) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ZOO_SOURCE_DIR) / "configs")) {
    EXPECT_EQ(message_of([&] { read_project({entry.path()}); }), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST(ProjectConfigJson, ResolvedConfigReadsBackEqual) {
  const ProjectConfig project;
  const Json json = config_to_json(project);
  EXPECT_EQ(config_to_json(read_project(json, "resolved#")), json);
}

}  // namespace
}  // namespace zoo
