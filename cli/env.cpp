// transformer-cli env: what runs here, for bug reports and for choosing threads and devices.

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <sys/utsname.h>
#include <torch/torch.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "cli/command.h"
#include "cli/runtime.h"
#include "core/files.h"
#include "core/json.h"
#include "core/system.h"
#include "core/text.h"

namespace zoo::cli {
namespace {

/// The processor's features that speed up matrix products.
std::string processor_features() {
  std::string all = proc_value("/proc/cpuinfo", "flags");
  if (all.empty()) all = proc_value("/proc/cpuinfo", "Features");  // Arm
  const std::vector<std::string> words = split(all, ' ');
  const std::set<std::string> present(words.begin(), words.end());
  std::vector<std::string> found;
  for (const char* feature :
       {"sse4_2",   "avx",      "avx2",        "fma",         "f16c",        "avx512f",
        "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni",
        "amx_tile", "amx_bf16", "amx_int8",    "asimd",       "asimdhp",     "asimddp",
        "bf16",     "i8mm",     "sve",         "sve2"})
    if (present.contains(feature)) found.emplace_back(feature);
  return join(found, " ");
}

std::string library_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) == 0 ||
      info.dli_fname == nullptr)
    return "unknown";
  return info.dli_fname;
}

/// The lines of LibTorch's build report that name its numeric libraries.
std::string numeric_libraries() {
  std::vector<std::string> found;
  for_each_line(at::show_config(), [&](std::string_view line) {
    line = trim(line);
    if (line.starts_with("- ")) line.remove_prefix(2);
    if (line.starts_with("Build settings")) return;
    for (const char* name : {"Intel(R) oneAPI", "Intel(R) Math Kernel", "Intel(R) MKL-DNN",
                             "oneDNN", "OpenBLAS", "OpenMP", "LAPACK"})
      if (line.find(name) != std::string_view::npos) {
        found.emplace_back(line.substr(0, line.find(" (Git Hash")));
        break;
      }
  });
  return join(found, "; ");
}

std::string operating_system() {
  std::ifstream lines("/etc/os-release");
  std::string name = "unknown system";
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      name = line.substr(12);
      std::erase(name, '"');
    }
  utsname system{};
  uname(&system);
  return cat(name, ", ", system.sysname, " ", system.release, " ", system.machine);
}

Json gpus() {
  Json list = Json::array();
  for (int i = 0; i < static_cast<int>(torch::cuda::device_count()); ++i)
    list.push_back(cat("cuda:", i));
  std::error_code none;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", none))
    names.push_back(proc_value((entry.path() / "information").c_str(), "Model"));
  if (names.size() == list.size())
    for (size_t i = 0; i < names.size(); ++i)
      list[i] = cat(list[i].get<std::string>(), " ", names[i]);
  return list;
}

struct Env {
  void declare(Flags& flags) {
    flags.example("report this machine", "transformer-cli env");
    flags.example("the same for a program", "transformer-cli env --json");
  }

  int run(const GlobalOptions& globals) {
    const Runtime runtime = start_runtime(globals);
    std::error_code unknown;
    const char* omp = std::getenv("OMP_NUM_THREADS");
    Json report = Json::object();
    report["transformer_zoo"] = ZOO_VERSION;
    report["libtorch"] = TORCH_VERSION;
    report["compiler"] = ZOO_COMPILER;
    report["build_type"] = ZOO_BUILD_TYPE;
    report["system"] = operating_system();
    report["processor"] = processor_name();
    report["features"] = processor_features();
    report["kernels"] = at::get_cpu_capability();
    report["cores"] = sysconf(_SC_NPROCESSORS_ONLN);
    report["memory_bytes"] = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    report["threads"] = at::get_num_threads();
    report["interop_threads"] = at::get_num_interop_threads();
    report["OMP_NUM_THREADS"] = omp == nullptr ? Json(nullptr) : Json(omp);
    report["numeric_libraries"] = numeric_libraries();
    report["device"] = runtime.device.str();
    report["gpus"] = gpus();
    report["binary"] = utf8(fs::read_symlink("/proc/self/exe", unknown));
    report["libtorch_path"] = library_path();
    report["working_folder"] = utf8(fs::current_path(unknown));
    if (globals.json) {
      out() << report.dump(2) << '\n';
      return kDone;
    }
    for (const auto& [key, value] : report.items()) {
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      if (key == "memory_bytes") text = human_bytes(value.get<double>());
      if (value.is_null()) text = "not set";
      if (value.is_array()) {
        std::vector<std::string> parts = value;
        text = parts.empty() ? "none" : join(parts, ", ");
      }
      out() << (key == "memory_bytes" ? "memory" : key) << ": " << text << '\n';
    }
    return kDone;
  }
};

}  // namespace

Command env_command() {
  return make_command<Env>("env",
                           "Versions, processor, threads, numeric libraries, devices, paths");
}

}  // namespace zoo::cli
