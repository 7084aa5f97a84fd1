#include "analysis/theory_check.h"

#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace zoo {
namespace {

std::string briefly(double value) { return significant(value, 4); }

}  // namespace

std::string TheoryCheck::bound() const {
  if (std::isinf(low) && std::isinf(high)) return "reported";
  if (std::isinf(low)) return "<= " + briefly(high);
  if (std::isinf(high)) return ">= " + briefly(low);
  if (low == high) return "= " + briefly(low);
  return low == 0 && high < 1e-3 ? "<= " + briefly(high) : cat(briefly(low), " .. ", briefly(high));
}

Json to_json(const std::vector<TheoryCheck>& checks) {
  Json list = Json::array();
  for (const TheoryCheck& check : checks)
    list.push_back({{"id", check.id},
                    {"claim", check.claim},
                    {"value", std::isfinite(check.value) ? Json(check.value) : Json(nullptr)},
                    {"bound", check.bound()},
                    {"pass", check.pass()}});
  return list;
}

void require_passed(const std::vector<TheoryCheck>& checks, const std::string& where) {
  std::vector<std::string> failed;
  for (const TheoryCheck& check : checks)
    if (!check.pass())
      failed.push_back(
          cat(check.id, " (", check.claim, ": ", briefly(check.value), ", ", check.bound(), ")"));
  if (!failed.empty())
    throw Error(cat(where, ": ", failed.size(), " of ", checks.size(),
                    " checks failed: ", join(failed, "; ")));
}

}  // namespace zoo
