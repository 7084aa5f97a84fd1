// classify and eval of vision models, through the built binary.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::cli;
using testing::CliResult;
using testing::holds;
using testing::run_cli;
using testing::small;

TEST(ClassifyPictures, PrintsALineForEach) {
  const CliResult found =
      cli({"classify", "runs/vit", "pictures/red/1.png", "pictures/blue/2.png", "--top", "5"});
  ASSERT_EQ(found.code, 0) << found.err;
  const auto lines = found.lines();
  ASSERT_EQ(lines.size(), 2);
  const auto first = split(lines[0], '\t'), second = split(lines[1], '\t');
  ASSERT_EQ(first.size(), 5);
  EXPECT_EQ(first[0], "pictures/red/1.png");
  EXPECT_EQ(first[1], "red");
  EXPECT_EQ(first[3], "blue");
  EXPECT_NEAR(std::stod(first[2]) + std::stod(first[4]), 1, 2e-4);
  EXPECT_EQ(second[1], "blue");
}

TEST(ClassifyPictures, TakesFoldersListsAndJson) {
  const CliResult folder = cli({"classify", "-m", "runs/vit", "pictures"});
  ASSERT_EQ(folder.code, 0) << folder.err;
  EXPECT_EQ(folder.lines().size(), 6);
  EXPECT_TRUE(folder.lines()[0].starts_with("pictures/blue/1.png\tblue\t")) << folder.out;
  const CliResult list = cli({"classify", "runs/vit", "--list", "-", "--json"},
                             "pictures/red/3.png\n\npictures/blue/3.png\n");
  ASSERT_EQ(list.code, 0) << list.err;
  const Json json = parse_json(list.lines()[1], "line");
  EXPECT_EQ(json["image"], "pictures/blue/3.png");
  EXPECT_EQ(json["classes"][0]["label"], "blue");
}

TEST(ClassifyPictures, GoesOnAfterABadOne) {  // IMG-4, SYS-3
  const std::string name = "modèle Ω 模型 🦊.png";
  write_file(small() / utf8_path(name), "no picture");
  const CliResult found =
      run_cli({"classify", "runs/vit", name, "none.png", "pictures/red/1.png"}, "", small().path());
  EXPECT_EQ(found.code, 3);
  EXPECT_EQ(found.lines().size(), 1);
  EXPECT_TRUE(holds(found.err, name + ": neither a PNG nor a JPEG")) << found.err;
  EXPECT_TRUE(holds(found.err, "none.png: ")) << found.err;
  EXPECT_TRUE(holds(found.err, "2 of 3 pictures could not be read")) << found.err;
}

TEST(ClassifyPictures, FlagsChangeHowPicturesAreRead) {
  const auto first = [](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {"classify", "runs/vit", "pictures/red/1.png", "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const CliResult found = cli(arguments);
    EXPECT_EQ(found.code, 0) << found.err;
    return parse_json(found.out, "output")["classes"][0]["probability"].get<double>();
  };
  const double plain = first({});
  EXPECT_EQ(first({"--mean", "0.5", "--std", "0.5,0.5,0.5"}), plain);
  EXPECT_EQ(first({"--crop-pct", "0", "--interpolation", "bicubic"}), plain);  // no size changes
  EXPECT_NE(first({"--mean", "0.1"}), plain);
  EXPECT_NE(first({"--image-size", "16x8"}), plain);
  write_file(small() / "names.txt", "azul\nrojo\n");
  EXPECT_TRUE(
      holds(cli({"classify", "runs/vit", "pictures/red/1.png", "--labels", "names.txt"}).out,
            "\trojo\t"));
}

TEST(ClassifyPictures, RolloutWritesPictures) {
  const CliResult found =
      cli({"classify", "runs/vit", "pictures/red/1.png", "--rollout", "heat/new"});
  ASSERT_EQ(found.code, 0) << found.err;
  const fs::path heat = small() / "heat/new/pictures-red-1.png.rollout.png";
  EXPECT_TRUE(read_file(heat).starts_with("\x89PNG"));
  EXPECT_EQ(cli({"classify", "runs/vit", utf8(heat)}).code, 0);
}

TEST(ClassifyPictures, WrongUseIsExplained) {
  const auto error = [](const std::vector<std::string>& arguments, int code) {
    const CliResult found = cli(arguments);
    EXPECT_EQ(found.code, code) << found.err;
    return found.err;
  };
  EXPECT_TRUE(holds(error({"classify", "runs/vit"}, 2), "no picture is given"));
  EXPECT_TRUE(holds(error({"classify", "runs/vit", "--pair"}, 2), "are for texts"));
  EXPECT_TRUE(holds(error({"classify", "runs/classifier", "a.png"}, 2), "the model reads texts"));
  EXPECT_TRUE(holds(error({"classify", "runs/vit", "a.png", "--image-size", "9"}, 2),
                    "must be a multiple of the model's patch size, 4"));
  EXPECT_TRUE(holds(error({"classify", "runs/vit", "a.png", "--image-size", "8x8x8"}, 2),
                    "expected pixels"));
  EXPECT_TRUE(
      holds(error({"classify", "runs/vit", "a.png", "--interpolation", "bicubc"}, 2), "bicubic"));
  EXPECT_TRUE(holds(error({"classify", "runs/vit", "a.png", "--mean", "x"}, 2), "--mean x"));
  EXPECT_TRUE(holds(error({"classify", "runs/vit", "a.png", "--std", "1,1"}, 2), "has 2 numbers"));
}

TEST(EvalPictures, PrintsWhatClassifiersHave) {
  const CliResult found = cli({"eval", "runs/vit", "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const Json json = parse_json(found.out, "output");
  EXPECT_EQ(json["accuracy"], 1);
  EXPECT_EQ(json["pictures"], 6);
  EXPECT_EQ(json["classes"][1]["class"], "red");
  write_file(small() / "more/red/x.png", "broken");
  write_file(small() / "more/blue/y.png", testing::small_picture(false));
  const CliResult broken = cli({"eval", "runs/vit", "--data", "more", "--metrics", "accuracy"});
  EXPECT_EQ(broken.code, 0);
  EXPECT_TRUE(holds(broken.out, "accuracy = 1.0000\npictures: 1\n")) << broken.out;
  EXPECT_TRUE(holds(broken.err, "1 pictures could not be read and are left out")) << broken.err;
  EXPECT_EQ(cli({"eval", "runs/vit", "--min-score", "1.5"}).code, 4);
}

}  // namespace
}  // namespace zoo
