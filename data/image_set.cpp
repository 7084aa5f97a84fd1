#include "data/image_set.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/error.h"
#include "core/random.h"
#include "core/scratch.h"
#include "core/text.h"
#include "data/image_file.h"

namespace zoo {

namespace {

// ---- folders ---------------------------------------------------------------------------------

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (!utf8(entry.path().filename()).starts_with('.')) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The pictures below a folder.
void collect_pictures(const fs::path& folder, std::vector<fs::path>& found) {
  for (const fs::path& entry : sorted_entries(folder)) {
    if (fs::is_directory(entry))
      collect_pictures(entry, found);
    else if (has_image_name(entry))
      found.push_back(entry);
  }
}

std::vector<fs::path> class_folders(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const fs::path& entry : sorted_entries(folder))
    if (fs::is_directory(entry)) folders.push_back(entry);
  if (folders.empty())
    throw DataError(cat(utf8(folder),
                        ": has no subfolders; expected one of PNG and JPEG files for each class, "
                        "named as the class"));
  return folders;
}

class FolderImages final : public ImageSet {
 public:
  FolderImages(std::vector<fs::path> files, std::vector<int64_t> labels)
      : files_(std::move(files)), labels_(std::move(labels)) {}
  int64_t size() const override { return std::ssize(files_); }
  Image image(int64_t index) const override { return read_image(files_[index]); }
  int64_t label(int64_t index) const override { return labels_[index]; }
  std::string name(int64_t index) const override { return utf8(files_[index]); }

 private:
  std::vector<fs::path> files_;
  std::vector<int64_t> labels_;
};

std::unique_ptr<ImageSet> open_folder(const fs::path& folder,
                                      const std::vector<std::string>& names) {
  std::vector<fs::path> files;
  std::vector<int64_t> labels;
  for (const fs::path& of_class : class_folders(folder)) {
    const std::string name = utf8(of_class.filename());
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw DataError(cat(utf8(of_class), ": no class of that name; there are ", join(names, ", "),
                          "; rename the folder, or leave model.labels out"));
    collect_pictures(of_class, files);
    labels.resize(files.size(), found - names.begin());
  }
  return std::make_unique<FolderImages>(std::move(files), std::move(labels));
}

// ---- IDX -------------------------------------------------------------------------------------

bool is_gz(const fs::path& path) { return path.extension() == ".gz"; }

/// The file itself, or what a .gz holds, unpacked into `cache`.
fs::path unpacked(const fs::path& path, const fs::path& cache) {
  if (!is_gz(path)) return path;
  const fs::path target = cache / (sha256_file(path) + ".idx");
  if (fs::exists(target)) return target;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) throw DataError(utf8(path) + ": cannot be opened");
  write_file(target, [&](std::ostream& out) {
    std::array<char, 1 << 16> buffer;
    int count = 0;
    while ((count = gzread(file.get(), buffer.data(), buffer.size())) > 0)
      out.write(buffer.data(), count);
    int status = Z_OK;
    gzerror(file.get(), &status);
    if (count < 0 || status != Z_OK)  // Z_BUF_ERROR: the file is cut off
      throw FormatError(utf8(path) + ": a broken .gz file; fetch it again");
  });
  return target;
}

/// A file of bytes in MNIST's IDX form: 0, 0, 8 (bytes), the number of dimensions, their sizes.
class IdxFile {
 public:
  /// @param name of the file that the user knows, for messages
  IdxFile(const fs::path& path, const std::string& name) : file_(path), name_(name) {
    const std::string_view text = file_.text();
    if (text.size() < 4 || !text.starts_with(std::string_view("\0\0\x08", 3)))
      throw FormatError(cat(name, ": no IDX file of bytes; it must begin with the bytes 0 0 8"));
    const size_t dims = static_cast<uint8_t>(text[3]);
    if (dims < 1 || dims > 4 || text.size() < 4 + 4 * dims)
      throw FormatError(cat(name, ": an IDX file of ", dims, " dimensions; 1 to 4 are read"));
    uint64_t bytes = 1;
    for (size_t i = 0; i < dims; ++i) {
      uint64_t size = 0;
      for (size_t k = 0; k < 4; ++k) size = size << 8 | static_cast<uint8_t>(text[4 + 4 * i + k]);
      shape_.push_back(static_cast<int64_t>(size));
      bytes = size == 0 ? 0 : std::min(bytes, (uint64_t{1} << 62) / size) * size;
    }
    data_ = text.substr(4 + 4 * dims);
    if (data_.size() != bytes)
      throw FormatError(cat(name, ": claims ", bytes, " bytes behind its header, but has ",
                            data_.size(), "; fetch it again"));
  }

  const std::vector<int64_t>& shape() const { return shape_; }
  std::string_view data() const { return data_; }
  const std::string& name() const { return name_; }

 private:
  MappedFile file_;
  std::string name_;
  std::vector<int64_t> shape_;
  std::string_view data_;
};

/// Where the labels of an IDX file of pictures lie: MNIST's names, plain or .gz.
fs::path idx_labels_path(const fs::path& images) {
  std::string name = utf8(images.filename());
  const auto replace = [&](std::string_view from, std::string_view to) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
    return at != std::string::npos;
  };
  if (!replace("images", "labels"))
    throw DataError(cat(utf8(images),
                        ": has no \"images\" in its name, so that its labels cannot be found; "
                        "name both files as MNIST's are: train-images-idx3-ubyte and "
                        "train-labels-idx1-ubyte, each plain or with .gz"));
  replace("idx3", "idx1");
  replace("idx4", "idx1");
  fs::path path = images.parent_path() / utf8_path(name);
  if (!fs::exists(path)) path = is_gz(path) ? path.replace_extension() : fs::path(path) += ".gz";
  if (!fs::exists(path))
    throw DataError(cat(utf8(images), ": its labels are missing; looked for ",
                        utf8(images.parent_path() / utf8_path(name)), ", plain and with .gz"));
  return path;
}

/// The labels of an IDX file of pictures.
class IdxLabels {
 public:
  IdxLabels(const fs::path& images, const fs::path& cache)
      : IdxLabels(idx_labels_path(images), cache, 0) {}
  int64_t size() const { return file_.shape()[0]; }
  int64_t at(int64_t index) const { return static_cast<uint8_t>(file_.data()[index]); }
  const std::string& name() const { return file_.name(); }

 private:
  IdxLabels(const fs::path& path, const fs::path& cache, int)
      : file_(unpacked(path, cache), utf8(path)) {
    if (file_.shape().size() != 1)
      throw FormatError(
          cat(name(), ": holds ", file_.shape().size(), " dimensions; labels have one"));
  }
  IdxFile file_;
};

class IdxImages final : public ImageSet {
 public:
  IdxImages(const fs::path& path, bool labelled, const fs::path& cache)
      : images_(unpacked(path, cache), utf8(path)) {
    const std::vector<int64_t>& shape = images_.shape();
    channels_ = shape.size() == 4 ? shape[3] : 1;
    if (shape.size() < 3 || (channels_ != 1 && channels_ != 3))
      throw FormatError(cat(utf8(path), ": holds ", shape.size(),
                            " dimensions; pictures have 3, or 4 of which the last is 1 or 3"));
    if (labelled) labels_.emplace(path, cache);
    if (labelled && labels_->size() != size())
      throw FormatError(cat(labels_->name(), ": has ", labels_->size(), " labels, but ", utf8(path),
                            " has ", size(), " pictures"));
  }
  int64_t size() const override { return images_.shape()[0]; }
  Image image(int64_t index) const override {
    Image image = Image::black(channels_, images_.shape()[1], images_.shape()[2]);
    std::copy_n(images_.data().data() + index * std::ssize(image.pixels), image.pixels.size(),
                image.pixels.data());
    return image;
  }
  int64_t label(int64_t index) const override { return labels_ ? labels_->at(index) : 0; }
  std::string name(int64_t index) const override { return cat(images_.name(), "[", index, "]"); }

 private:
  IdxFile images_;
  std::optional<IdxLabels> labels_;
  int64_t channels_;
};

// ---- CIFAR -----------------------------------------------------------------------------------

constexpr int64_t kCifarSide = 32, kCifarPixels = 3 * kCifarSide * kCifarSide;

class CifarImages final : public ImageSet {
 public:
  explicit CifarImages(const fs::path& path) : file_(path), name_(utf8(path)) {
    const int64_t bytes = std::ssize(file_.text());
    label_bytes_ = bytes % (kCifarPixels + 1) == 0 ? 1 : 2;
    if (bytes == 0 || bytes % record() != 0)
      throw FormatError(cat(name_, ": ", bytes, " bytes are no CIFAR file; each picture has ",
                            kCifarPixels + 1, " in CIFAR-10 and ", kCifarPixels + 2,
                            " in CIFAR-100"));
  }
  int64_t size() const override { return std::ssize(file_.text()) / record(); }
  Image image(int64_t index) const override {
    Image image = Image::black(3, kCifarSide, kCifarSide);
    // The file has a plane for each colour.
    const char* from = file_.text().data() + index * record() + label_bytes_;
    for (int64_t channel = 0; channel < 3; ++channel)
      for (int64_t i = 0; i < kCifarSide * kCifarSide; ++i)
        image.pixels[i * 3 + channel] = static_cast<uint8_t>(*from++);
    return image;
  }
  int64_t label(int64_t index) const override {
    return static_cast<uint8_t>(file_.text()[index * record() + label_bytes_ - 1]);
  }
  std::string name(int64_t index) const override { return cat(name_, "[", index, "]"); }

 private:
  int64_t record() const { return kCifarPixels + label_bytes_; }

  MappedFile file_;
  std::string name_;
  int64_t label_bytes_;
};

/// The names beside a CIFAR file; none if there is no such file.
std::vector<std::string> cifar_names(const fs::path& path) {
  for (const char* file : {"batches.meta.txt", "fine_label_names.txt"}) {
    const fs::path names_path = path.parent_path() / file;
    if (!fs::exists(names_path)) continue;
    std::vector<std::string> names;
    for_each_line(read_file(names_path), [&](std::string_view line) {
      if (!is_blank(line)) names.emplace_back(trim(line));
    });
    return names;
  }
  return {};
}

// ---- all of them -----------------------------------------------------------------------------

class JoinedImages final : public ImageSet {
 public:
  explicit JoinedImages(std::vector<std::unique_ptr<ImageSet>> sets) : sets_(std::move(sets)) {
    for (const auto& set : sets_) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + set->size());
  }
  int64_t size() const override { return ends_.back(); }
  Image image(int64_t index) const override {
    const auto [set, place] = find(index);
    return set->image(place);
  }
  int64_t label(int64_t index) const override {
    const auto [set, place] = find(index);
    return set->label(place);
  }
  std::string name(int64_t index) const override {
    const auto [set, place] = find(index);
    return set->name(place);
  }

 private:
  std::pair<const ImageSet*, int64_t> find(int64_t index) const {
    const auto set = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
    return {sets_[set].get(), set == 0 ? index : index - ends_[set - 1]};
  }

  std::vector<std::unique_ptr<ImageSet>> sets_;
  std::vector<int64_t> ends_;
};

bool is_cifar(const fs::path& path) { return path.extension() == ".bin"; }

bool is_idx(const fs::path& path) { return utf8(path.filename()).find("idx") != std::string::npos; }

void require_exists(const fs::path& path) {
  if (!fs::exists(path))
    throw DataError(cat(utf8(path),
                        ": no such file or folder; name a folder with a subfolder for each class, "
                        "an IDX file of pictures or a CIFAR .bin file, relative to the working "
                        "folder ",
                        utf8(fs::current_path())));
}

/// A file or folder. @param labelled false: pictures without labels, wherever they lie
std::unique_ptr<ImageSet> open_file(const fs::path& path, bool labelled, const fs::path& cache) {
  if (is_cifar(path)) return std::make_unique<CifarImages>(path);
  return std::make_unique<IdxImages>(path, labelled, cache);
}

}  // namespace

std::vector<std::string> image_labels(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  int64_t numbered = 0;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  const auto count = [&](const auto& set, const auto& label) {
    for (int64_t i = 0; i < set.size(); ++i) numbered = std::max(numbered, label(i) + 1);
  };
  bool folders = false;
  for (const fs::path& path : paths) {
    require_exists(path);
    if (fs::is_directory(path)) {
      folders = true;
      for (const fs::path& folder : class_folders(path)) add(utf8(folder.filename()));
    } else if (is_cifar(path)) {
      const std::vector<std::string> named = cifar_names(path);
      for (const std::string& name : named) add(name);
      const CifarImages set(path);
      if (named.empty()) count(set, [&](int64_t i) { return set.label(i); });
    } else {
      const ScratchFolder scratch;
      const IdxLabels labels(path, scratch.path());
      count(labels, [&](int64_t i) { return labels.at(i); });
    }
  }
  if (folders) std::sort(names.begin(), names.end());
  for (int64_t i = std::ssize(names); i < numbered; ++i) names.push_back(std::to_string(i));
  return names;
}

std::unique_ptr<ImageSet> open_images(const std::vector<fs::path>& paths,
                                      const std::vector<std::string>& labels,
                                      const fs::path& cache) {
  std::vector<std::unique_ptr<ImageSet>> sets;
  for (const fs::path& path : paths) {
    require_exists(path);
    if (fs::is_directory(path)) {
      sets.push_back(open_folder(path, labels));
    } else {
      sets.push_back(open_file(path, /*labelled=*/true, cache));
      const ImageSet& set = *sets.back();
      for (int64_t i = 0; i < set.size(); ++i)
        if (set.label(i) >= std::ssize(labels))
          throw DataError(cat(set.name(i), ": its label is ", set.label(i), ", but there are ",
                              labels.size(), " classes, and labels count from 0"));
    }
    if (sets.back()->size() == 0) throw DataError(utf8(path) + ": holds no picture");
  }
  return std::make_unique<JoinedImages>(std::move(sets));
}

std::unique_ptr<ImageSet> open_unlabelled_images(const std::vector<fs::path>& paths,
                                                 const fs::path& cache) {
  std::vector<std::unique_ptr<ImageSet>> sets;
  std::vector<fs::path> files;  // that come next
  const auto add_files = [&] {
    std::vector<int64_t> none(files.size());
    if (!files.empty()) sets.push_back(std::make_unique<FolderImages>(files, std::move(none)));
    files.clear();
  };
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      const size_t before = files.size();
      collect_pictures(path, files);
      if (files.size() == before) throw DataError(utf8(path) + ": holds no PNG or JPEG file");
    } else if (is_idx(path) || is_cifar(path)) {
      add_files();
      sets.push_back(open_file(path, /*labelled=*/false, cache));
    } else {
      files.push_back(path);
    }
  }
  add_files();
  return std::make_unique<JoinedImages>(std::move(sets));
}

std::vector<int64_t> all_of(const ImageSet& set) {
  std::vector<int64_t> indices(static_cast<size_t>(set.size()));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

HeldOut held_out_pictures(int64_t size, double share, uint64_t seed) {
  constexpr uint64_t kStream = uint64_t{22} << 56;
  const int64_t held = std::llround(share * static_cast<double>(size));
  HeldOut parts;
  for (int64_t i = 0; i < size; ++i)
    (i < held ? parts.held : parts.rest)
        .push_back(static_cast<int64_t>(
            permuted_index(static_cast<uint64_t>(i), static_cast<uint64_t>(size), seed, kStream)));
  return parts;
}

std::vector<fs::path> image_files(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) continue;
    files.push_back(path);
    if (!is_cifar(path)) files.push_back(idx_labels_path(path));
  }
  return files;
}

}  // namespace zoo
