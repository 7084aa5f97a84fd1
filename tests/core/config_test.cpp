#include "core/config.h"

#include <gtest/gtest.h>

#include <functional>

namespace zoo {

namespace {

struct Square {
  static constexpr std::string_view kType = "square";
  double side = 1;
  void fields(auto&& visit) { visit("side", side, positive(), "of each edge, in metres"); }
};
struct Circle {
  static constexpr std::string_view kType = "circle";
  double radius = 2;
  bool filled = false;
  void fields(auto&& visit) {
    visit("radius", radius, positive(), "in metres");
    visit("filled", filled, "not only the line");
  }
};
enum class Side { left, right };

}  // namespace

template <>
struct EnumNames<Side> {
  static constexpr std::array values{std::pair{Side::left, "left"},
                                     std::pair{Side::right, "right"}};
};

namespace {

struct Inner {
  int64_t count = 3;
  void fields(auto&& visit) { visit("count", count, at_least(1), "of things"); }
};

struct Outer {
  int64_t d_model = 64;
  double rate = 0.1;
  bool bias = true;
  std::string name = "x";
  Side side = Side::left;
  std::optional<int64_t> limit;
  std::vector<int64_t> sizes = {1, 2};
  std::variant<Square, Circle> shape;
  Inner inner;

  void fields(auto&& visit) {
    visit("d_model", d_model, at_least(1), "width");
    visit("rate", rate, fraction(), "share");
    visit("bias", bias, "add one");
    visit("name", name, "label");
    visit("side", side, "which");
    visit("limit", limit, non_negative(), "at most, or null");
    visit("sizes", sizes, positive(), "list");
    visit("shape", shape, "form");
    visit("inner", inner, "group");
  }
  std::string check() const {
    return d_model % inner.count == 0 || d_model == 64
               ? ""
               : cat("count ", inner.count, " does not divide d_model ", d_model);
  }
  static std::vector<std::string> preset_names() { return {"small", "large"}; }
  static Outer preset(const std::string& name) {
    Outer outer;
    outer.d_model = name == "small" ? 6 : 900;
    return outer;
  }
};

Outer read(const std::string& text) {
  Outer outer;
  read_config(parse_json(text, "x.json"), outer, "x.json#");
  return outer;
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ReadConfig, KeepsWhatIsAbsent) {
  const Outer outer = read(R"({"rate": 0, "inner": {"count": 4}})");
  EXPECT_EQ(outer.rate, 0);
  EXPECT_EQ(outer.inner.count, 4);
  EXPECT_EQ(outer.d_model, 64);
  EXPECT_EQ(outer.sizes, (std::vector<int64_t>{1, 2}));
}

TEST(ReadConfig, ReadsEveryKind) {
  const Outer outer =
      read(R"({"d_model": 9, "rate": 0.5, "bias": false, "name": "Ω", "side": "right",
      "limit": 7, "sizes": [5], "shape": {"type": "circle", "radius": 3}})");
  EXPECT_EQ(outer.d_model, 9);
  EXPECT_EQ(outer.rate, 0.5);
  EXPECT_FALSE(outer.bias);
  EXPECT_EQ(outer.name, "Ω");
  EXPECT_EQ(outer.side, Side::right);
  EXPECT_EQ(outer.limit, 7);
  EXPECT_EQ(outer.sizes, std::vector<int64_t>{5});
  EXPECT_EQ(std::get<Circle>(outer.shape).radius, 3);
  EXPECT_EQ(read(R"({"rate": 0})").rate, 0) << "a whole number is a number";
  EXPECT_EQ(read(R"({"limit": null})").limit, std::nullopt);
}

// nlohmann/json converts all of these without a word.
TEST(ReadConfig, ClosesTheTrapsOfJson) {
  EXPECT_EQ(refusal(R"({"d_model": 64.9})"),
            "x.json#/d_model: expected an integer, found the number 64.9");
  EXPECT_EQ(refusal(R"({"d_model": 64.0})"),
            "x.json#/d_model: expected an integer, found the number 64.0");
  EXPECT_EQ(refusal(R"({"d_model": -1})"), "x.json#/d_model: must be >= 1, found -1");
  EXPECT_EQ(refusal(R"({"d_model": true})"), "x.json#/d_model: expected an integer, found true");
  EXPECT_EQ(refusal(R"({"d_model": "64"})"),
            "x.json#/d_model: expected an integer, found the string \"64\"");
  EXPECT_EQ(refusal(R"({"d_model": null})"), "x.json#/d_model: expected an integer, found null");
  EXPECT_EQ(refusal(R"({"d_model": 9223372036854775808})"),
            "x.json#/d_model: must be at most 9223372036854775807, found 9223372036854775808");
  EXPECT_EQ(refusal(R"({"d_model": 1e3})"),
            "x.json#/d_model: expected an integer, found the number 1000.0");
  EXPECT_EQ(refusal(R"({"rate": true})"), "x.json#/rate: expected a number, found true");
  EXPECT_EQ(refusal(R"({"bias": 1})"), "x.json#/bias: expected true or false, found the number 1");
  EXPECT_EQ(refusal(R"({"name": 1})"), "x.json#/name: expected a string, found the number 1");
  EXPECT_EQ(refusal(R"({"sizes": 1})"), "x.json#/sizes: expected an array, found the number 1");
  EXPECT_EQ(refusal(R"({"sizes": [1, 2.5]})"),
            "x.json#/sizes/1: expected an integer, found the number 2.5");
  EXPECT_EQ(refusal(R"({"sizes": [0]})"), "x.json#/sizes/0: must be > 0, found 0");
  EXPECT_EQ(refusal("[]"), "x.json#: expected an object, found an array");
  EXPECT_THROW(read(R"({"d_model": 1, "d_model": 2})"), FormatError);
}

TEST(ReadConfig, ChecksBounds) {
  EXPECT_EQ(refusal(R"({"rate": 1})"), "x.json#/rate: must be 0 <= x < 1, found 1");
  EXPECT_EQ(refusal(R"({"rate": -0.1})"), "x.json#/rate: must be 0 <= x < 1, found -0.1");
  EXPECT_EQ(refusal(R"({"limit": -1})"), "x.json#/limit: must be >= 0, found -1");
  EXPECT_EQ(refusal(R"({"shape": {"side": 0}})"), "x.json#/shape/side: must be > 0, found 0");
}

TEST(ReadConfig, NamesTheNearMiss) {
  EXPECT_EQ(
      refusal(R"({"dmodel": 1})")
          .find(
              R"(x.json#/dmodel: unknown key "dmodel"; did you mean "d_model"? known: preset, d_model, rate)"),
      0U)
      << refusal(R"({"dmodel": 1})");
  EXPECT_EQ(refusal(R"({"inner": {"zzz": 1}})"),
            R"(x.json#/inner/zzz: unknown key "zzz"; known: count)");
  EXPECT_EQ(refusal(R"({"side": "rigth"})"),
            R"(x.json#/side: unknown value "rigth"; did you mean "right"? known: left, right)");
}

TEST(ReadConfig, Variants) {
  EXPECT_TRUE(std::holds_alternative<Circle>(read(R"({"shape": "circle"})").shape));
  EXPECT_EQ(std::get<Square>(read(R"({"shape": {"side": 5}})").shape).side, 5) << "the type in use";
  EXPECT_EQ(refusal(R"({"shape": "cirle"})"),
            R"(x.json#/shape: unknown type "cirle"; did you mean "circle"? known: square, circle)");
  EXPECT_EQ(refusal(R"({"shape": {"type": "circle", "side": 5}})"),
            R"(x.json#/shape/side: unknown key "side"; known: type, radius, filled)");
  EXPECT_EQ(refusal(R"({"shape": {"type": 3}})"),
            "x.json#/shape/type: expected a string, found the number 3");
  EXPECT_NE(refusal(R"({"shape": 3})").find("x.json#/shape: expected the name of a variant"),
            std::string::npos);
}

TEST(ReadConfig, Presets) {
  EXPECT_EQ(read(R"({"preset": "large"})").d_model, 900);
  EXPECT_EQ(read(R"({"d_model": 9, "preset": "large"})").d_model, 9)
      << "keys stand above the preset";
  EXPECT_EQ(read(R"({"preset": null})").d_model, 64);
  EXPECT_EQ(refusal(R"({"preset": "smal"})"),
            R"(x.json#/preset: unknown preset "smal"; did you mean "small"? known: small, large)");
}

TEST(ReadConfig, CrossFieldRules) {
  EXPECT_EQ(refusal(R"({"d_model": 10})"), "x.json#: count 3 does not divide d_model 10");
}

TEST(ConfigToJson, RoundTrip) {
  const Outer outer = read(
      R"({"d_model": 9, "side": "right", "limit": 7, "shape": {"type": "circle", "radius": 3}})");
  const Json json = config_to_json(outer);
  EXPECT_EQ(
      json.dump(),
      R"({"d_model":9,"rate":0.1,"bias":true,"name":"x","side":"right","limit":7,"sizes":[1,2],)"
      R"("shape":{"type":"circle","radius":3.0,"filled":false},"inner":{"count":3}})");
  EXPECT_EQ(config_to_json(read(json.dump())), json);
}

TEST(DescribeConfig, ListsEveryKeyOfEveryVariant) {
  std::vector<std::string> lines;
  for (const FieldDoc& doc : describe_config(Outer{}, "o"))
    lines.push_back(join({doc.path, doc.type, doc.fallback, doc.bounds, doc.meaning}, "|"));
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "o.d_model|integer|64|>= 1|width", "o.rate|number|0.1|0 <= x < 1|share",
                       "o.bias|boolean|true||add one", "o.name|string|\"x\"||label",
                       "o.side|one of: left, right|\"left\"||which",
                       "o.limit|integer or null|null|>= 0|at most, or null",
                       "o.sizes|list of integer|[1,2]|> 0|list",
                       "o.shape|variant: square, circle|\"square\"||form",
                       "o.shape[square].side|number|1.0|> 0|of each edge, in metres",
                       "o.shape[circle].radius|number|2.0|> 0|in metres",
                       "o.shape[circle].filled|boolean|false||not only the line",
                       "o.inner|object|||group", "o.inner.count|integer|3|>= 1|of things"}));
}

TEST(ConfigSchema, SaysWhatTheReaderAccepts) {
  const Json schema = config_schema(Outer{});
  const Json& properties = schema["properties"];
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(
      properties["d_model"],
      (Json{{"type", "integer"}, {"minimum", 1.0}, {"description", "width"}, {"default", 64}}));
  EXPECT_EQ(properties["rate"]["exclusiveMaximum"], 1.0);
  EXPECT_EQ(properties["side"]["enum"], (Json{"left", "right"}));
  EXPECT_EQ(properties["preset"]["enum"], (Json{"small", "large"}));
  EXPECT_EQ(properties["shape"]["anyOf"][0]["enum"], (Json{"square", "circle"}));
  EXPECT_EQ(properties["shape"]["anyOf"][2]["properties"]["type"]["const"], "circle");
  EXPECT_EQ(properties["limit"]["anyOf"][1]["type"], "null");
}

TEST(CompareJson, NamesEveryDifference) {
  const Json first = {{"a", 1}, {"b", {{"c", 2}, {"d", 3}}}, {"e", {1, 2}}};
  const Json second = {{"a", 1}, {"b", {{"c", 5}, {"x", 0}}}, {"e", {1, 3}}};
  std::vector<std::string> lines;
  for (const auto& [path, one, two] : compare_json(first, second))
    lines.push_back(path + ": " + one + " " + two);
  EXPECT_EQ(lines, (std::vector<std::string>{"b.c: 2 5", "b.d: 3 absent", "b.x: absent 0",
                                             "e: [1,2] [1,3]"}));
  EXPECT_TRUE(compare_json(first, first).empty());
}

}  // namespace
}  // namespace zoo
