// attention, through the built binary.

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::cli;
using testing::CliResult;
using testing::holds;
using testing::small;
using testing::SmallRun;

Json json_of(const std::vector<std::string>& arguments, const std::string& input = "") {
  const CliResult found = cli(arguments, input);
  EXPECT_EQ(found.code, 0) << found.err;
  return parse_json(found.out, "output");
}

TEST(AttentionCommand, PrintsALineForEachHeadAndUniformAttention) {
  const CliResult found = cli({"attention", SmallRun::kModel, "--text", "To be"});
  ASSERT_EQ(found.code, 0) << found.err;
  const auto lines = found.lines();
  ASSERT_EQ(lines.size(), 5);  // the text, the header, two heads, uniform attention
  EXPECT_EQ(lines[0], "To be");
  EXPECT_TRUE(lines[1].starts_with("attention  layer  head  entropy  relative_entropy  distance"));
  EXPECT_TRUE(lines[2].starts_with("self           0     0  ")) << lines[2];
  EXPECT_TRUE(lines[4].starts_with("uniform")) << lines[4];
  // The mean of ln 2 to ln 5; T / 4.
  EXPECT_TRUE(holds(lines[4], "1.197             1.000     1.250")) << lines[4];
}

TEST(AttentionCommand, ReadsLinesAndLeavesBlankOnesOut) {
  const CliResult found = cli({"attention", SmallRun::kModel, "--json"}, "To\n\nbe or\n");
  ASSERT_EQ(found.code, 0) << found.err;
  ASSERT_EQ(found.lines().size(), 2);
  EXPECT_EQ(parse_json(found.lines()[1], "line")["input"], "be or");
  EXPECT_EQ(parse_json(found.lines()[1], "line")["maps"][0]["keys"].size(), 5);
  const CliResult file =
      cli({"attention", SmallRun::kModel, "-i", "source.txt", "--format", "csv", "--summary"});
  ASSERT_EQ(file.code, 0) << file.err;
  EXPECT_EQ(file.lines().size(), 1 + 2 * 2);
  EXPECT_TRUE(file.lines()[4].starts_with("2,self,0,1,")) << file.out;
}

TEST(AttentionCommand, AlignsTranslations) {
  const Json own = json_of({"attention", "runs/translate", "--text", "a b c", "--json"});
  EXPECT_EQ(own["maps"].size(), 1);
  EXPECT_EQ(own["maps"][0]["attention"], "cross");
  EXPECT_EQ(own["maps"][0]["keys"].size(), 4);
  const CliResult greedy = cli({"translate", "runs/translate", "--greedy"}, "a b c\n");
  EXPECT_EQ(own["second"].get<std::string>() + "\n", greedy.out);

  const Json given = json_of({"attention", "runs/translate", "--text", "a b", "--target", "b a",
                              "--part", "encoder,decoder,cross", "--average", "--json"});
  ASSERT_EQ(given["maps"].size(), 3);
  const Json& cross = given["maps"][2];
  EXPECT_EQ(cross["queries"], (std::vector<std::string>{"▁b", "▁a", "</s>"}));
  EXPECT_EQ(cross["keys"], (std::vector<std::string>{"▁a", "▁b", "</s>"}));
  EXPECT_EQ(cross["heads"].size(), 1);
  EXPECT_EQ(cross["heads"][0]["head"], "mean");
  EXPECT_TRUE(cross["uniform"].contains("diagonality"));
  EXPECT_EQ(given["maps"][1]["queries"].size(), 3);

  // The same numbers as translate has for its own translation.
  cli({"translate", "runs/translate", "--greedy", "--attention", "alignment.jsonl"}, "a b c\n");
  const Json translated = parse_json(read_file(small() / "alignment.jsonl"), "alignment.jsonl");
  const Json mean =
      json_of({"attention", "runs/translate", "--text", "a b c", "--average", "--json"});
  EXPECT_EQ(translated["target"], mean["maps"][0]["queries"]);
  EXPECT_EQ(translated["source"], mean["maps"][0]["keys"]);
  EXPECT_EQ(translated["attention"], mean["maps"][0]["heads"][0]["weights"]);
  const Json pairs = json_of({"attention", "runs/translate", "--pair", "--json"}, "a b\tb a\n");
  EXPECT_EQ(pairs["maps"][0]["queries"], cross["queries"]);
}

TEST(AttentionCommand, ReadsPairsOfTexts) {
  const Json pair = json_of(
      {"attention", "runs/bert", "--text", "the", "--second", "old [MASK]", "--special", "--json"});
  const Json& keys = pair["maps"][0]["keys"];
  EXPECT_EQ(keys[0], "[CLS]");
  EXPECT_EQ(keys.back(), "[SEP]");
  EXPECT_EQ(keys[keys.size() - 2], "[MASK]");
  const Json same =
      json_of({"attention", "runs/bert", "--pair", "--special", "--json"}, "the\told [MASK]\n");
  EXPECT_EQ(same["maps"], pair["maps"]);
}

TEST(AttentionCommand, DrawsHeadsAndRollouts) {
  const CliResult svg = cli({"attention", "runs/bert", "--text", "the old", "-o", "maps/bert.svg"});
  ASSERT_EQ(svg.code, 0) << svg.err;
  EXPECT_TRUE(holds(svg.out, "uniform")) << "the numbers are printed too";
  const std::string drawn = read_file(small() / "maps/bert.svg");
  EXPECT_TRUE(drawn.starts_with("<svg"));
  EXPECT_TRUE(holds(drawn, ">layer 0 head 1<"));
  EXPECT_TRUE(holds(drawn, ">[CLS]<"));
  const CliResult out = cli({"attention", "runs/bert", "--text", "the old", "--format", "svg"});
  EXPECT_EQ(out.out, drawn);
  const CliResult rollout = cli(
      {"attention", "runs/bert", "--text", "the old", "--format", "svg", "--rollout", "-o", "-"});
  EXPECT_FALSE(holds(rollout.out, "head 1"));
  EXPECT_TRUE(holds(rollout.out, ">[CLS]<"));
  ASSERT_EQ(cli({"attention", SmallRun::kModel, "--text", "be", "-o", "maps/gpt.png"}).code, 0);
  EXPECT_TRUE(read_file(small() / "maps/gpt.png").starts_with("\x89PNG"));
}

TEST(AttentionCommand, SeesPictures) {
  const Json json = json_of({"attention", "runs/vit", "--input", "pictures/red/1.png", "--json"});
  EXPECT_EQ(json["input"], "pictures/red/1.png");
  EXPECT_EQ(json["second"], "red");
  const Json& maps = json["maps"][0];
  EXPECT_EQ(maps["distance_unit"], "pixels");
  EXPECT_EQ(maps["patches"]["rows"], 2);
  EXPECT_EQ(maps["keys"][1], "0,0");
  EXPECT_EQ(maps["relevance"].size(), 2);
  const CliResult folder = cli({"attention", "runs/vit", "-i", "pictures/red", "-i",
                                "pictures/blue/1.png", "--format", "csv", "--summary"});
  EXPECT_EQ(folder.lines().size(), 1 + 4 * 2);
  for (const std::string name : {"vit.png", "vit.svg"}) {
    ASSERT_EQ(cli({"attention", "runs/vit", "-i", "pictures/red/1.png", "-o", name}).code, 0);
    ASSERT_EQ(cli({"attention", "runs/vit", "-i", "pictures/red/1.png", "--rollout", "-o",
                   "rollout-" + name})
                  .code,
              0);
  }
  // The rollout is the picture of classify.
  cli({"classify", "runs/vit", "pictures/red/1.png", "--rollout", "maps"});
  EXPECT_TRUE(read_file(small() / "rollout-vit.png") ==
              read_file(small() / "maps/pictures-red-1.png.rollout.png"));
  EXPECT_TRUE(holds(read_file(small() / "rollout-vit.svg"), "data:image/png;base64,"));
  write_file(small() / "no.png", "no picture");
  const CliResult broken =
      cli({"attention", "runs/vit", "-i", "no.png", "-i", "pictures/red/1.png"});
  EXPECT_EQ(broken.code, 3);
  EXPECT_EQ(broken.lines().size(), 5);
  EXPECT_TRUE(holds(broken.err, "1 pictures could not be read")) << broken.err;
}

TEST(AttentionCommand, WrongUseIsExplained) {
  const auto expect = [](std::vector<std::string> flags, int code, const std::string& part,
                         const std::string& input = "a\n") {
    flags.insert(flags.begin(), "attention");
    const CliResult found = cli(flags, input);
    EXPECT_EQ(found.code, code) << join(flags, " ") << found.err;
    EXPECT_TRUE(holds(found.err, part)) << found.err;
    EXPECT_EQ(found.out, "") << "nothing before the message";
  };
  const std::string gpt = SmallRun::kModel;
  expect({}, 2, "no model is given");
  expect({gpt, "--text", "a", "-i", "source.txt"}, 2, "--text and --input were given");
  expect({gpt, "-i", "source.txt", "-i", "target.txt"}, 2, "texts are read from one file");
  expect({gpt, "--text", "a", "--pair"}, 2, "--pair is for lines of a file");
  expect({gpt, "--target", "a"}, 2, "--target, --second: belongs to --text");
  expect({gpt, "--text", "a", "--second", "b"}, 2, "which reads one text");
  expect({gpt, "--text", "a", "--average", "--layers", "2"}, 2,
         "no layer 2; the attention \"self\" has layers 0 to 0");
  expect({gpt, "--text", "a", "--heads", "0,5"}, 2, "no head 5");
  for (const char* numbers : {"x", "1-", "3-1", "1-2-3", "-1", "1,,2"})
    expect({gpt, "--text", "a", cat("--layers=", numbers)}, 2, "expected numbers from 0");
  expect({gpt, "--text", "a", "--part", "cross"}, 2, "--part cross: this model has self alone");
  expect({gpt, "--text", "a", "-o", "maps.txt"}, 2, "its end tells no format; allowed: .json");
  expect({gpt, "--text", "a", "--format", "png"}, 2, "is no text; give -o FILE.png");
  expect({gpt, "--text", "a", "--format", "csv", "--json"}, 2, "both mean standard output");
  expect({gpt, "--text", "a", "--rollout"}, 2, "--rollout is drawn");
  expect({gpt, "--text", "a", "--rollout", "--layers", "0", "--format", "svg"}, 2,
         "leave out --layers");
  expect({gpt, "--text", "a", "--summary"}, 2, "--summary leaves the weights out of JSON and CSV");
  expect({gpt, "--average", "--format", "svg"}, 2, "a picture shows one input", "a\nb\n");
  expect({gpt, "--text", "a", "--average", "--image-size", "8"}, 2, "flags for pictures");
  expect({gpt}, 3, "standard input: holds no text", "\n \n");
  expect({gpt}, 3, "standard input:2: attention: the text has 65 tokens",
         "\n" + std::string(65, 'a') + "\n");
  expect({"runs/bert", "--pair"}, 3, "standard input:1: --pair expects");
  expect({"runs/vit"}, 2, "no picture is given");
  expect({"runs/vit", "--text", "a"}, 2, "the model sees pictures");
  expect({"runs/translate", "--text", "a", "--rollout", "--format", "svg"}, 2, "rollout: only");
  EXPECT_FALSE(fs::exists(small() / "maps.txt"));
}

}  // namespace
}  // namespace zoo
