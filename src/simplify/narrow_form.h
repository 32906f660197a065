// The elements in a file that a folded constant is made of, for kernels that read or keep them
// instead of the f32.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/stored_form.h"

namespace parallax {

/// Constant::is_half and Constant::units, and the elements in a file.
struct NarrowForm {
  bool is_half = false;
  std::shared_ptr<const std::vector<float>> units = nullptr;
  std::optional<StoredForm> stored = std::nullopt;
};

/// Returns the form of the result of a node whose inputs are constants: of a Cast from f16 to f32,
/// of a DequantizeLinear of symmetric bytes to f32, and of a Transpose of such a result, or of f32,
/// f16 or bytes in a file; otherwise nothing. A pure function.
NarrowForm narrow_form(const Graph& graph, const Node& node);

/// Writes the f32 of a constant with these dimensions, with the bits of Cast and DequantizeLinear.
/// REQUIRES: `form` has `stored`, and is_half or `units`.
void write_numbers(const NarrowForm& form, const Dims& dims, std::span<std::byte> into);

}  // namespace parallax
