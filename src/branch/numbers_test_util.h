// For tests of branches: lists of ids as lists of numbers.
#pragma once

#include <vector>

namespace parallax {

using Numbers = std::vector<std::vector<int>>;

template <class List>
Numbers numbers(const List& lists) {
  Numbers result;
  for (const auto& list : lists) {
    result.emplace_back();
    for (auto id : list) result.back().push_back(id.value);
  }
  return result;
}

}  // namespace parallax
