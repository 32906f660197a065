// Options that Python gives as words. Threads: pure functions; the GIL is held, as they may raise.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "errors.h"

namespace parallax::python {

/// Returns the value of a word. Raises InvalidInputError for one that is not in the list.
template <class T>
T choose(std::string_view option, std::string_view word,
         std::initializer_list<std::pair<std::string_view, T>> choices) {
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](const auto& choice) { return choice.first == word; });
  if (found != choices.end()) return found->second;
  std::string message = std::string(option) + "='" + std::string(word) + "' is not one of";
  for (const auto& choice : choices) message += " '" + std::string(choice.first) + "'";
  raise_invalid(std::move(message));
}

}  // namespace parallax::python
