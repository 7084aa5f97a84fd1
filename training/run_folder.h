#pragma once
// The folder of one training:
//
//   run.json  zoo.json  train.log  metrics.jsonl  tensorboard/  samples/  data/ (packed tokens)
//   checkpoints/step-001000/   best -> checkpoints/…   last -> checkpoints/…
//   average/ (the mean of several checkpoints, which `best` may name too)
//   dynamics.csv  gradient_time.csv (what analysis/dynamics.h saw of the steps)

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace zoo {

class RunFolder {
 public:
  /// Makes the folder, or takes it, and checks that it can be written.
  /// @throws DataError: a file in its place, no right to write, a full disk
  explicit RunFolder(const fs::path& path);

  const fs::path& path() const { return path_; }
  /// True if nothing is in it.
  bool is_empty() const;
  /// True if nothing is in it but what a run leaves there.
  bool holds_only_a_run() const;
  /// Removes the files of an older run, and nothing else; packed tokens stay.
  void clear() const;
  /// Removes what a killed process left unfinished.
  void remove_leftovers() const;

  fs::path checkpoint(int64_t step) const;
  /// Steps of the complete checkpoints, ascending.
  std::vector<int64_t> checkpoint_steps() const;
  /// What a link (`last`, `best`) points to, if that is there.
  std::optional<fs::path> linked(const std::string& link) const;

  /// Writes the checkpoint of a step in one piece (see write_folder()).
  void save_checkpoint(int64_t step, const std::function<void(const fs::path&)>& fill) const;
  void link(const std::string& name, int64_t step) const;
  /// Removes checkpoints that `keep` refuses; a checkpoint disappears in one piece.
  void prune(const std::function<bool(int64_t step)>& keep) const;

  /// Appends a line to a log file of the run.
  void append(const std::string& file, const std::string& line) const;
  /// Drops the lines of metrics.jsonl that came after `step`.
  void truncate_metrics(int64_t step) const;

 private:
  fs::path path_;
};

}  // namespace zoo
