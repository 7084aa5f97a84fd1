#pragma once
// TensorBoard event files: TFRecord frames around Event messages
// (tensorflow/core/util/event.proto).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace zoo {

/// CRC-32C (Castagnoli), as iSCSI (RFC 3720, section 12.1) and TFRecord use it.
uint32_t crc32c(std::string_view bytes);

class TensorboardWriter {
 public:
  /// Starts a new event file in `folder`. TensorBoard then forgets what older files of the folder
  /// say about later steps than `first_step`. @throws DataError
  TensorboardWriter(const fs::path& folder, int64_t first_step);

  /// Scalars of one step; slashes in tags group them: "train/loss".
  void scalars(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  void write_event(std::string event);

  fs::path file_;
};

}  // namespace zoo
