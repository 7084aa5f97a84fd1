#pragma once
// Trainings and measurements as one page of HTML that holds all it shows: it loads nothing, is
// readable without scripts, on a telephone, in the dark and on paper. No torch.

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"

namespace zoo {

struct ReportInputs {
  std::string title;  ///< empty: made of the runs' names, or else the folders'
  /// Run folders (at most 8, as many as there are colours that one can tell apart), folders that
  /// `gradnorm` or `compare` wrote, and folders that hold such folders. What `gradnorm` wrote into
  /// a run folder, or a folder in it, is shown too.
  std::vector<fs::path> folders;
  std::vector<fs::path> attention;  ///< JSON files of analysis/attention_maps.h
  std::string command_line;         ///< that made the page, for its last line; empty: not said
};

struct Report {
  std::string html;
  int64_t runs = 0, figures = 0, attention_maps = 0;
  std::vector<std::string> notes;  ///< what is missing or broken in the runs, as the page says too
};

/// All text of the files is data: whatever is in them shows as text. The same files give the same
/// bytes.
/// @throws DataError for a folder that is missing or holds nothing of this, for more than 8 runs,
/// and where there is nothing to show; FormatError for an attention file of another form
Report make_report(const ReportInputs& inputs);

}  // namespace zoo
