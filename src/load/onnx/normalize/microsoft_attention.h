// Helpers of the rules for the attention operators of com.microsoft. Thread-safety: not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "load/onnx/normalize/microsoft.h"

namespace parallax {

/// 0, 1, ... up to the one dimension in `length`. Both are i64: `length` has one element, the
/// result rank 1.
ValueId counted(Rewriting& to, ValueId length);

/// Angles of rotary embedding: the pair (a, b) becomes (a cos - b sin, a sin + b cos).
struct Rotation {
  ValueId cos, sin;          ///< [length, half] or [batch, 1, length, half]
  std::int64_t rotated = 0;  ///< how many of the elements; 0: all
  bool interleaved = false;
};

/// Pairs of elements of [batch, heads, length, size] turned by angles. Pairs are neighbours if
/// `interleaved`, else elements i and i + half. Elements from `rotated` on stay.
ValueId rotate(Rewriting& to, ValueId x, const Rotation& rotation);
/// Rows of the tables of cosines and sines at `positions`, [length] or [batch, length]. The tables
/// are [most positions, half]. `rotated` and `interleaved` are left at their defaults.
Rotation rotation_at(Rewriting& to, ValueId cos, ValueId sin, ValueId positions);

/// Takes the attribute `name`, a number of heads. Fails with kInvalidModel outside of 1 to 2^20.
std::int64_t take_heads(Rewriting& to, const char* name);
/// Checks that an attribute has the value with which it has no effect. Fails with kUnsupported for
/// another value.
void expect_off(Rewriting& to, const char* name, std::int64_t off = 0);
/// Fails with kUnsupported if the input is given; `name` is for the message.
void expect_absent(Rewriting& to, std::size_t input, const char* name);

}  // namespace parallax
