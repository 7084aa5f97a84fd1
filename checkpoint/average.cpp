#include "checkpoint/average.h"

#include <set>

#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "core/error.h"

namespace zoo {

namespace {

/// A file that belongs to the weights, or to one moment of a training, and not to the model.
bool is_of_one_checkpoint(const fs::path& name) {
  const std::string text = utf8(name);
  return text == "trainer.json" || name.extension() == ".safetensors" ||
         text.ends_with(".safetensors.index.json");
}

/// The other files of a checkpoint, those of folders in it included, relative to it.
std::set<fs::path> shared_files(const fs::path& folder) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !is_of_one_checkpoint(entry.path().filename()))
      files.insert(entry.path().lexically_relative(folder));
  return files;
}

/// What must be equal: all but configs, where a run may have been resumed with another one.
bool is_of_tokenizer(const fs::path& file) {
  const std::string name = utf8(file.filename());
  return name != "config.json" && name != "zoo.json" && name != "generation_config.json" &&
         (file.has_parent_path() || file.extension() == ".model" || file.extension() == ".txt" ||
          file.extension() == ".json");
}

[[noreturn]] void fail(const fs::path& first, const fs::path& other, const std::string& what) {
  throw ConfigError(cat(utf8(other), " and ", utf8(first), " are not of one model: ", what,
                        "; average checkpoints of one training"));
}

void require_same_tensors(const WeightFiles& first, const WeightFiles& other) {
  const auto names = first.names();
  if (const auto theirs = other.names(); theirs != names) {
    for (const std::string& name : names)
      if (!other.contains(name)) fail(first.path(), other.path(), cat("only one has ", name));
    for (const std::string& name : theirs)
      if (!first.contains(name)) fail(first.path(), other.path(), cat("only one has ", name));
  }
  for (const std::string& name : names) {
    const TensorInfo &a = first.info(name), &b = other.info(name);
    if (a.shape != b.shape)
      fail(first.path(), other.path(),
           cat(name, " is ", shape_text(b.shape), " and ", shape_text(a.shape)));
    if (a.dtype != b.dtype)
      fail(first.path(), other.path(),
           cat(name, " is ", c10::toString(b.dtype), " and ", c10::toString(a.dtype)));
  }
}

Tensor mean_of(const std::vector<WeightFiles>& files, const std::string& name) {
  const Tensor first = files[0].tensor(name);
  if (!first.is_floating_point()) {
    for (const WeightFiles& other : files)
      if (!at::equal(first, other.tensor(name)))
        fail(files[0].path(), other.path(), cat(name, ", of whole numbers, differs"));
    return first;
  }
  const Tensor sum = torch::zeros(first.sizes(), torch::kFloat64);
  for (const WeightFiles& file : files) sum.add_(file.tensor(name));
  return sum.div_(static_cast<double>(files.size())).to(first.scalar_type());
}

}  // namespace

void average_checkpoints(const std::vector<fs::path>& checkpoints, const fs::path& output) {
  if (checkpoints.empty())
    throw ConfigError("average: no checkpoint is given; name at least one folder");
  std::vector<fs::path> folders;
  std::vector<WeightFiles> files;
  for (const fs::path& checkpoint : checkpoints) {
    folders.push_back(resolve_checkpoint(checkpoint));
    files.emplace_back(folders.back());
    require_same_tensors(files[0], files.back());
  }
  for (const fs::path& name : shared_files(folders[0])) {
    for (const fs::path& folder : folders)
      if (is_of_tokenizer(name) && (!fs::is_regular_file(folder / name) ||
                                    sha256_file(folder / name) != sha256_file(folders[0] / name)))
        fail(folders[0], folder, cat("the tokenizer's file ", utf8(name), " differs"));
    write_file(output / name, read_file(folders[0] / name));
  }

  const torch::NoGradGuard no_grad;
  std::vector<LazyTensor> tensors;
  for (const std::string& name : files[0].names()) {
    const TensorInfo& info = files[0].info(name);
    tensors.push_back(
        {name, info.dtype, info.shape, [&files, name] { return mean_of(files, name); }});
  }
  // Hugging Face's loader asks for this key.
  stream_safetensors(output / "model.safetensors", tensors, {{"format", "pt"}});
}

}  // namespace zoo
