#pragma once
// A statement of theory, tried on numbers that were measured. No torch in this header.

#include <string>

namespace zoo {

struct TheoryCheck {
  std::string id;            ///< "G13"
  std::string claim;         ///< in words
  double value = 0;          ///< what was found
  double low = 0, high = 0;  ///< where it has to lie; either may be infinite
  bool pass() const { return value >= low && value <= high; }
};

}  // namespace zoo
