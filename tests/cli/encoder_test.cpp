// fill-mask, classify, embed and eval of text encoders, through the built binary.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/json.h"
#include "tests/cli/small_run.h"

namespace zoo {
namespace {

using testing::cli;
using testing::CliResult;
using testing::small;
using testing::SmallRun;

TEST(FillMaskCommand, PrintsTheMostProbableTokensOfEachMask) {
  const CliResult found =
      cli({"fill-mask", "runs/bert", "the [MASK] finds old [MASK]", "--top", "3"});
  ASSERT_EQ(found.code, 0) << found.err;
  const auto lines = found.lines();
  ASSERT_EQ(lines.size(), 7);  // two masks, a blank line between
  EXPECT_EQ(lines[3], "");
  double last = 1;
  for (size_t i = 0; i < 3; ++i) {
    const auto columns = split(lines[i], '\t');
    ASSERT_EQ(columns.size(), 3);
    EXPECT_LE(std::stod(columns[1]), last);
    last = std::stod(columns[1]);
    EXPECT_TRUE(columns[2].starts_with("the ") || columns[0].starts_with("##")) << columns[2];
    EXPECT_TRUE(columns[2].ends_with("finds old [MASK]")) << columns[2];
  }
  EXPECT_TRUE(split(lines[4], '\t')[2].starts_with("the [MASK] finds old")) << lines[4];
}

TEST(FillMaskCommand, ProbabilitiesAddUpToOne) {
  const CliResult found =
      cli({"fill-mask", "-m", "runs/bert", "--text", "my [MASK]", "--top", "100000", "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const Json json = parse_json(found.out, "output");
  EXPECT_EQ(json["text"], "my [MASK]");
  double sum = 0;
  for (const Json& guess : json["masks"][0]) sum += guess["probability"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(FillMaskCommand, BadInputIsNamed) {
  const CliResult none = cli({"fill-mask", "runs/bert", "no mask"});
  EXPECT_EQ(none.code, 3);
  EXPECT_NE(none.err.find("the text: has no [MASK]"), std::string::npos) << none.err;
  const CliResult kind = cli({"fill-mask", "runs/classifier", "a [MASK]"});
  EXPECT_EQ(kind.code, 2);
  EXPECT_NE(kind.err.find("task masked_lm"), std::string::npos) << kind.err;
  const CliResult gpt = cli({"fill-mask", SmallRun::kModel, "a [MASK]"});
  EXPECT_EQ(gpt.code, 2);
  EXPECT_NE(gpt.err.find("is a language model, but a text encoder is needed"), std::string::npos);
  std::string longer = "[MASK]";
  for (int i = 0; i < 200; ++i) longer = "old " + longer;
  EXPECT_EQ(cli({"fill-mask", "runs/bert", longer}).code, 3);
}

TEST(ClassifyCommand, OneLineForEachLineOfText) {
  const CliResult found =
      cli({"classify", "runs/classifier", "--top", "2"}, "old books\n\nthe baker finds\n");
  ASSERT_EQ(found.code, 0) << found.err;
  const auto lines = found.lines();
  ASSERT_EQ(lines.size(), 3);
  EXPECT_TRUE(lines[0].starts_with("old books\t"));
  EXPECT_TRUE(lines[1].starts_with("\t"));
  const auto columns = split(lines[2], '\t');
  ASSERT_EQ(columns.size(), 5);
  EXPECT_NEAR(std::stod(columns[2]) + std::stod(columns[4]), 1, 1e-3);  // of two classes
  EXPECT_GE(std::stod(columns[2]), std::stod(columns[4]));
  // As many tokens together as there are, or a text at a time.
  EXPECT_EQ(cli({"classify", "runs/classifier", "--top", "2", "--batch-size", "1"},
                "old books\n\nthe baker finds\n")
                .out,
            found.out);
  const CliResult json = cli({"classify", "runs/classifier", "--json"}, "old books\n");
  EXPECT_EQ(parse_json(json.out, "output")["classes"].size(), 1);
}

TEST(ClassifyCommand, PairsAndOtherNames) {
  write_file(small() / "names.txt", "first\nsecond\n");
  const CliResult found = cli({"classify", "runs/classifier", "--pair", "--labels", "names.txt"},
                              "old books\tmy uncle\n");
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_TRUE(found.out.starts_with("old books\\tmy uncle\t") ||
              found.out.starts_with("old books\tmy uncle\t"))
      << found.out;
  const CliResult bad = cli({"classify", "runs/classifier", "--pair"}, "a\tb\nold books\n");
  EXPECT_EQ(bad.code, 3);
  EXPECT_NE(bad.err.find(":2: --pair expects \"text<TAB>text\", found 0 tabs"), std::string::npos)
      << bad.err;
  write_file(small() / "names.txt", "first\n");
  EXPECT_EQ(cli({"classify", "runs/classifier", "--labels", "names.txt"}, "a\n").code, 3);
  EXPECT_EQ(cli({"classify", "runs/bert"}, "a\n").code, 2);
}

TEST(ClassifyCommand, TagsWords) {
  const CliResult found = cli({"classify", "runs/tagger"}, "old books\nmy\n");
  ASSERT_EQ(found.code, 0) << found.err;
  const auto lines = found.lines();
  ASSERT_EQ(lines.size(), 5);
  EXPECT_TRUE(lines[0].starts_with("old\t"));
  EXPECT_TRUE(lines[1].starts_with("books\t"));
  EXPECT_EQ(lines[2], "");
  EXPECT_TRUE(lines[3].starts_with("my\t"));
}

TEST(EmbedCommand, EveryFormHoldsTheSameVectors) {
  const std::string texts = "old books\nmy uncle finds\n";
  const CliResult found = cli({"embed", "runs/bert", "--pooling", "mean"}, texts);
  ASSERT_EQ(found.code, 0) << found.err;
  ASSERT_EQ(found.lines().size(), 2);
  const Json first = parse_json(found.lines()[0], "line"),
             second = parse_json(found.lines()[1], "");
  EXPECT_EQ(first.size(), 16);
  for (const char* name : {"v.json", "v.npy", "v.safetensors"}) {
    const CliResult written = cli({"embed", "runs/bert", "--pooling", "mean", "-o", name}, texts);
    ASSERT_EQ(written.code, 0) << written.err;
    EXPECT_EQ(written.out, "");
  }
  const Json json = read_json_file(small() / "v.json");
  EXPECT_EQ(json[0], first);
  EXPECT_EQ(json[1], second);
  // NumPy's header, then 2 times 16 floats.
  const std::string npy = read_file(small() / "v.npy");
  EXPECT_TRUE(npy.starts_with(std::string("\x93NUMPY\x01\x00", 8)));
  EXPECT_NE(npy.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 16, ), }"),
            std::string::npos);
  ASSERT_EQ(npy.size() % 64, 0);
  float value = 0;
  std::memcpy(&value, npy.data() + npy.size() - 2 * 16 * sizeof(float), sizeof value);
  EXPECT_FLOAT_EQ(value, first[0].get<float>());
}

TEST(EmbedCommand, SimilarityIsTheCosine) {
  const std::string texts = "old books\nold books\nmy uncle finds\n";
  const CliResult found = cli({"embed", "runs/bert", "--pooling", "mean", "--similarity"}, texts);
  ASSERT_EQ(found.code, 0) << found.err;
  const CliResult unit = cli({"embed", "runs/bert", "--pooling", "mean", "--normalize"}, texts);
  std::vector<Json> vectors;
  for (const std::string& line : unit.lines()) vectors.push_back(parse_json(line, "line"));
  for (size_t row = 0; row < 3; ++row) {
    const Json cosines = parse_json(found.lines()[row], "line");
    ASSERT_EQ(cosines.size(), 3);
    for (size_t column = 0; column < 3; ++column) {
      double product = 0;
      for (size_t i = 0; i < vectors[row].size(); ++i)
        product += vectors[row][i].get<double>() * vectors[column][i].get<double>();
      EXPECT_NEAR(cosines[column].get<double>(), product, 1e-5);
    }
  }
  EXPECT_EQ(cli({"embed", "runs/bert", "-o", "v.txt"}, texts).code, 2);
  EXPECT_EQ(cli({"embed", "runs/bert"}, "").code, 3);
}

TEST(EvalCommand, OfAClassifierHasTablesAndAGate) {
  const CliResult found = cli({"eval", "runs/classifier", "--data", "labelled.tsv"});
  ASSERT_EQ(found.code, 0) << found.err;
  for (const char* part : {"accuracy = ", "macro_f1 = ", "micro_f1 = ", "weighted_f1 = ",
                           "matthews = ", "precision", "true \\ predicted", "texts: "})
    EXPECT_NE(found.out.find(part), std::string::npos) << part;
  const CliResult json = cli({"eval", "runs/classifier", "--metrics", "f1,confusion", "--json"});
  ASSERT_EQ(json.code, 0) << json.err;
  const Json result = parse_json(json.out, "output");
  EXPECT_TRUE(result.contains("macro_f1"));
  EXPECT_FALSE(result.contains("accuracy"));
  EXPECT_EQ(result["confusion"].size(), 2);
  EXPECT_EQ(cli({"eval", "runs/classifier", "--min-score", "1.1"}).code, 4);
  EXPECT_EQ(cli({"eval", "runs/classifier", "--metrics", "f2"}).code, 2);
  const CliResult tags = cli({"eval", "runs/tagger"});
  EXPECT_NE(tags.out.find("words: "), std::string::npos) << tags.err;
}

TEST(EvalCommand, OfAMaskedLanguageModel) {
  const CliResult found = cli({"eval", "runs/bert", "--data", "text.txt", "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const Json result = parse_json(found.out, "output");
  EXPECT_NEAR(result["perplexity"].get<double>(), std::exp(result["loss"].get<double>()), 1e-6);
  EXPECT_TRUE(result.contains("accuracy"));
  const CliResult valid = cli({"eval", "runs/bert"});
  EXPECT_EQ(valid.code, 0) << valid.err;
}

}  // namespace
}  // namespace zoo
