// CKP-1: a kill or a full disk while a checkpoint is being written never loses the last good one.
// A binary of its own: it forks, which LibTorch's autograd threads do not survive.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "core/random.h"
#include "tests/training/small_project.h"

namespace zoo {
namespace {

using testing::after;
using testing::SmallProject;

/// Trains in a child process; its exit code, or minus the signal that ended it.
/// @param prepare called in the child first  @param wait the child is killed when it returns; null:
/// the child ends by itself
int train_in_child(
    const ProjectConfig& config, const TrainOptions& options,
    const std::function<void()>& prepare = [] {}, const std::function<void()>& wait = nullptr) {
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 0;
    try {
      prepare();
      TrainObserver observer;
      train(config, options, observer);
    } catch (const DataError&) {
      code = 3;
    } catch (...) {
      code = 9;
    }
    ::_exit(code);
  }
  if (wait) {
    wait();
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

class KillTest : public ::testing::Test {
 protected:
  KillTest() { at::set_num_threads(1); }
  SmallProject small_;

  /// The checkpoint that resuming would take: it must be whole.
  int64_t last_good_step() {
    const fs::path last = small_.folder / "run/last";
    if (!fs::exists(last)) return 0;
    EXPECT_NE(load_model(last).model, nullptr);
    const SafetensorsFile optimizer(last / "optimizer.safetensors");
    for (const auto& [name, info] : optimizer.tensors()) optimizer.tensor(name);
    return read_trainer_state(last / "trainer.json").step;
  }
};

TEST_F(KillTest, FiftyKillsLoseNothing) {
  const ProjectConfig config = small_.config(
      {"training.save_every=1", "training.eval_every=0", "training.max_steps=1000000"});
  TrainOptions options = small_.options();
  options.resume = "auto";
  RandomStream random(1, 0);
  const fs::path last = small_.folder / "run/last";
  const auto link = [&] {
    std::error_code none;
    return fs::read_symlink(last, none);
  };
  int64_t step = 0;
  for (int i = 0; i < 50; ++i) {
    // The child saves after every step: after one more checkpoint any moment is as good as another.
    const auto wait = [&, before = link()] {
      for (int tries = 0; link() == before && tries < 20000; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::microseconds(random.next_below(30000)));
    };
    ASSERT_EQ(train_in_child(
                  config, options, [] {}, wait),
              -SIGKILL);
    const int64_t now = last_good_step();
    ASSERT_GT(now, step);
    step = now;
  }
  options.stop = after(1);
  EXPECT_EQ(train_in_child(config, options), 0);
  EXPECT_EQ(last_good_step(), step + 1);
  for (const auto& entry : fs::directory_iterator(small_.folder / "run/checkpoints"))
    EXPECT_EQ(utf8(entry.path().filename()).find('.'), std::string::npos) << entry.path();
}

TEST_F(KillTest, AFullDiskLosesNothing) {
  const ProjectConfig config = small_.config({"training.save_every=1", "training.eval_every=0"});
  TrainOptions options = small_.options();
  options.stop = after(3);
  ASSERT_EQ(train_in_child(config, options), 0);
  options.resume = "auto";
  options.stop = [] { return false; };
  const auto limit_files = [] {  // ulimit -f
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {8192, 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  };
  EXPECT_EQ(train_in_child(config, options, limit_files), 3);
  EXPECT_EQ(last_good_step(), 3);
  EXPECT_EQ(train_in_child(config, options), 0);
  EXPECT_EQ(last_good_step(), 10);
}

}  // namespace
}  // namespace zoo
