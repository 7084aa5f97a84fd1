// Scores corpora for compare.py: one JSON request a line on standard input, one answer a line on
// standard output.
//
//   {"metric": "bleu", "options": {"tokenize": "13a", …}, "hypotheses": […], "references": [[…],
//   …]}
//   {"name": …, "score": …, "signature": …, "details": …, "sentences": [scores of the lines]}

#include <iostream>

#include "tests/evaluation/metric_case.h"

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << zoo::testing::answer(zoo::parse_json(line, "request")).dump() << std::endl;
}
