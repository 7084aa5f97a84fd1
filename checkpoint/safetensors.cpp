#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <tuple>

#include "core/json.h"
#include "core/text.h"

namespace zoo {

namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian and is used as it lies in the file");

struct Element {
  std::string_view name;  ///< in the header
  torch::Dtype dtype;
  size_t size;              ///< in bytes
  std::string_view python;  ///< its name in Python
};
constexpr std::array kElements = {
    Element{"F64", torch::kFloat64, 8, "float64"}, Element{"F32", torch::kFloat32, 4, "float32"},
    Element{"F16", torch::kFloat16, 2, "float16"}, Element{"BF16", torch::kBFloat16, 2, "bfloat16"},
    Element{"I64", torch::kInt64, 8, "int64"},     Element{"I32", torch::kInt32, 4, "int32"},
    Element{"I16", torch::kInt16, 2, "int16"},     Element{"I8", torch::kInt8, 1, "int8"},
    Element{"U8", torch::kUInt8, 1, "uint8"},      Element{"BOOL", torch::kBool, 1, "bool"}};

std::string known_dtypes() {
  std::vector<std::string> names;
  for (const Element& element : kElements) names.emplace_back(element.name);
  return join(names, ", ");
}

const Element& element_of(torch::Dtype dtype) {
  return *std::find_if(kElements.begin(), kElements.end(),
                       [&](const Element& element) { return element.dtype == dtype; });
}

constexpr uint64_t kMaxHeader = 100'000'000;  ///< the format's own limit
constexpr size_t kMaxDims = 64;               ///< PyTorch's limit
constexpr const char* kMetadata = "__metadata__";

/// Reads the header event by event, and stops at the first thing that the format does not have
/// there: a hostile header costs neither time nor memory. It knows nothing of the file's length.
class HeaderReader : public nlohmann::json::json_sax_t {
 public:
  std::map<std::string, TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) return enter(Place::top);
    if (place_ != Place::top) return unexpected("an object");
    if (name_ == kMetadata) return enter(Place::metadata);
    entry_ = {};
    has_dtype_ = has_shape_ = has_offsets_ = false;
    return enter(Place::entry);
  }

  bool key(std::string& key) override {
    if (place_ == Place::top) {
      name_ = key;
      if (tensors.contains(key) || (key == kMetadata && has_metadata_))
        return refuse(cat("\"", key, "\" stands twice"));
      has_metadata_ = has_metadata_ || key == kMetadata;
    } else if (place_ == Place::metadata) {
      if (metadata.contains(key)) return refuse(cat(kMetadata, ": \"", key, "\" stands twice"));
    } else {
      bool* const seen = key == "dtype"          ? &has_dtype_
                         : key == "shape"        ? &has_shape_
                         : key == "data_offsets" ? &has_offsets_
                                                 : nullptr;
      if (seen == nullptr) return refuse_entry(cat("unknown key \"", key.substr(0, 100), "\""));
      if (*seen) return refuse_entry(cat("\"", key, "\" stands twice"));
      *seen = true;
    }
    key_ = key;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      metadata[key_] = value;
      return true;
    }
    if (place_ != Place::entry || key_ != "dtype")
      return unexpected(cat("the string \"", value.substr(0, 100), "\""));
    for (const Element& element : kElements)
      if (value == element.name) {
        entry_.dtype = element.dtype;
        return true;
      }
    return refuse_entry(cat("dtype \"", value.substr(0, 100), "\"; known: ", known_dtypes()));
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::entry || key_ == "dtype") return unexpected("an array");
    numbers_.clear();
    return enter(Place::numbers);
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::numbers || value > uint64_t{INT64_MAX})
      return unexpected(cat("the number ", value));
    if (numbers_.size() == kMaxDims)
      return refuse_entry(cat("\"", key_, "\" has more than ", kMaxDims, " numbers"));
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool end_array() override {
    if (key_ == "shape") {
      entry_.shape = numbers_;
    } else {
      if (numbers_.size() != 2 || numbers_[0] > numbers_[1])
        return refuse_entry("data_offsets are not two numbers [begin, end] in order");
      entry_.begin = static_cast<size_t>(numbers_[0]);
      entry_.end = static_cast<size_t>(numbers_[1]);
    }
    return enter(Place::entry);
  }

  bool end_object() override {
    if (place_ == Place::entry) {
      if (!has_dtype_ || !has_shape_ || !has_offsets_)
        return refuse_entry("needs dtype, shape and data_offsets");
      size_t bytes = element_of(entry_.dtype).size;
      for (const int64_t size : entry_.shape)
        if (__builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes))
          return refuse_entry("the shape is too large");
      if (bytes != entry_.end - entry_.begin)
        return refuse_entry(cat("the shape needs ", bytes, " bytes, data_offsets give ",
                                entry_.end - entry_.begin));
      tensors.emplace(name_, std::move(entry_));
    }
    return enter(place_ == Place::top ? Place::start : Place::top);
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool value) override { return unexpected(value ? "true" : "false"); }
  bool number_integer(int64_t value) override { return unexpected(cat("the number ", value)); }
  bool number_float(double, const std::string& text) override {
    return unexpected("the number " + text);
  }
  bool binary(nlohmann::json::binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception&) override {
    return refuse(cat("not valid JSON at byte ", position));
  }

 private:
  enum class Place { start, top, metadata, entry, numbers };

  bool enter(Place place) {
    place_ = place;
    return true;
  }
  bool refuse(const std::string& what) {
    problem = "header: " + what;
    return false;
  }
  /// A name in the file may be as long as the header; a message shows its beginning.
  bool refuse_entry(const std::string& what) {
    return refuse(cat("tensor \"", name_.substr(0, 100), "\": ", what));
  }
  bool unexpected(const std::string& found) {
    switch (place_) {
      case Place::start:
        return refuse("expected an object, found " + found);
      case Place::top:
        return refuse_entry("expected an object, found " + found);
      case Place::metadata:
        return refuse(cat(kMetadata, ": expected a string, found ", found));
      case Place::entry:
        return refuse_entry(cat("expected ", key_ == "dtype" ? "a string" : "a list of numbers",
                                " for \"", key_, "\", found ", found));
      case Place::numbers:
        return refuse_entry(
            cat("\"", key_, "\" may hold whole numbers from 0 to 2^63 - 1, found ", found));
    }
    return false;
  }

  Place place_ = Place::start;
  std::string name_, key_;
  TensorInfo entry_;
  std::vector<int64_t> numbers_;
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

/// What is wrong with the places of the tensors: together they must fill the data section exactly.
std::string layout_problem(const std::map<std::string, TensorInfo>& tensors, size_t data_bytes) {
  std::vector<const std::pair<const std::string, TensorInfo>*> in_order;
  for (const auto& entry : tensors) in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.begin, a->second.end) < std::tie(b->second.begin, b->second.end);
  });
  size_t filled = 0;
  for (const auto* entry : in_order) {
    const auto& [name, info] = *entry;
    if (info.end > data_bytes)
      return cat("tensor \"", name, "\" ends at byte ", info.end, " of the data, which has ",
                 data_bytes, ": the file is cut short");
    if (info.begin != filled)
      return cat("tensor \"", name, "\" begins at byte ", info.begin, " of the data, expected ",
                 filled, info.begin < filled ? ": tensors overlap" : ": there is a hole");
    filled = info.end;
  }
  if (filled != data_bytes) return cat(data_bytes - filled, " bytes follow the last tensor");
  return "";
}

/// JSON text; bytes that are not UTF-8 become U+FFFD.
std::string quoted(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

[[noreturn]] void fail(const fs::path& path, const std::string& problem) {
  throw FormatError(cat(utf8(path), ": not a usable safetensors file: ", problem,
                        "; copy or write the file again"));
}

}  // namespace

std::string dtype_name(torch::Dtype dtype) {
  for (const Element& element : kElements)
    if (element.dtype == dtype) return std::string(element.python);
  return c10::toString(dtype);
}

SafetensorsFile::SafetensorsFile(const fs::path& path)
    : path_(path), file_(std::make_shared<const MappedFile>(path, MapAccess::copy_on_write)) {
  const std::string_view text = file_->text();
  if (text.size() < 8)
    fail(path, cat("it has ", text.size(), " bytes, the header's length alone takes 8"));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, text.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeader)
    fail(path, cat("the header's length is ", header_bytes, ", the format allows ", kMaxHeader));
  if (header_bytes > text.size() - 8)
    fail(path, cat("the header's length is ", header_bytes, ", but only ", text.size() - 8,
                   " bytes follow: the file is cut short"));
  const std::string_view header = text.substr(8, header_bytes);
  if (!header.starts_with('{')) fail(path, "the header does not begin with {");

  HeaderReader reader;
  if (!nlohmann::json::sax_parse(header.begin(), header.end(), &reader)) fail(path, reader.problem);
  data_start_ = 8 + header_bytes;
  if (const auto problem = layout_problem(reader.tensors, text.size() - data_start_);
      !problem.empty())
    fail(path, problem);
  tensors_ = std::move(reader.tensors);
  metadata_ = std::move(reader.metadata);
}

Tensor SafetensorsFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, info] : tensors_) names.push_back(known);
    const std::string guess = nearest(name, names);
    throw FormatError(cat(utf8(path_), ": no tensor \"", name, "\" among its ", tensors_.size(),
                          guess.empty() ? "" : "; did you mean \"" + guess + "\"?"));
  }
  const TensorInfo& info = found->second;
  const auto options = torch::TensorOptions().dtype(info.dtype);
  if (info.begin == info.end) return torch::empty(info.shape, options);
  const std::byte* const data = file_->bytes().data() + data_start_ + info.begin;
  if (reinterpret_cast<uintptr_t>(data) % element_of(info.dtype).size != 0) {
    const Tensor copy = torch::empty(info.shape, options);
    std::memcpy(copy.data_ptr(), data, info.end - info.begin);
    return copy;
  }
  // The map is private and copied on write, which makes the cast safe.
  return torch::from_blob(
      const_cast<std::byte*>(data), info.shape, [file = file_](void*) {}, options);
}

void stream_safetensors(const fs::path& path, const std::vector<LazyTensor>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  // Large elements first: whatever the shapes, every tensor is then aligned.
  std::vector<const LazyTensor*> in_order;
  std::set<std::string_view> names;
  for (const LazyTensor& tensor : tensors) {
    if (std::none_of(kElements.begin(), kElements.end(),
                     [&](const Element& element) { return element.dtype == tensor.dtype; }))
      throw Error(cat(utf8(path), ": tensor \"", tensor.name,
                      "\" has a dtype that cannot be written; known: ", known_dtypes()));
    if (tensor.name == kMetadata || !names.insert(tensor.name).second)
      throw Error(cat(utf8(path), ": the tensor name \"", tensor.name, "\" is ",
                      tensor.name == kMetadata ? "reserved" : "given twice"));
    in_order.push_back(&tensor);
  }
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto* a, const auto* b) {
    return element_of(a->dtype).size > element_of(b->dtype).size;
  });

  std::string header = "{";
  if (!metadata.empty()) header += cat("\"", kMetadata, "\":", quoted(metadata));
  size_t offset = 0;
  for (const LazyTensor* tensor : in_order) {
    const Element& element = element_of(tensor->dtype);
    size_t bytes = element.size;
    for (const int64_t size : tensor->shape) bytes *= static_cast<size_t>(size);
    const nlohmann::json info = {{"dtype", element.name},
                                 {"shape", tensor->shape},
                                 {"data_offsets", {offset, offset + bytes}}};
    header += cat(header.size() > 1 ? "," : "", quoted(tensor->name), ":", info.dump());
    offset += bytes;
  }
  header += "}";
  header.resize((8 + header.size() + 63) / 64 * 64 - 8, ' ');

  write_file(path, [&](std::ostream& out) {
    const uint64_t header_bytes = header.size();
    out.write(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const LazyTensor* tensor : in_order) {
      const Tensor on_cpu = tensor->make().detach().to(torch::kCPU).contiguous();
      out.write(static_cast<const char*>(on_cpu.data_ptr()),
                static_cast<std::streamsize>(on_cpu.nbytes()));
    }
  });
}

void write_safetensors(const fs::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<LazyTensor> lazy;
  for (const auto& [name, tensor] : tensors)
    lazy.push_back({name, tensor.defined() ? tensor.scalar_type() : torch::ScalarType::Undefined,
                    tensor.defined() ? tensor.sizes().vec() : std::vector<int64_t>{},
                    [tensor = tensor] { return tensor; }});
  stream_safetensors(path, lazy, metadata);
}

}  // namespace zoo
