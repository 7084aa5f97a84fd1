#include "checkpoint/weight_files.h"

#include <set>

#include "core/json.h"
#include "core/text.h"

namespace zoo {

namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// The weights of other formats in a folder, which only Python's unpickler can read.
std::vector<std::string> pickled_files(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".bin" || extension == ".pt" || extension == ".pth")
      names.push_back(utf8(entry.path().filename()));
  }
  return names;
}

[[noreturn]] void fail_without_weights(const fs::path& folder) {
  const auto pickled = pickled_files(folder);
  if (pickled.empty())
    throw DataError(
        cat(utf8(folder), ": no weights in this folder; looked for ", kSingle, " and ", kIndex));
  throw DataError(cat(
      utf8(folder), ": the weights are in ", join(pickled, ", "),
      ", a format that can run code and that only ",
      "Python reads; convert them to safetensors once with: python -c \"from transformers import ",
      "AutoModelForCausalLM as M; M.from_pretrained('", utf8(folder), "').save_pretrained('",
      utf8(folder), "')\""));
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& folder) {
  if (fs::exists(folder / kSingle)) {
    path_ = folder / kSingle;
    files_.emplace_back(path_);
  } else if (fs::exists(folder / kIndex)) {
    path_ = folder / kIndex;
    const Json index = read_json_file(path_);
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
      throw FormatError(utf8(path_) + ": expected an object with \"weight_map\": {tensor: file}");
    std::set<std::string> shards;
    std::map<std::string, std::string> wanted;
    for (const auto& [name, shard] : index["weight_map"].items()) {
      const std::string file = shard.is_string() ? shard.get<std::string>() : "";
      if (file.empty() || utf8_path(file).filename() != utf8_path(file))
        throw FormatError(cat(utf8(path_), "#/weight_map/", name,
                              ": expected the name of a file of this folder, found ",
                              shard.dump()));
      shards.insert(file);
      wanted[name] = file;
    }
    for (const std::string& shard : shards) files_.emplace_back(folder / utf8_path(shard));
    for (const SafetensorsFile& file : files_)
      for (const auto& [name, shard] : wanted)
        if (shard == utf8(file.path().filename()) && !file.tensors().contains(name))
          throw FormatError(cat(utf8(path_), ": tensor \"", name, "\" should be in ", shard,
                                " and is not; the index belongs to other files"));
  } else {
    fail_without_weights(folder);
  }
  for (size_t i = 0; i < files_.size(); ++i)
    for (const auto& [name, info] : files_[i].tensors())
      if (const auto [place, added] = file_of_.emplace(name, i); !added)
        throw FormatError(cat(utf8(path_), ": tensor \"", name, "\" is in ",
                              utf8(files_[place->second].path().filename()), " and in ",
                              utf8(files_[i].path().filename())));
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : file_of_) names.push_back(name);
  return names;
}

const TensorInfo& WeightFiles::info(const std::string& name) const {
  return files_.at(file_of_.at(name)).tensors().at(name);
}

Tensor WeightFiles::tensor(const std::string& name) const {
  return files_.at(file_of_.at(name)).tensor(name);
}

torch::Dtype WeightFiles::dtype() const {
  std::optional<torch::Dtype> widest;
  for (const auto& [name, file] : file_of_)
    if (const torch::Dtype dtype = info(name).dtype; c10::isFloatingType(dtype))
      widest = widest ? c10::promoteTypes(*widest, dtype) : dtype;
  return widest.value_or(torch::kFloat32);
}

void write_weight_files(const fs::path& folder, const std::vector<LazyTensor>& tensors,
                        int64_t max_file_bytes) {
  // Hugging Face's loader asks for this key.
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  std::vector<std::vector<LazyTensor>> files(1);
  int64_t total = 0, in_file = 0;
  for (const LazyTensor& tensor : tensors) {
    auto bytes = static_cast<int64_t>(c10::elementSize(tensor.dtype));
    for (const int64_t size : tensor.shape) bytes *= size;
    if (in_file + bytes > max_file_bytes && !files.back().empty()) {
      files.emplace_back();
      in_file = 0;
    }
    files.back().push_back(tensor);
    in_file += bytes;
    total += bytes;
  }
  if (files.size() == 1) {
    stream_safetensors(folder / kSingle, tensors, metadata);
    return;
  }
  const auto numbered = [](size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
  };
  Json index = {{"metadata", {{"total_size", total}}}};
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string name =
        cat("model-", numbered(i + 1), "-of-", numbered(files.size()), ".safetensors");
    stream_safetensors(folder / name, files[i], metadata);
    for (const LazyTensor& tensor : files[i]) index["weight_map"][tensor.name] = name;
  }
  write_json_file(folder / kIndex, index);
}

}  // namespace zoo
