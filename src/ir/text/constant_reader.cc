#include "ir/text/constant_reader.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "ir/builder.h"
#include "ir/strings.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

constexpr std::int64_t kMaxElements = 1 << 24;  ///< limit of one constant in a text

/// Writes the number in `text` as element `i`; false where the type has no such number.
template <class Number>
bool write_number(DType dtype, std::string_view text, std::byte* bytes, std::int64_t i) {
  const auto number = number_in<Number>(text);
  if (!number) return false;
  write_element(dtype, *number, bytes, i);
  return info_of(dtype).kind == DTypeClass::kFloat ||
         read_element<Number>(dtype, bytes, i) == *number;
}

bool write_text(DType dtype, std::string_view text, std::byte* bytes, std::int64_t i) {
  switch (info_of(dtype).kind) {
    case DTypeClass::kFloat:  // 32 bits and fewer: without a second rounding
      return dtype == DType::kF64 ? write_number<double>(dtype, text, bytes, i)
                                  : write_number<float>(dtype, text, bytes, i);
    case DTypeClass::kSigned:
      return write_number<std::int64_t>(dtype, text, bytes, i);
    default:
      return write_number<std::uint64_t>(dtype, text, bytes, i);
  }
}

}  // namespace

Result<DType> ConstantReader::dtype() {
  PX_ASSIGN(const std::string text, name());
  if (const auto dtype = dtype_from_text(text)) return *dtype;
  return syntax_error("unknown dtype '" + text + "'");
}

Result<Constant> ConstantReader::elements(DType element_type, const Shape& shape) {
  if (accept("...")) return syntax_error("the elements of this constant were abbreviated");
  if (shape.size() > static_cast<std::size_t>(Dims::kMaxRank)) return syntax_error("rank above 8");
  Dims dims;
  for (const Expr& dim : shape) {
    if (dim.constant().value_or(-1) < 0) return syntax_error("a constant needs dimensions >= 0");
    dims.push_back(*dim.constant());
  }
  const auto count = dims.checked_elements();
  if (!count || *count > kMaxElements) return syntax_error("constant too large");
  if (element_type == DType::kString) {
    PX_ASSIGN(const std::vector<std::string> list, texts());
    const std::vector<std::string_view> views(list.begin(), list.end());
    if (auto constant = make_strings(dims, views)) return *std::move(constant);
    return syntax_error("count of elements and shape differ");
  }
  if (!contains(kSizedTypes, element_type))
    return syntax_error(fmt::format("elements of {} have no text", info_of(element_type).text));
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(bytes_of(element_type, *count).value_or(0)));
  if (accept_word("fill")) {
    PX_ASSIGN(const std::string text, number());
    // An element or, where it is less, a byte of them.
    std::byte one[8] = {};
    const auto size = static_cast<std::size_t>(alignment_of(element_type));
    for (int i = 0; i == 0 || i * info_of(element_type).bits < 8; ++i) {
      if (!write_text(element_type, text, one, i))
        return syntax_error("bad element '" + text + "'");
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = one[i % size];
  } else {
    PX_RETURN_IF_ERROR(expect("["));
    std::int64_t i = 0;
    for (; !accept("]"); ++i) {
      if (i > 0) PX_RETURN_IF_ERROR(expect(","));
      PX_ASSIGN(const std::string text, number());
      if (i == *count) return syntax_error("count of elements and shape differ");
      if (!write_text(element_type, text, bytes.data(), i))
        return syntax_error("bad element '" + text + "'");
    }
    if (i != *count) return syntax_error("count of elements and shape differ");
  }
  return make_constant(element_type, dims, bytes);
}

}  // namespace parallax
