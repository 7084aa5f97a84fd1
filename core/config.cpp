#include "core/config.h"

#include <cmath>

namespace zoo {

std::string Bound::text() const {
  const auto number = [](double value) { return cat(value); };
  const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
  if (has_low && has_high)
    return number(low) + (low_open ? " < x " : " <= x ") + (high_open ? "< " : "<= ") +
           number(high);
  if (has_low) return (low_open ? "> " : ">= ") + number(low);
  if (has_high) return (high_open ? "< " : "<= ") + number(high);
  return "";
}

namespace config_detail {

void fail(const std::string& where, const std::string& problem) {
  throw ConfigError(where + ": " + problem);
}

void fail_unknown(const std::string& where, const std::string& what, const std::string& found,
                  const std::vector<std::string>& known) {
  const std::string guess = nearest(found, known);
  fail(where, cat("unknown ", what, " \"", found, "\"",
                  guess.empty() ? "" : "; did you mean \"" + guess + "\"?",
                  guess.empty() ? "; " : " ", "known: ", join(known, ", ")));
}

void fail_type(const std::string& where, const Json& found, const std::string& wanted) {
  fail(where, "expected " + wanted + ", found " + describe_json(found));
}

namespace {

template <class T>
void require_bound(T value, const Json& json, const Bound& bound, const std::string& where) {
  if (!bound.holds(static_cast<double>(value)))
    fail(where, cat("must be ", bound.text(), ", found ", json.dump()));
}

}  // namespace

void read_scalar(const Json& json, bool& out, const Bound&, const std::string& where) {
  if (!json.is_boolean()) fail_type(where, json, "true or false");
  out = json.get<bool>();
}

void read_scalar(const Json& json, int64_t& out, const Bound& bound, const std::string& where) {
  // is_number_integer() is true for unsigned numbers too, which may not fit.
  if (!json.is_number_integer()) fail_type(where, json, "an integer");
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t{INT64_MAX})
    fail(where, cat("must be at most ", INT64_MAX, ", found ", json.dump()));
  out = json.get<int64_t>();
  require_bound(out, json, bound, where);
}

void read_scalar(const Json& json, double& out, const Bound& bound, const std::string& where) {
  if (!json.is_number()) fail_type(where, json, "a number");
  out = json.get<double>();
  if (!std::isfinite(out)) fail(where, "must be a finite number, found " + json.dump());
  require_bound(out, json, bound, where);
}

void read_scalar(const Json& json, std::string& out, const Bound&, const std::string& where) {
  if (!json.is_string()) fail_type(where, json, "a string");
  out = json.get<std::string>();
}

}  // namespace config_detail

std::vector<ConfigDifference> compare_json(const Json& first, const Json& second,
                                           const std::string& path) {
  if (first == second) return {};
  if (!first.is_object() || !second.is_object()) return {{path, first.dump(), second.dump()}};
  std::vector<ConfigDifference> differences;
  const auto child = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const auto& [key, value] : first.items()) {
    if (!second.contains(key)) {
      differences.push_back({child(key), value.dump(), "absent"});
      continue;
    }
    for (auto& found : compare_json(value, second[key], child(key)))
      differences.push_back(std::move(found));
  }
  for (const auto& [key, value] : second.items())
    if (!first.contains(key)) differences.push_back({child(key), "absent", value.dump()});
  return differences;
}

}  // namespace zoo
