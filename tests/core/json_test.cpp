#include "core/json.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_json(text, "x.json");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_REFUSED(text, part) \
  EXPECT_NE(refusal(text).find(part), std::string::npos) << refusal(text)

TEST(ParseJson, RefusesAKeyThatStandsTwice) {
  EXPECT_REFUSED(R"({"a": 1, "a": 2})", R"(x.json: the key "a" stands twice in one object)");
  EXPECT_REFUSED(R"({"b": [{"a": 1, "a": 2}]})", R"("a" stands twice)");
  EXPECT_REFUSED(R"({"b": {"c": {}, "d": 1, "c": 3}})", R"("c" stands twice)");
  EXPECT_EQ(refusal(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]})"), "") << "other objects";
}

TEST(ParseJson, SaysWhereTheMistakeIs) {
  EXPECT_REFUSED("{\n  \"a\": 1,\n}", "x.json: not valid JSON: parse error at line 3, column 1");
  EXPECT_REFUSED("", "not valid JSON");
  EXPECT_REFUSED("{\"a\": 1} x", "not valid JSON");
  EXPECT_REFUSED("{\"a\": NaN}", "not valid JSON");
  EXPECT_REFUSED("{\"a\": \"\xff\"}", "not valid JSON");
}

TEST(ParseJson, AllowsCommentsAndKeepsTheOrder) {
  const Json json = parse_json("// line\n{\"z\": 1, /* block */ \"a\": 2}", "x.json");
  EXPECT_EQ(json.dump(), R"({"z":1,"a":2})");
}

TEST(JsonFile, RoundTripAndErrors) {
  const testing::TempFolder folder;
  const Json json = {{"text", "Ω\n"}, {"list", {1, 2.5, true, nullptr}}};
  write_json_file(folder / "a.json", json);
  EXPECT_EQ(read_json_file(folder / "a.json"), json);
  EXPECT_THROW(read_json_file(folder / "none.json"), DataError);
  write_file(folder / "bad.json", "{");
  try {
    read_json_file(folder / "bad.json");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_EQ(std::string(error.what()).find(utf8(folder / "bad.json")), 0U);
  }
}

TEST(JsonFile, BytesThatAreNotUtf8AreReplaced) {
  const testing::TempFolder folder;
  write_json_file(folder / "a.json", {{"path", "\xff"}});
  EXPECT_EQ(read_json_file(folder / "a.json")["path"], "\uFFFD");
}

TEST(DescribeJson, NamesTheValue) {
  EXPECT_EQ(describe_json(parse_json("{}", "")), "an object");
  EXPECT_EQ(describe_json(parse_json("[]", "")), "an array");
  EXPECT_EQ(describe_json(parse_json("null", "")), "null");
  EXPECT_EQ(describe_json(parse_json("true", "")), "true");
  EXPECT_EQ(describe_json(parse_json("64.9", "")), "the number 64.9");
  EXPECT_EQ(describe_json(parse_json("\"x\"", "")), "the string \"x\"");
  EXPECT_LT(describe_json(Json(std::string(1000, 'x'))).size(), 80U);
}

TEST(SetByPath, MakesObjectsAndVariants) {
  Json json = {{"model", {{"norm", "rms"}}}};
  set_by_path(json, "model.norm.eps", 1e-5);
  set_by_path(json, "training.steps", 7);
  set_by_path(json, "model.norm.eps", 1e-6);
  EXPECT_EQ(json.dump(), R"({"model":{"norm":{"type":"rms","eps":1e-06}},"training":{"steps":7}})");
  EXPECT_THROW(set_by_path(json, "training..steps", 1), ConfigError);
  EXPECT_THROW(set_by_path(json, "training.steps.more", 1), ConfigError);
}

}  // namespace
}  // namespace zoo
