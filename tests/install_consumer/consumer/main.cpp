// Uses the installed library: its headers, LibTorch, and a function that needs each of its libraries.
#include <iostream>

#include "core/files.h"
#include "core/shape.h"

int main() {
  const zoo::Tensor tokens = torch::arange(6).view({2, 3});
  std::cout << zoo::sha256("zoo") << " " << tokens.sizes() << "\n";
}
