#pragma once
// The field list of a config struct, and nothing that reads or writes it.
//
// A config struct lists its fields once:
//
//   struct RmsNormConfig {
//     static constexpr std::string_view kType = "rms";  // its name in a variant
//     static constexpr std::string_view kAbout = "Zhang & Sennrich 2019";  // what it is, its paper
//     double eps = 1e-6;
//     void fields(auto&& visit) { visit("eps", eps, positive(), "added to the mean square"); }
//     std::string check() const { return ""; }          // optional: cross-field rules, "" if all
//     hold
//   };
//
// core/config.h walks the list to read JSON, write it, describe it and make a JSON Schema.
// A field is a bool, int64_t, double, std::string, enum with EnumNames, std::optional of those,
// std::vector of those, another such struct, or a std::variant of structs that have kType.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo {

/// The numbers a field accepts.
struct Bound {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< `low` itself is refused
  bool high_open = false;  ///< `high` itself is refused

  constexpr bool holds(double value) const {
    return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
  }
  /// The bound in words, such as "> 0" or "0 <= x < 1"; "" when every number is accepted.
  std::string text() const;
};

constexpr Bound any_number() { return {}; }
constexpr Bound positive() { return {.low = 0, .low_open = true}; }
constexpr Bound non_negative() { return {.low = 0}; }
constexpr Bound at_least(double low) { return {.low = low}; }
constexpr Bound between(double low, double high) { return {.low = low, .high = high}; }
/// [0, 1): a dropout or decay rate.
constexpr Bound fraction() { return {.low = 0, .high = 1, .high_open = true}; }

/// Specialise for an enum that stands in a config:
///   template <> struct EnumNames<Side> {
///     static constexpr std::array values{std::pair{Side::left, "left"}, std::pair{Side::right,
///     "right"}};
///   };
template <class E>
struct EnumNames;

/// The name of an enum value in configs and messages.
template <class E>
constexpr std::string_view enum_name(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::values)
    if (candidate == value) return name;
  return "?";
}

/// All of them, in the order of EnumNames.
template <class E>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  names.reserve(EnumNames<E>::values.size());
  for (const auto& [value, name] : EnumNames<E>::values) names.emplace_back(name);
  return names;
}

/// The value of this name; nothing if none has it.
template <class E>
constexpr std::optional<E> enum_value(std::string_view wanted) {
  for (const auto& [value, name] : EnumNames<E>::values)
    if (name == wanted) return value;
  return std::nullopt;
}

}  // namespace zoo
