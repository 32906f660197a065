// The short dtype names of the text form: f32 i64 i32 u8 i8 bool.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "parallax/tensor.h"

namespace parallax {

inline constexpr std::array<std::pair<DType, std::string_view>, 6> kDTypeText = {{
    {DType::kF32, "f32"},
    {DType::kU8, "u8"},
    {DType::kI8, "i8"},
    {DType::kI32, "i32"},
    {DType::kI64, "i64"},
    {DType::kBool, "bool"},
}};

}  // namespace parallax
