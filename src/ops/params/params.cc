#include "ops/params/params.h"

#include <fmt/core.h>

#include <algorithm>

namespace parallax {

AttributeReader::AttributeReader(const Attributes& attributes) : attributes_(attributes) {}

AttributeReader::~AttributeReader() = default;

void AttributeReader::complain(Problem problem) {
  if (!problem_) problem_ = std::move(problem);
}

bool AttributeReader::flag(std::string_view name, bool fallback) {
  const std::int64_t value = attributes_.get_int(name, fallback ? 1 : 0);
  if (value != 0 && value != 1) complain({fmt::format("{} must be 0 or 1, not {}", name, value)});
  return value != 0;
}

DType AttributeReader::dtype(std::string_view name, DType fallback) {
  if (attributes_.find(name) == nullptr) return fallback;
  const std::int64_t code = attributes_.get_int(name, 0);
  const auto dtype = dtype_from_onnx(code);
  if (!dtype) complain({fmt::format("{} {} is not a dtype", name, code)});
  return dtype.value_or(fallback);
}

std::size_t AttributeReader::choice(std::string_view name,
                                    std::span<const std::string_view> choices,
                                    std::size_t fallback) {
  const AttributeValue* const value = attributes_.find(name);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text == nullptr) return fallback;
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  complain({fmt::format("{} '{}' is not covered", name, *text), ErrorCode::kUnsupported});
  return fallback;
}

}  // namespace parallax
