#include "ir/strings.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace parallax {
namespace {

static_assert(std::endian::native == std::endian::little);
using Length = std::uint32_t;

}  // namespace

std::optional<Constant> make_strings(const Dims& dims, std::span<const std::string_view> strings) {
  if (dims.checked_elements() != std::ssize(strings)) return std::nullopt;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  bytes->reserve(strings.size() * sizeof(Length));
  const auto append = [&](const void* data, std::size_t size) {
    const auto* const from = static_cast<const std::byte*>(data);
    bytes->insert(bytes->end(), from, from + size);
  };
  for (const std::string_view text : strings) {
    if (text.size() > std::numeric_limits<Length>::max()) return std::nullopt;
    const auto length = static_cast<Length>(text.size());
    append(&length, sizeof length);
  }
  for (const std::string_view text : strings) append(text.data(), text.size());
  const std::span<const std::byte> view(*bytes);
  return Constant{DType::kString, dims, view, std::move(bytes)};
}

std::optional<std::vector<std::string>> strings_of(const Constant& constant) {
  const auto count = constant.dims.checked_elements();
  if (constant.dtype != DType::kString || !count) return std::nullopt;
  const auto n = static_cast<std::size_t>(*count);
  if (n > constant.bytes.size() / sizeof(Length)) return std::nullopt;
  std::span<const std::byte> rest = constant.bytes.subspan(n * sizeof(Length));
  std::vector<std::string> strings;
  strings.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    Length length = 0;
    std::memcpy(&length, constant.bytes.data() + i * sizeof length, sizeof length);
    if (length > rest.size()) return std::nullopt;
    strings.emplace_back(reinterpret_cast<const char*>(rest.data()), length);
    rest = rest.subspan(length);
  }
  if (!rest.empty()) return std::nullopt;
  return strings;
}

}  // namespace parallax
