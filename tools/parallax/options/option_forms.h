// The forms of options: one of a few names, a number within limits, texts given several times.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace parallax::cli {

/// An option that takes one of a few names, each standing for a value.
template <class T>
CLI::Option* add_choice(CLI::App& command, const char* name, T& value,
                        std::vector<std::pair<std::string, T>> choices, const char* what) {
  std::vector<std::string> names;
  for (const auto& choice : choices) names.push_back(choice.first);
  return command
      .add_option_function<std::string>(
          name,
          [&value, choices](const std::string& text) {
            for (const auto& [each, meaning] : choices)
              if (each == text) value = meaning;
          },
          what)
      ->check(CLI::IsMember(names))
      ->type_name("NAME");
}

/// A number from `low` to `high`. CLI::Range takes NaN, and names its limits with six decimals.
template <class T>
CLI::Validator within(T low, T high) {
  return {[low, high](std::string& text) -> std::string {
            T value{};
            const bool wraps = std::is_unsigned_v<T> && text.starts_with('-');
            if (!wraps && CLI::detail::lexical_cast(text, value) && value >= low && value <= high)
              return {};
            return fmt::format("'{}' is not a {}number from {} to {}", text,
                               std::is_integral_v<T> ? "whole " : "", low, high);
          },
          fmt::format("{} to {}", low, high)};
}

/// An option that may be given several times; each text is taken on its own.
CLI::Option* add_repeated(CLI::App& command, const char* name,
                          const std::function<void(const std::string&)>& take, const char* what);

/// The check of options whose value would be ignored if it is empty, which is what
/// --cache "$UNSET" gives.
std::string check_not_empty(const std::string& text);

}  // namespace parallax::cli
