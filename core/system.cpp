#include "core/system.h"

#include <fstream>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "core/text.h"

namespace zoo {

std::string proc_value(const char* file, std::string_view key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && trim(std::string_view(line).substr(0, colon)) == key)
      return std::string(trim(std::string_view(line).substr(colon + 1)));
  }
  return "";
}

std::string processor_name() { return proc_value("/proc/cpuinfo", "model name"); }

namespace {

/// @return of a value such as "123456 kB"; 0 without one
int64_t proc_bytes(const char* file, std::string_view key) {
  const std::string kilobytes = proc_value(file, key);
  return kilobytes.empty() ? 0 : std::strtoll(kilobytes.c_str(), nullptr, 10) * 1024;
}

}  // namespace

int64_t peak_memory_bytes() { return proc_bytes("/proc/self/status", "VmHWM"); }

int64_t reset_peak_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5\n";  // the peak, see proc(5)
  return proc_bytes("/proc/self/status", "VmRSS");
}

int64_t free_memory_bytes() { return proc_bytes("/proc/meminfo", "MemAvailable"); }

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kBytes = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kBytes);
  mallopt(M_TRIM_THRESHOLD, kBytes);
#endif
}

}  // namespace zoo
