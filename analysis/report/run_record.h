#pragma once
// What a training left in its run folder (training/run_folder.h), read back for a report. A run
// that goes on, was killed, or lacks a part is read as far as it goes, and what is wrong with it is
// said. No torch.

#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace zoo {

/// One number of metrics.jsonl ("loss", "valid_bleu", …) over the training.
struct RunCurve {
  std::string name;
  std::vector<double> step;  ///< ascending
  /// What training had taken until then; NaN where no line says it.
  std::vector<double> seconds, tokens, flops;
  std::vector<double> value;  ///< NaN where the training had no number
};

struct RunSample {
  std::string name;  ///< "step-001000"
  std::string text;  ///< as it was written, any bytes
};

struct RunRecord {
  std::string name;  ///< of the folder; read_runs() makes names unique
  fs::path folder;
  Json receipt;  ///< run.json; null without one
  Json config;   ///< of run.json, else of zoo.json; null without one
  std::vector<RunCurve> curves;
  std::vector<RunSample> samples;  ///< ascending by step
  std::vector<std::string> notes;  ///< what is missing or broken, and what was done about it

  /// Null if metrics.jsonl says nothing of it.
  const RunCurve* curve(const std::string& name) const;
  /// A value of the receipt by its JSON pointer; null if it is not there.
  Json receipt_at(const std::string& pointer) const;
};

/// Whether there is anything that a training writes: run.json, zoo.json or metrics.jsonl.
bool is_run_folder(const fs::path& folder);

/// Where the same steps stand twice, since a training was resumed from an earlier checkpoint, the
/// later lines count.
RunRecord read_run(const fs::path& folder);

/// Gives runs of the same folder name as many parent folders as tell them apart.
void make_names_unique(std::vector<RunRecord>& runs);

}  // namespace zoo
