#pragma once
// Fields of CSV files (RFC 4180).

#include <string>
#include <string_view>

namespace zoo {

/// In quotes where it has to be.
std::string csv_field(std::string_view text);

/// The shortest text that reads back as the same number; NaN and infinity leave the field empty.
std::string csv_number(double value);

}  // namespace zoo
