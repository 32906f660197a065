// The operators: ir/op_kinds.def is the list, their properties are in ops/op.h. Pure functions.
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
/// Returns the row's name, "Conv", as ONNX spells it; "unknown" for a number without a row.
std::string_view to_string(OpKind kind);
/// Returns the operator of that name, capitals included; nullopt for others.
std::optional<OpKind> op_from_string(std::string_view name);

}  // namespace parallax
