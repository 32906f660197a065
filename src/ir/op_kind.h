// The operators: ir/op_kinds.def is the list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace parallax {

enum class OpKind : std::uint16_t {
#define PX_OP(name) k##name,
#include "ir/op_kinds.def"
#undef PX_OP
};
/// Number of rows of op_kinds.def.
inline constexpr std::size_t kOpCount = 0
#define PX_OP(name) +1
#include "ir/op_kinds.def"
#undef PX_OP
    ;
std::string_view to_string(OpKind kind);
std::optional<OpKind> op_from_string(std::string_view name);

}  // namespace parallax
