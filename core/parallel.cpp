#include "core/parallel.h"

#include <exception>
#include <vector>

namespace zoo {

bool has_parallel_threads() {
#ifdef _OPENMP
  return true;
#else
  return false;
#endif
}

void run_side_by_side(int parts, const std::function<void(int part)>& work) {
  std::vector<std::exception_ptr> failures(
      static_cast<size_t>(parts));  // none may leave its thread
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    try {
      work(part);
    } catch (...) {
      failures[static_cast<size_t>(part)] = std::current_exception();
    }
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace zoo
