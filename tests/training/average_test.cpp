// The mean of checkpoints, and which ones of a run are taken.

#include "checkpoint/average.h"

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "core/json.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_folder.h"
#include "training/averaging.h"

namespace zoo {
namespace {

using testing::message_of;
using testing::TempFolder;

class AverageTest : public ::testing::Test {
 protected:
  TempFolder folder_;

  fs::path checkpoint(const std::string& name, const NamedTensors& tensors,
                      const std::string& tokenizer = "t") {
    const fs::path folder = folder_ / name;
    write_safetensors(folder / "model.safetensors", tensors);
    write_file(folder / "config.json", "{}");
    write_file(folder / "tokenizer.json", tokenizer);
    write_file(folder / "source_tokenizer/spm.model", "source");
    write_file(folder / "trainer.json", "{}");
    write_file(folder / "optimizer.safetensors", "moments");
    return folder;
  }
  fs::path average(const std::vector<fs::path>& folders) {
    fs::create_directories(folder_ / "mean");
    average_checkpoints(folders, folder_ / "mean");
    return folder_ / "mean";
  }
};

// Float32 sums would lose the ones: 2^24 + 1 is not a float32.
TEST_F(AverageTest, IsExactAndRoundedOnce) {
  const float big = 16777216.0f;
  std::vector<fs::path> folders;
  for (const auto& [name, value] :
       {std::pair{"a", big}, std::pair{"b", 1.0f}, std::pair{"c", 1.0f}, std::pair{"d", -big}})
    folders.push_back(
        checkpoint(name, {{"w", torch::full({2, 3}, value)},
                          {"half", torch::full({3}, value == big ? 1.5 : 0.25, torch::kBFloat16)},
                          {"count", torch::full({1}, 7, torch::kInt64)}}));
  const fs::path mean = average(folders);
  const SafetensorsFile file(mean / "model.safetensors");
  EXPECT_TRUE(torch::equal(file.tensor("w"), torch::full({2, 3}, 0.5f)));
  EXPECT_TRUE(torch::equal(file.tensor("half"), torch::full({3}, 0.5625, torch::kBFloat16)));
  EXPECT_EQ(file.tensor("count").item<int64_t>(), 7);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(read_file(mean / "tokenizer.json"), "t");
  EXPECT_EQ(read_file(mean / "source_tokenizer/spm.model"), "source");
  EXPECT_FALSE(fs::exists(mean / "trainer.json"));
  EXPECT_FALSE(fs::exists(mean / "optimizer.safetensors"));
}

TEST_F(AverageTest, RefusesCheckpointsOfOtherModels) {
  const Tensor two = torch::ones({2});
  const fs::path first = checkpoint("first", {{"a", two}});
  const auto refusal = [&](const NamedTensors& tensors, const std::string& tokenizer = "t") {
    const fs::path other = checkpoint("other", tensors, tokenizer);
    const std::string found = message_of<ConfigError>([&] { average({first, other}); });
    return found.substr(found.find(" are not of one model: "));
  };
  const std::string remedy = "; average checkpoints of one training";
  EXPECT_EQ(refusal({{"b", two}}), " are not of one model: only one has a" + remedy);
  EXPECT_EQ(refusal({{"a", two}, {"b", two}}), " are not of one model: only one has b" + remedy);
  EXPECT_EQ(refusal({{"a", torch::ones({3})}}), " are not of one model: a is (3) and (2)" + remedy);
  EXPECT_EQ(refusal({{"a", two.to(torch::kHalf)}}),
            " are not of one model: a is Half and Float" + remedy);
  EXPECT_EQ(refusal({{"a", two}}, "u"),
            " are not of one model: the tokenizer's file tokenizer.json differs" + remedy);
  EXPECT_EQ(message_of<ConfigError>([&] { average({}); }),
            "average: no checkpoint is given; name at least one folder");
  const fs::path counts = checkpoint("counts", {{"n", torch::ones({1}, torch::kInt64)}});
  const fs::path others = checkpoint("others", {{"n", torch::zeros({1}, torch::kInt64)}});
  EXPECT_NE(message_of<ConfigError>([&] {
              average({counts, others});
            }).find("n, of whole numbers, differs"),
            std::string::npos);
}

TEST_F(AverageTest, TakesTheLastOrTheBestOfARun) {
  const RunFolder run(folder_ / "run");
  for (const int64_t step : {10, 20, 30, 40})
    write_json_file(run.checkpoint(step) / "trainer.json",
                    parse_json(R"({"step": 40, "position": 0, "seconds": 0, "skipped_steps": 0,
                                   "evaluations_since_best": 0,
                                   "best": [{"step": 30, "value": 1}, {"step": 5, "value": 2},
                                            {"step": 10, "value": 3}],
                                   "report_loss_sum": 0, "report_targets": 0, "loss_scale": 1,
                                   "loss_scale_good_steps": 0})",
                               "trainer.json"));
  const auto chosen = [&](int64_t count, AverageOf of) {
    std::vector<std::string> names;
    for (const fs::path& path : checkpoints_to_average(run, count, of))
      names.push_back(utf8(path.filename()));
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(chosen(2, AverageOf::last), (Names{"step-000030", "step-000040"}));
  // Step 5 ranks, but its checkpoint is gone.
  EXPECT_EQ(chosen(2, AverageOf::best), (Names{"step-000030", "step-000010"}));
  EXPECT_EQ(message_of<DataError>([&] { chosen(5, AverageOf::last); }),
            utf8(run.path()) +
                ": has 4 checkpoints, and 5 are to be averaged; train with a larger "
                "training.keep_last, or average fewer");
  EXPECT_EQ(message_of<DataError>([&] { chosen(3, AverageOf::best); }),
            utf8(run.path()) +
                ": has 2 checkpoints that rank as its best ones, and 3 are to be averaged; train "
                "with a larger training.keep_best, or average fewer");
}

}  // namespace
}  // namespace zoo
