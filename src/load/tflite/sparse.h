// Sparse constants: a file stores the elements that may differ from zero (compressed sparse rows).
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "ir/graph.h"
#include "ir/load_quota.h"
#include "load/tflite/tflite_file.h"

namespace parallax {

/// Segments or indices of one dimension, which the file stores in one of three widths. A missing
/// vector, or one of another type, has no elements. Points into the file.
class StoredIndices {
 public:
  StoredIndices(tflite_schema::SparseIndexVector type, const void* vector) {
    if (vector == nullptr) return;
    if (type == tflite_schema::SparseIndexVector::Int32Vector)
      words_ = elements_of(static_cast<const tflite_schema::Int32Vector*>(vector)->values());
    if (type == tflite_schema::SparseIndexVector::Uint16Vector)
      halves_ = elements_of(static_cast<const tflite_schema::Uint16Vector*>(vector)->values());
    if (type == tflite_schema::SparseIndexVector::Uint8Vector)
      bytes_ = elements_of(static_cast<const tflite_schema::Uint8Vector*>(vector)->values());
  }

  std::size_t size() const { return words_.size() + halves_.size() + bytes_.size(); }
  std::int64_t operator[](std::size_t i) const {
    if (!words_.empty()) return words_[i];
    return halves_.empty() ? std::int64_t{bytes_[i]} : std::int64_t{halves_[i]};
  }

 private:
  std::span<const std::int32_t> words_;
  std::span<const std::uint16_t> halves_;
  std::span<const std::uint8_t> bytes_;
};

/// Returns a sparse constant of a file that was checked with its zeros, which are charged to
/// `quota`. Errors: kUnsupported for elements that are no whole bytes, and beyond the quota.
/// REQUIRES: count_stored() has accepted the tensor. The constant owns its bytes; memory for places
/// is linear in what the file stores. Also kUnsupported for strings.
Result<Constant> dense_constant(const TfliteFile& file, const tflite_schema::Tensor& tensor,
                                LoadQuota& quota);

}  // namespace parallax
