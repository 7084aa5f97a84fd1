#pragma once
// Reads, writes, describes and compares config structs by walking their field lists
// (core/fields.h).

#include <algorithm>
#include <concepts>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/error.h"
#include "core/fields.h"
#include "core/json.h"
#include "core/text.h"

namespace zoo {

namespace config_detail {

struct IgnoreFields {
  void operator()(auto&&...) const {}
};

template <class T>
concept Struct = requires(T value) {
  value.fields(IgnoreFields{});
};

template <class T>
concept Enum = std::is_enum_v<T>;

template <class T>
struct IsVariant : std::false_type {};
template <class... A>
struct IsVariant<std::variant<A...>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

/// A struct with ready-made values: static std::vector<std::string> preset_names(); static T
/// preset(name).
template <class T>
concept HasPresets = requires {
  T::preset_names();
};

template <class T>
concept HasCheck = requires(const T value) {
  { value.check() } -> std::convertible_to<std::string>;
};

/// Calls `use(std::type_identity<A>{})` for each alternative A of a variant.
template <class... A>
void for_each_alternative(std::type_identity<std::variant<A...>>, auto&& use) {
  (use(std::type_identity<A>{}), ...);
}

template <class V>
std::vector<std::string> alternative_names() {
  std::vector<std::string> names;
  for_each_alternative(std::type_identity<V>{},
                       [&]<class A>(std::type_identity<A>) { names.emplace_back(A::kType); });
  return names;
}

[[noreturn]] void fail(const std::string& where, const std::string& problem);
[[noreturn]] void fail_unknown(const std::string& where, const std::string& what,
                               const std::string& found, const std::vector<std::string>& known);
[[noreturn]] void fail_type(const std::string& where, const Json& found, const std::string& wanted);

void read_scalar(const Json& json, bool& out, const Bound&, const std::string& where);
void read_scalar(const Json& json, int64_t& out, const Bound& bound, const std::string& where);
void read_scalar(const Json& json, double& out, const Bound& bound, const std::string& where);
void read_scalar(const Json& json, std::string& out, const Bound&, const std::string& where);

template <class T>
void read_struct(const Json& json, T& out, const std::string& where, bool in_variant);

template <class T>
void read_value(const Json& json, T& out, const Bound& bound, const std::string& where) {
  if constexpr (Struct<T>) {
    read_struct(json, out, where, /*in_variant=*/false);
  } else if constexpr (IsVariant<T>::value) {
    if (!json.is_string() && !json.is_object())
      fail_type(where, json, "the name of a variant or an object with \"type\"");
    std::string type = std::visit([](auto& a) { return std::string(a.kType); }, out);
    if (json.is_string()) type = json.get<std::string>();
    if (json.is_object() && json.contains("type"))
      read_scalar(json["type"], type, Bound{}, where + "/type");
    bool found = false;
    for_each_alternative(std::type_identity<T>{}, [&]<class A>(std::type_identity<A>) {
      if (type != A::kType) return;
      found = true;
      if (!std::holds_alternative<A>(out)) out = A{};
    });
    if (!found) fail_unknown(where, "type", type, alternative_names<T>());
    if (json.is_object())
      std::visit([&](auto& a) { read_struct(json, a, where, /*in_variant=*/true); }, out);
  } else if constexpr (IsOptional<T>::value) {
    if (json.is_null()) {
      out.reset();
    } else {
      typename T::value_type value{};
      read_value(json, value, bound, where);
      out = value;
    }
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array()) fail_type(where, json, "an array");
    out.clear();
    for (size_t i = 0; i < json.size(); ++i) {
      typename T::value_type value{};
      read_value(json[i], value, bound, cat(where, "/", i));
      out.push_back(value);
    }
  } else if constexpr (Enum<T>) {
    std::string name;
    read_scalar(json, name, Bound{}, where);
    const std::optional<T> found = enum_value<T>(name);
    if (!found) fail_unknown(where, "value", name, enum_names<T>());
    out = *found;
  } else {
    read_scalar(json, out, bound, where);
  }
}

/// Adapts visit(key, member, doc) to visit(key, member, bound, doc).
template <class F>
struct Visitor {
  F use;
  void operator()(std::string_view key, auto& member, std::string_view doc) const {
    use(key, member, Bound{}, doc);
  }
  void operator()(std::string_view key, auto& member, const Bound& bound,
                  std::string_view doc) const {
    use(key, member, bound, doc);
  }
};
template <class F>
Visitor(F) -> Visitor<F>;

template <class T>
void read_struct(const Json& json, T& out, const std::string& where, bool in_variant) {
  if (!json.is_object()) fail_type(where, json, "an object");
  std::vector<std::string> known;
  if (in_variant) known.emplace_back("type");
  if constexpr (HasPresets<T>) known.emplace_back("preset");
  out.fields(Visitor{[&](std::string_view key, auto&, const Bound&, std::string_view) {
    known.emplace_back(key);
  }});
  for (const auto& [key, value] : json.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail_unknown(where + "/" + key, "key", key, known);
  if constexpr (HasPresets<T>) {
    if (json.contains("preset") && !json["preset"].is_null()) {
      std::string name;
      read_scalar(json["preset"], name, Bound{}, where + "/preset");
      const std::vector<std::string> names = T::preset_names();
      if (std::find(names.begin(), names.end(), name) == names.end())
        fail_unknown(where + "/preset", "preset", name, names);
      out = T::preset(name);
    }
  }
  out.fields(Visitor{[&](std::string_view key, auto& member, const Bound& bound, std::string_view) {
    const std::string name(key);
    if (json.contains(name)) read_value(json[name], member, bound, where + "/" + name);
  }});
  if constexpr (HasCheck<T>) {
    if (const std::string problem = out.check(); !problem.empty()) fail(where, problem);
  }
}

template <class T>
Json write_value(T value) {
  if constexpr (Struct<T>) {
    Json json = Json::object();
    value.fields(Visitor{[&](std::string_view key, auto& member, const Bound&, std::string_view) {
      json[std::string(key)] = write_value(member);
    }});
    return json;
  } else if constexpr (IsVariant<T>::value) {
    return std::visit(
        [](auto& alternative) {
          Json json = Json::object();
          json["type"] = std::string(alternative.kType);
          const Json fields = write_value(alternative);  // named: items() refers to it
          for (const auto& [key, member] : fields.items()) json[key] = member;
          return json;
        },
        value);
  } else if constexpr (IsOptional<T>::value) {
    return value ? write_value(*value) : Json(nullptr);
  } else if constexpr (IsVector<T>::value) {
    Json json = Json::array();
    for (const auto& element : value) json.push_back(write_value(element));
    return json;
  } else if constexpr (Enum<T>) {
    return std::string(enum_name(value));
  } else {
    return value;
  }
}

}  // namespace config_detail

/// Reads `json` on top of the values that `out` holds: keys that are absent keep them.
/// Refuses unknown and misspelt keys, wrong types, numbers out of bounds, and what check() refuses.
/// @param where names the source in messages: "gpt.json#/model"   @throws ConfigError
template <class T>
void read_config(const Json& json, T& out, const std::string& where) {
  config_detail::read_value(json, out, Bound{}, where);
}

/// The config as JSON, every field with its value.
template <class T>
Json config_to_json(const T& config) {
  return config_detail::write_value(config);
}

/// One key of the reference.
struct FieldDoc {
  std::string path;  ///< "model.block.norm", or "model.block.norm[rms].eps" within a variant
  std::string type;  ///< "integer", "number", "boolean", "string", "one of: a, b", "variant: a, b",
                     ///< "list of …"
  std::string fallback;  ///< the default as JSON, "" for a group of keys
  std::string bounds;    ///< Bound::text()
  std::string meaning;
};

namespace config_detail {

template <class T>
std::string type_text() {
  if constexpr (std::same_as<T, bool>) return "boolean";
  if constexpr (std::same_as<T, int64_t>) return "integer";
  if constexpr (std::same_as<T, double>) return "number";
  if constexpr (std::same_as<T, std::string>) return "string";
  if constexpr (Enum<T>) return "one of: " + join(enum_names<T>(), ", ");
  if constexpr (IsVariant<T>::value) return "variant: " + join(alternative_names<T>(), ", ");
  if constexpr (IsOptional<T>::value) return type_text<typename T::value_type>() + " or null";
  if constexpr (IsVector<T>::value) return "list of " + type_text<typename T::value_type>();
  if constexpr (Struct<T>) return "object";
}

template <class T>
void describe_fields(T config, const std::string& path, std::vector<FieldDoc>& docs) {
  config.fields(Visitor{
      [&]<class M>(std::string_view key, M& member, const Bound& bound, std::string_view doc) {
        const std::string name = path.empty() ? std::string(key) : path + "." + std::string(key);
        FieldDoc entry{name, type_text<M>(), "", bound.text(), std::string(doc)};
        if constexpr (IsVariant<M>::value) {
          entry.fallback =
              std::visit([](auto& a) { return Json(std::string(a.kType)).dump(); }, member);
          docs.push_back(entry);
          for_each_alternative(std::type_identity<M>{}, [&]<class A>(std::type_identity<A>) {
            // The alternative in use shows the values it has there, the others their own defaults.
            A alternative{};
            if (auto* current = std::get_if<A>(&member)) alternative = *current;
            describe_fields(alternative, name + "[" + std::string(A::kType) + "]", docs);
          });
        } else if constexpr (Struct<M>) {
          docs.push_back(entry);
          describe_fields(member, name, docs);
        } else {
          entry.fallback = write_value(member).dump();
          docs.push_back(entry);
        }
      }});
}

template <class T>
Json schema_of(T value, const Bound& bound, std::string_view doc);

template <class T>
Json schema_of_struct(T value, std::string_view type_name) {
  Json properties = Json::object();
  if (!type_name.empty()) properties["type"] = {{"const", std::string(type_name)}};
  if constexpr (HasPresets<T>) properties["preset"] = {{"enum", T::preset_names()}};
  value.fields(
      Visitor{[&](std::string_view key, auto& member, const Bound& bound, std::string_view doc) {
        properties[std::string(key)] = schema_of(member, bound, doc);
      }});
  return {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
}

template <class T>
Json schema_of(T value, const Bound& bound, std::string_view doc) {
  Json schema = Json::object();
  if constexpr (std::same_as<T, bool>) {
    schema["type"] = "boolean";
  } else if constexpr (std::same_as<T, int64_t> || std::same_as<T, double>) {
    schema["type"] = std::same_as<T, double> ? "number" : "integer";
    if (std::isfinite(bound.low))
      schema[bound.low_open ? "exclusiveMinimum" : "minimum"] = bound.low;
    if (std::isfinite(bound.high))
      schema[bound.high_open ? "exclusiveMaximum" : "maximum"] = bound.high;
  } else if constexpr (std::same_as<T, std::string>) {
    schema["type"] = "string";
  } else if constexpr (Enum<T>) {
    schema["enum"] = enum_names<T>();
  } else if constexpr (IsOptional<T>::value) {
    schema["anyOf"] =
        Json::array({schema_of(typename T::value_type{}, bound, ""), {{"type", "null"}}});
  } else if constexpr (IsVector<T>::value) {
    schema["type"] = "array";
    schema["items"] = schema_of(typename T::value_type{}, bound, "");
  } else if constexpr (IsVariant<T>::value) {
    Json choices = Json::array({{{"enum", alternative_names<T>()}}});
    for_each_alternative(std::type_identity<T>{}, [&]<class A>(std::type_identity<A>) {
      choices.push_back(schema_of_struct(A{}, A::kType));
    });
    schema["anyOf"] = choices;
  } else if constexpr (Struct<T>) {
    schema = schema_of_struct(value, "");
  }
  if (!doc.empty()) schema["description"] = std::string(doc);
  if constexpr (!IsVariant<T>::value && !Struct<T>) {
    if (!doc.empty()) schema["default"] = write_value(value);
  }
  return schema;
}

}  // namespace config_detail

/// Every key of `config`, in order, variants with the keys of each alternative.
template <class T>
std::vector<FieldDoc> describe_config(const T& config, const std::string& path = "") {
  std::vector<FieldDoc> docs;
  config_detail::describe_fields(config, path, docs);
  return docs;
}

/// One alternative of a variant.
struct AlternativeDoc {
  std::string slot;               ///< path of the variant, as in FieldDoc
  std::string name;               ///< what stands in a config
  std::string about;              ///< what it is and the paper it comes from
  std::vector<std::string> keys;  ///< its own keys
  bool is_default = false;
};

namespace config_detail {

template <class T>
void describe_variants(T config, const std::string& path, std::vector<AlternativeDoc>& docs) {
  config.fields(Visitor{[&]<class M>(std::string_view key, M& member, const Bound&,
                                     std::string_view) {
    const std::string name = path.empty() ? std::string(key) : path + "." + std::string(key);
    if constexpr (IsVariant<M>::value) {
      for_each_alternative(std::type_identity<M>{}, [&]<class A>(std::type_identity<A>) {
        AlternativeDoc doc{name, std::string(A::kType), "", {}, std::holds_alternative<A>(member)};
        if constexpr (requires { A::kAbout; }) doc.about = A::kAbout;
        A{}.fields(Visitor{[&](std::string_view own, auto&, const Bound&, std::string_view) {
          doc.keys.emplace_back(own);
        }});
        docs.push_back(doc);
        describe_variants(A{}, name + "[" + doc.name + "]", docs);
      });
    } else if constexpr (Struct<M>) {
      describe_variants(member, name, docs);
    }
  }});
}

}  // namespace config_detail

/// Every alternative of every variant of `config`, in order: what there is to choose from.
template <class T>
std::vector<AlternativeDoc> describe_variants(const T& config) {
  std::vector<AlternativeDoc> docs;
  config_detail::describe_variants(config, "", docs);
  return docs;
}

/// JSON Schema (2020-12) of a config, for editors.
template <class T>
Json config_schema(const T& config) {
  Json schema = config_detail::schema_of(config, Bound{}, "");
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  return schema;
}

/// One difference between two configs.
struct ConfigDifference {
  std::string path;           ///< "training.learning_rate"
  std::string first, second;  ///< the values as JSON, "absent" where one side has no such key
};

/// What differs between two JSON documents, by dotted path.
std::vector<ConfigDifference> compare_json(const Json& first, const Json& second,
                                           const std::string& path = "");

}  // namespace zoo
