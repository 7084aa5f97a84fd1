// Links only with a LibTorch whose std::string is this compiler's.
#include <ATen/Parallel.h>

int main() { return at::get_parallel_info().empty(); }
