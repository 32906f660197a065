// Cast from and to strings. Floats are written as the shortest text that reads back to the same
// value; infinities and NaN are "INF", "-INF" and "NaN", which are read in upper or lower case.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "kernels/objects/cast_strings.h"
#include "kernels/objects/kernels.h"

namespace parallax {
namespace {

/// Types with an arithmetic C++ type.
constexpr DTypeSet kPlainTypes = dtypes_where([](const DTypeInfo& type) {
  return (type.kind == DTypeClass::kFloat && type.bits >= 32) ||
         ((type.kind == DTypeClass::kSigned || type.kind == DTypeClass::kUnsigned ||
           type.kind == DTypeClass::kBool) &&
          type.bits >= 8);
});

template <class T>
std::string text_of(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return "NaN";
    if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
    return fmt::format("{}", x);
  } else {
    return std::to_string(x);
  }
}

bool equals_ignoring_case(std::string_view text, std::string_view upper) {
  return std::ranges::equal(
      text, upper, [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}

/// Returns the number in `text`, white space around it ignored; nullopt if there is other text.
std::optional<double> number_of(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (equals_ignoring_case(text, "INF")) return kInf;
  if (equals_ignoring_case(text, "-INF")) return -kInf;
  if (equals_ignoring_case(text, "NAN")) return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (code == std::errc::result_out_of_range)
    return text.find("e-") == std::string_view::npos && text.find("E-") == std::string_view::npos
               ? (text.starts_with('-') ? -kInf : kInf)
               : 0.0;
  if (code != std::errc{}) return std::nullopt;
  return value;
}

/// Returns the number in `text` as T. Integers are parsed exactly; other numbers lose their
/// fraction. Returns nullopt if the text is no number or T cannot hold it.
template <class T>
std::optional<T> element_of(const std::string& text) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    T whole = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (code == std::errc{} && end == text.data() + text.size() && !text.empty()) return whole;
  }
  const auto number = number_of(text);
  if (!number) return std::nullopt;
  if constexpr (std::is_same_v<T, bool>) {
    return *number != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(*number);
  } else {
    // Powers of two, which double represents exactly.
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const double whole = std::trunc(*number);
    if (whole >= low && whole < end) return static_cast<T>(whole);
    return std::nullopt;
  }
}

Result<Object> to_numbers(const ObjectCall& call, const Object& input, DType to) {
  PX_ASSIGN(Tensor tensor, take_tensor(call, to, input.dims()));
  const Status status = dispatch<kPlainTypes>(to, [&](auto type) -> Status {
    using T = typename decltype(type)::type;
    T* at = tensor.mutable_view().as<T>();
    for (const std::string& text : input.strings()) {
      const auto element = element_of<T>(text);
      if (!element) {
        return tl::unexpected(
            object_error(call, ErrorCode::kInvalidInput,
                         fmt::format("'{}' is not a valid {}", text.substr(0, 40), to_string(to))));
      }
      *at++ = *element;
    }
    return {};
  });
  PX_RETURN_IF_ERROR(status);
  return counted(call, std::move(tensor));
}

Result<Object> to_strings(const ObjectCall& call, const Object& input) {
  const TensorView view = input.tensor_view();
  const auto count = static_cast<std::size_t>(view.dims.elements());
  PX_ASSIGN(const auto room,
            call.memory.take(static_cast<std::int64_t>(count * sizeof(std::string))));
  std::vector<std::string> texts(count);
  dispatch<kPlainTypes>(view.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < count; ++i) texts[i] = text_of(view.as<T>()[i]);
  });
  return make_object(call, view.dims, std::move(texts));
}

}  // namespace

Result<Object> cast_object(const ObjectCall& call, const Object& input, DType to) {
  const DType from = input.dtype();
  if (from == to) return input;
  const DType numbers = from == DType::kString ? to : from;
  if (!contains(kPlainTypes, numbers)) {
    return tl::unexpected(
        object_error(call, ErrorCode::kUnsupported,
                     fmt::format("from {} to {}", to_string(from), to_string(to))));
  }
  return to == DType::kString ? to_strings(call, input) : to_numbers(call, input, to);
}

Status cast_strings(const ObjectCall& call) {
  PX_ASSIGN(call.outputs[0], cast_object(call, *call.input(0), call.output_types[0]));
  return {};
}

}  // namespace parallax
