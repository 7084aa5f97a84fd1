#pragma once
// The message of the error that an action throws.

#include <string>

#include "core/error.h"

namespace zoo::testing {

/// "" if nothing is thrown; other exceptions than `E` pass through.
template <class E = Error>
std::string message_of(auto&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace zoo::testing
