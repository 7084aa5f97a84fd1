#pragma once
// The project config that the flags ask for. No torch in this header.

#include "cli/command.h"
#include "training/config.h"

namespace zoo::cli {

/// The values of --set.
std::vector<ConfigSetting> settings_of(const GlobalOptions& globals);

/// The files of -c, then `more`, with --set and then `flags` on top; the defaults if there is none.
/// @throws ConfigError, DataError, FormatError
ProjectConfig read_project(const GlobalOptions& globals, const std::vector<std::string>& more = {},
                           const std::vector<ConfigSetting>& flags = {});

/// The folder that -o names. @throws ConfigError if it is not empty and shall not be replaced
fs::path output_folder(const std::string& name, bool overwrite);

}  // namespace zoo::cli
