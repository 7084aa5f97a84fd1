#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <ctime>

#include "tests/support/temp_folder.h"

namespace zoo {
namespace {

using ::zoo::testing::TempFolder;

std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(length >> shift & 0xff);
  return bytes;
}

/// A file with this header and this many bytes of data.
std::string file_with(const std::string& header, size_t data_bytes = 0) {
  return length_bytes(header.size()) + header + std::string(data_bytes, '\0');
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"("a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

/// The message with which the content is refused, which must come at once; "" if it is accepted.
std::string refusal(const std::string& content) {
  const TempFolder folder;
  const fs::path path = folder / "bad.safetensors";
  write_file(path, content);
  const std::clock_t start = std::clock();  // of this process: others may be busy
  std::string message;
  try {
    const SafetensorsFile file(path);
  } catch (const FormatError& error) {
    message = error.what();
    EXPECT_NE(message.find(utf8(path)), std::string::npos) << "the message names the file";
  }
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC) << message;
  return message;
}

#define EXPECT_REFUSED(content, part) \
  EXPECT_NE(refusal(content).find(part), std::string::npos) << refusal(content)

TEST(Safetensors, RefusesBadLengths) {
  EXPECT_REFUSED("", "it has 0 bytes");
  EXPECT_REFUSED("1234567", "it has 7 bytes");
  EXPECT_REFUSED(length_bytes(uint64_t{1} << 63) + "{}", "length is 9223372036854775808");
  EXPECT_REFUSED(length_bytes(100'000'001) + "{}", "the format allows 100000000");
  EXPECT_REFUSED(length_bytes(100) + "{}", "only 2 bytes follow: the file is cut short");
  EXPECT_REFUSED(length_bytes(0), "does not begin with {");
}

TEST(Safetensors, RefusesBadJson) {
  EXPECT_REFUSED(file_with(R"({"a":)"), "not valid JSON at byte 6");
  EXPECT_REFUSED(file_with(" {}"), "does not begin with {");
  EXPECT_REFUSED(file_with("{} x"), "not valid JSON");
  EXPECT_REFUSED(file_with("{\"\xff\":1}"), "not valid JSON");
  EXPECT_REFUSED(file_with(R"({"a":[]})"), R"(tensor "a": expected an object, found an array)");
  EXPECT_REFUSED(file_with(R"({"a":1})"), R"(tensor "a": expected an object, found the number 1)");
  EXPECT_REFUSED(file_with(R"({"a":null})"), R"(tensor "a": expected an object, found null)");
  EXPECT_REFUSED(file_with(R"({"__metadata__":{"k":1}})"), "__metadata__: expected a string");
  EXPECT_REFUSED(file_with(R"({"__metadata__":{"k":"a","k":"b"}})"), R"("k" stands twice)");
  EXPECT_REFUSED(file_with(R"({"__metadata__":{},"__metadata__":{}})"), "stands twice");
}

TEST(Safetensors, RefusesBadEntries) {
  EXPECT_REFUSED(file_with("{" + entry("Q7", "[1]", "[0,4]") + "}", 4),
                 R"(dtype "Q7"; known: F64, F32)");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[-2]", "[0,8]") + "}", 8),
                 "from 0 to 2^63 - 1, found the number -2");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[1]", "[0.0,4.0]") + "}", 4),
                 "found the number 0.0");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[true]", "[0,4]") + "}", 4), "found true");
  EXPECT_REFUSED(file_with("{" + entry("F32", "1", "[0,4]") + "}", 4),
                 "expected a list of numbers");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[[1]]", "[0,4]") + "}", 4), "found an array");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[18446744073709551615]", "[0,4]") + "}", 4),
                 "found the number 18446744073709551615");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[4294967296,4294967296]", "[0,4]") + "}", 4),
                 "too large");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[2]", "[0,4]") + "}", 4),
                 "the shape needs 8 bytes, data_offsets give 4");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[1]", "[4,0]") + "}", 4), "[begin, end] in order");
  EXPECT_REFUSED(file_with("{" + entry("F32", "[1]", "[0,4,8]") + "}", 8), "[begin, end] in order");
  EXPECT_REFUSED(file_with(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
                 "needs dtype, shape and data_offsets");
  EXPECT_REFUSED(
      file_with(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
      R"("dtype" stands twice)");
  EXPECT_REFUSED(file_with(R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})", 4),
                 "expected a string");
  EXPECT_REFUSED(file_with(R"({"a":{"type":"F32"}})", 4), R"(unknown key "type")");
  EXPECT_REFUSED(
      file_with("{" + entry("F32", "[1]", "[0,4]") + "," + entry("F32", "[1]", "[4,8]") + "}", 8),
      R"("a" stands twice)");
  std::string many_dims = "[1";
  for (int i = 0; i < 64; ++i) many_dims += ",1";
  EXPECT_REFUSED(file_with("{" + entry("F32", many_dims + "]", "[0,4]") + "}", 4),
                 "more than 64 numbers");
}

TEST(Safetensors, RefusesBadLayouts) {
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_REFUSED(file_with(two("[0,4]", "[2,6]"), 6), "tensors overlap");
  EXPECT_REFUSED(file_with(two("[0,4]", "[0,4]"), 4), "tensors overlap");
  EXPECT_REFUSED(file_with(two("[0,4]", "[6,10]"), 10), "there is a hole");
  EXPECT_REFUSED(file_with(two("[4,8]", "[8,12]"), 12), "there is a hole");
  EXPECT_REFUSED(file_with(two("[0,4]", "[4,8]"), 7),
                 R"(tensor "b" ends at byte 8 of the data, which has 7)");
  EXPECT_REFUSED(file_with(two("[0,4]", "[4,8]"), 9), "1 bytes follow the last tensor");
  EXPECT_EQ(refusal(file_with(two("[4,8]", "[0,4]"), 8)), "") << "any order is good";
}

// Deep nesting and huge names must not cost memory or a stack.
TEST(Safetensors, RefusesHostileHeadersWithinMemory) {
  const auto resident = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // kB
  };
  const std::string nested =
      file_with(std::string("{") + std::string(20'000'000, '[').insert(0, "\"a\":"));
  std::string names = "{";
  for (int i = 0; i < 200'000; ++i) names += cat("\"", i, "\":0,");
  const std::string longest = file_with("{\"" + std::string(20'000'000, 'x') + "\":0}");
  const long before = resident();
  EXPECT_REFUSED(nested, "expected an object");
  EXPECT_REFUSED(file_with(names), "expected an object");
  EXPECT_REFUSED(longest, "expected an object");
  EXPECT_LT(resident() - before, 100'000);
}

TEST(Safetensors, AcceptsPaddingEmptyTensorsAndScalars) {
  const TempFolder folder;
  const fs::path path = folder / "good.safetensors";
  write_file(path, file_with("{" + entry("F32", "[]", "[0,4]") +
                                 R"(,"none":{"dtype":"I64","shape":[0,3],"data_offsets":[4,4]}})" +
                                 "      ",
                             4));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("a").dim(), 0);
  EXPECT_EQ(file.tensor("none").sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(refusal(file_with("{}")), "") << "no tensors at all";
}

TEST(Safetensors, NamesTheNearMissOfAnAbsentTensor) {
  const TempFolder folder;
  write_safetensors(folder / "x.safetensors", {{"weight", torch::ones({2})}});
  try {
    SafetensorsFile(folder / "x.safetensors").tensor("wieght");
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(
        std::string(error.what()).find(R"(no tensor "wieght" among its 1; did you mean "weight"?)"),
        std::string::npos)
        << error.what();
  }
}

TEST(Safetensors, ReadsDataThatIsNotAligned) {
  const TempFolder folder;
  const fs::path path = folder / "odd.safetensors";
  const float value = 1.5F;
  std::string content = file_with(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)" +
                                  entry("F32", "[1]", "[1,5]") + "}");
  content += '\7';
  content.append(reinterpret_cast<const char*>(&value), sizeof value);
  write_file(path, content);
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("a").item<float>(), 1.5F);
  EXPECT_EQ(file.tensor("b").item<int64_t>(), 7);
}

TEST(Safetensors, WritesAndReadsEveryDtype) {
  const TempFolder folder;
  const fs::path path = folder / "all.safetensors";
  const Tensor numbers = torch::tensor({-3.0, 0.0, 1.0, 2.5, 100.0}, torch::kFloat64).view({5, 1});
  NamedTensors written;
  for (const auto dtype :
       {torch::kBool, torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64,
        torch::kBFloat16, torch::kFloat16, torch::kFloat32, torch::kFloat64})
    written.emplace_back(cat("n", static_cast<int>(dtype)), numbers.abs().to(dtype));
  written.emplace_back("transposed", torch::arange(6).view({2, 3}).t());
  written.emplace_back("empty", torch::empty({0, 4}));
  written.emplace_back("scalar", torch::tensor(7));
  written.emplace_back("quote\"Ω", torch::ones({3}).requires_grad_());
  write_safetensors(path, written, {{"format", "pt"}, {"note", "Ω\n\"x\""}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), written.size());
  EXPECT_EQ(file.metadata().at("note"), "Ω\n\"x\"");
  for (const auto& [name, tensor] : written) {
    const Tensor read = file.tensor(name);
    EXPECT_EQ(read.scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(torch::equal(read, tensor)) << name;
  }
}

// Golden: written by Hugging Face's safetensors (see make_goldens.py). The values of IOP-9.
TEST(Safetensors, ReadsHalfPrecisionExactly) {
  const SafetensorsFile file(fs::path(ZOO_SOURCE_DIR) /
                             "tests/golden/checkpoint/dtypes.safetensors");
  const auto values = [&](const char* name) {
    const Tensor wide = file.tensor(name).to(torch::kFloat64).contiguous();
    return std::vector<double>(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  };
  EXPECT_EQ(values("bf16"), (std::vector<double>{1.5, -2, 3.140625}));
  EXPECT_EQ(values("f16"), (std::vector<double>{65504, std::ldexp(1.0, -24)}));
  EXPECT_EQ(values("f32"), (std::vector<double>{1.5, -2, 0.25}));
  EXPECT_EQ(values("f64"), (std::vector<double>{1e300, -1e-300}));
  EXPECT_EQ(values("i8"), (std::vector<double>{-128, 127}));
  EXPECT_EQ(values("u8"), (std::vector<double>{0, 255}));
  EXPECT_EQ(values("i16"), (std::vector<double>{-32768, 32767}));
  EXPECT_EQ(values("i32"), (std::vector<double>{-2147483648.0, 2147483647}));
  EXPECT_EQ(file.tensor("i64")[0].item<int64_t>(), INT64_MIN);
  EXPECT_EQ(values("bool"), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(file.metadata().at("made_by"), "safetensors");
}

TEST(Safetensors, ViewsOutliveTheFileObjectAndNeverWriteToTheFile) {
  const TempFolder folder;
  const fs::path path = folder / "x.safetensors";
  write_safetensors(path, {{"a", torch::ones({3})}});
  const std::string before = sha256_file(path);
  Tensor view;
  {
    const SafetensorsFile file(path);
    view = file.tensor("a");
    EXPECT_EQ(view.data_ptr(), file.tensor("a").data_ptr()) << "no copy";
  }
  view.fill_(5);
  EXPECT_EQ(view.sum().item<float>(), 15);
  EXPECT_EQ(sha256_file(path), before);
}

TEST(Safetensors, DataIsAligned) {
  const TempFolder folder;
  const fs::path path = folder / "x.safetensors";
  write_safetensors(
      path, {{"flag", torch::ones({1}, torch::kBool)}, {"step", torch::ones({1}, torch::kLong)}});
  const SafetensorsFile file(path);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.tensor("step").data_ptr()) % 64, 0);
}

TEST(Safetensors, RefusesToWriteWhatItCannotRead) {
  const TempFolder folder;
  const fs::path path = folder / "x.safetensors";
  EXPECT_THROW(write_safetensors(path, {{"c", torch::ones({1}, torch::kComplexFloat)}}), Error);
  EXPECT_THROW(write_safetensors(path, {{"u", Tensor()}}), Error);
  EXPECT_THROW(write_safetensors(path, {{"a", torch::ones({1})}, {"a", torch::ones({1})}}), Error);
  EXPECT_THROW(write_safetensors(path, {{"__metadata__", torch::ones({1})}}), Error);
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace zoo
