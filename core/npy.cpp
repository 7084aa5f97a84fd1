#include "core/npy.h"

#include <bit>

#include "core/error.h"

namespace zoo {

void write_npy(const fs::path& path, const Tensor& tensor) {
  static_assert(std::endian::native == std::endian::little);
  const Tensor values = tensor.to(torch::kCPU, torch::kFloat32).contiguous();
  std::string shape;
  for (const int64_t size : values.sizes()) shape += cat(size, ", ");
  std::string header = cat("{'descr': '<f4', 'fortran_order': False, 'shape': (", shape, "), }");
  // Magic, version and length take 10 bytes; all of it is a multiple of 64 and ends in a line end.
  constexpr size_t kAlignment = 64, kPrefix = 10;
  header.append(kAlignment - 1 - (kPrefix + header.size()) % kAlignment, ' ');
  header += '\n';
  write_file(path, [&](std::ostream& out) {
    const auto length = static_cast<uint16_t>(header.size());
    out.write("\x93NUMPY\x01\x00", 8);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out << header;
    out.write(static_cast<const char*>(values.const_data_ptr()),
              static_cast<std::streamsize>(values.nbytes()));
  });
}

}  // namespace zoo
