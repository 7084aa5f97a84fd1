#pragma once
// A statement of theory, tried on numbers that were measured. No torch in this header.

#include <string>
#include <vector>

#include "core/json.h"

namespace zoo {

struct TheoryCheck {
  std::string id;            ///< "G13"
  std::string claim;         ///< in words
  double value = 0;          ///< what was found
  double low = 0, high = 0;  ///< where it has to lie; either may be infinite
  bool pass() const { return value >= low && value <= high; }
  std::string bound() const;  ///< "<= 1e-12", "0.7 .. 1.3"; "reported" if both are infinite
};

/// [{id, claim, value, bound, pass}]
Json to_json(const std::vector<TheoryCheck>& checks);

/// Throws Error that names those that failed, if any did. @param where begins the message
void require_passed(const std::vector<TheoryCheck>& checks, const std::string& where);

}  // namespace zoo
