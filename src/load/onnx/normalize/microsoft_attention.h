// Helpers of the rules for the attention operators of com.microsoft. Thread-safety: not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "load/onnx/normalize/microsoft.h"

namespace parallax {

/// 0, 1, ... up to the one dimension in `length`.
ValueId counted(Rewriting& to, ValueId length);

struct Rotation {
  ValueId cos, sin;          ///< [length, half] or [batch, 1, length, half]
  std::int64_t rotated = 0;  ///< how many of the elements; 0: all
  bool interleaved = false;
};

/// Pairs of elements of [batch, heads, length, size] turned by angles.
ValueId rotate(Rewriting& to, ValueId x, const Rotation& rotation);
/// Rows of the tables of cosines and sines at `positions`, [length] or [batch, length].
Rotation rotation_at(Rewriting& to, ValueId cos, ValueId sin, ValueId positions);

std::int64_t take_heads(Rewriting& to, const char* name);
/// Attributes that change nothing where they have this value.
void expect_off(Rewriting& to, const char* name, std::int64_t off = 0);
void expect_absent(Rewriting& to, std::size_t input, const char* name);

}  // namespace parallax
