#pragma once
// Threads of LibTorch's OpenMP runtime, for work of our own. A second runtime or pool beside it
// would fight over the cores.

#include <functional>

namespace zoo {

/// Whether this build has them. Without, run_side_by_side() does one part after the other.
bool has_parallel_threads();

/// Calls work(0) … work(parts - 1), each on a thread of its own where there are enough; LibTorch's
/// operators inside use that one thread. Returns when all are done; the first exception is
/// rethrown.
void run_side_by_side(int parts, const std::function<void(int part)>& work);

}  // namespace zoo
