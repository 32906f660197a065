// Properties and functions of an operand type, as the core of matrix products uses them. To add a
// type, add a row in gemm_type.cc and a micro-kernel. Thread-safe. Types are constants: f32, bf16,
// f16 (weights alone) and u8.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/cpu/gemm/panel.h"
#include "kernels/cpu/gemm/row_loops.h"
#include "parallax/dtype.h"

namespace parallax {

/// A type of operands. Depth is counted in elements, steps are four bytes. A step has 1 element of
/// f32 or f16, 2 of bf16, 4 of bytes.
struct GemmType {
  /// Used in the layout names of its packings, so a change of it discards cached weights.
  std::string_view name;
  std::int64_t elements = 1;  ///< elements in depth of a step
  /// Bytes that a step takes in a packing of B.
  std::int64_t packed_bytes = kStepBytes;
  /// Multiply-adds of a core in a nanosecond, and the longest tiles that its products have, in
  /// nanoseconds.
  std::int64_t speed = 1, longest_tile = 1;
  /// Returns the widths of panels on this machine.
  MatMulWidths (*widths)() = nullptr;
  /// The micro-kernel, and whether it applies MatMulPanel::residual and MatMulPanel::bounds.
  void (*multiply)(const MatMulPanel&) = nullptr;
  bool finishes = false;
  /// The same for a series of products; null if there is no such function.
  void (*multiply_panels)(const MatMulPanel& first, const PanelSteps&) = nullptr;
  /// The micro-kernel of one row, which finishes too; null if `multiply` does it.
  void (*multiply_row)(const MatMulRow&) = nullptr;
  /// Converts rows of A: `rows` of `depth` elements of a tensor, `stride` apart, to rows of steps,
  /// `to_stride` apart. May write where it reads. Null if an element is a step.
  void (*convert_rows)(const void* from, std::size_t stride, std::size_t rows, std::size_t depth,
                       void* to, std::size_t to_stride) = nullptr;
  /// Packs a panel of B: `depth` rows of `columns` f32, `stride` apart, as rows of `padded` steps,
  /// padded with zeros; `padded` is the next multiple of the vector.
  void (*pack_columns)(const float* from, std::size_t stride, std::size_t depth,
                       std::size_t columns, void* to, std::size_t padded) = nullptr;

  /// Returns whether rows of A must be converted to steps first (bf16, bytes).
  bool converts() const { return convert_rows != nullptr; }
  /// Whether a packing of B has the f32 that it is made of.
  bool packs_floats() const { return !converts() && packed_bytes == kStepBytes; }
  /// Returns the steps of `depth` elements, the last one padded.
  std::int64_t steps(std::int64_t depth) const {
    return elements == 1 ? depth : (depth + elements - 1) / elements;  // divisions take long
  }
};

/// Returns the type of a precision; valid for the life of the process. REQUIRES:
/// cpu_multiplies_bf16() for kBf16, before its functions are called.
const GemmType& gemm_type(Precision precision);
/// Returns the type of f32 times f16, which are widened to f32 as they are multiplied. Its rows of
/// A and its sums are those of f32.
const GemmType& half_gemm_type();
/// Returns the type of unsigned bytes times signed ones. Sums are exact modulo 2^32. Weights are
/// packed from f32 that hold integers of i8.
const GemmType& byte_gemm_type();

}  // namespace parallax
