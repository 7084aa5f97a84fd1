#pragma once
// Labelled pictures on disk, read one at a time: nothing but their places and labels is in memory.
//
//   folder   a subfolder of PNG and JPEG files for each class (torchvision's ImageFolder)
//   IDX      MNIST's form: …images-idx3-ubyte, its labels beside it in …labels-idx1-ubyte; each
//            plain or as .gz
//   CIFAR    .bin files of 32 x 32 pixels in colour: one byte for the class before each picture
//            (CIFAR-10), or two, of which the second counts (CIFAR-100)

#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/image.h"

namespace zoo {

/// Pictures with or without labels. All members may be called by several threads at once.
class ImageSet {
 public:
  virtual ~ImageSet() = default;
  virtual int64_t size() const = 0;
  /// @throws DataError, naming it, for a picture that is broken
  virtual Image image(int64_t index) const = 0;
  virtual int64_t label(int64_t index) const = 0;  ///< in [0, classes)
  virtual std::string name(int64_t index) const = 0;
};

/// The names of the classes of these sets: the subfolders in the order of their bytes, those of
/// CIFAR's batches.meta.txt or fine_label_names.txt, or "0", "1", …
/// @throws DataError, FormatError
std::vector<std::string> image_labels(const std::vector<fs::path>& paths);

/// Opens the sets as one. @param labels names of the classes, in order
/// @param cache a folder for what .gz files hold, which are unpacked once
/// @throws DataError, FormatError: a class that has no name, a file of another form, no picture
std::unique_ptr<ImageSet> open_images(const std::vector<fs::path>& paths,
                                      const std::vector<std::string>& labels,
                                      const fs::path& cache);

/// The same without labels (label() is 0): PNG and JPEG files, those of folders and their
/// subfolders in the order of their paths, IDX (by their names) and CIFAR files. A file that is
/// missing or no picture is found out when it is read.
/// @throws DataError: a folder without pictures, an IDX or CIFAR file of another form
std::unique_ptr<ImageSet> open_unlabelled_images(const std::vector<fs::path>& paths,
                                                 const fs::path& cache);

/// 0, 1, … for a whole set.
std::vector<int64_t> all_of(const ImageSet& set);

/// Pictures of a set parted in two.
struct HeldOut {
  std::vector<int64_t> held, rest;
};
/// A share of `size` pictures, rounded, drawn with the seed.
HeldOut held_out_pictures(int64_t size, double share, uint64_t seed);

/// The IDX and CIFAR files of these sets, those of labels too, for receipts.
std::vector<fs::path> image_files(const std::vector<fs::path>& paths);

}  // namespace zoo
