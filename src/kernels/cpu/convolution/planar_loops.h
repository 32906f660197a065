// The inner loops of convolutions whose images lie channel by channel: a few filters times a run of
// outputs, and the copies around them. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/bounds.h"

namespace parallax {

/// Most filters that planar_multiply() multiplies in one call.
inline constexpr std::int64_t kPlanarRows = 6;
/// Elements that must exist after those that planar_multiply() reads and copy_plane() writes.
/// Floats; inputs are loaded, and planes copied, in whole vectors.
inline constexpr std::int64_t kPlanarSlack = 64;

/// A tap that is summed: its index among all taps, and the offset of the first output's input. The
/// planar window lists them for each rectangle of outputs (PlanarWindow::list_taps()).
struct PlanarTap {
  std::ptrdiff_t index = 0, offset = 0;
  /// True if the first, the last output finds padding there; products may skip those outputs.
  bool misses_first = false, misses_last = false;
};

/// Operands of c[r][o] (+)= sum over channels and taps of weights[channel][tap.index][r] * x[o +
/// tap.offset], where channels of x are `channel_stride` elements apart. Each sum goes over
/// channels, then taps in the order of the list. Strides count floats, and addresses need the
/// alignment of a float only.
struct PlanarProduct {
  /// [channel][tap][filter], the filters of a panel alone.
  const float* weights = nullptr;
  /// Window in scratch, with zeros around the image.
  const float* x = nullptr;
  const PlanarTap* taps = nullptr;
  std::size_t tap_count = 0, all_taps = 0;  ///< taps that are summed; taps with weights
  std::size_t channels = 0, channel_stride = 0;
  /// [rows, columns], rows ldc floats apart.
  float* c = nullptr;
  std::size_t ldc = 0;
  std::size_t rows = 0;  ///< filters: 1 to kPlanarRows
  std::size_t columns = 0;
  const float* bias = nullptr;  ///< [rows], unless `accumulate`; or null
  bool accumulate = false;
  Bounds bounds;  ///< limits of c
};
/// Computes the product for any number of columns.
void planar_multiply(const PlanarProduct& product);
/// Operands of the same product with filters in vectors: c[o][m] (+)= ... for outputs o < rows.
/// Weights and c have room for whole vectors of filters. Here x is read element by element and
/// weights are loaded as vectors.
struct PixelProduct {
  const float* weights = nullptr;  ///< [channel][tap][filter]
  const float* x = nullptr;
  const PlanarTap* taps = nullptr;
  std::size_t tap_count = 0, all_taps = 0;
  std::size_t channels = 0, channel_stride = 0;
  /// [rows, columns], rows ldc floats apart.
  float* c = nullptr;
  std::size_t ldc = 0;
  /// Outputs that follow each other.
  std::size_t rows = 0;
  std::size_t columns = 0;      ///< filters: 1 to PlanarWidths::run
  const float* bias = nullptr;  ///< [columns], unless `accumulate`; or null
  bool accumulate = false;
  Bounds bounds;                        ///< limits of c
  const float* next_weights = nullptr;  ///< as many that will be wanted next; or null
};
/// Computes the product for any number of rows.
void pixel_multiply(const PixelProduct& product);

/// Columns that registers hold together (`run`), and columns of one vector.
struct PlanarWidths {
  /// `run` is kVectors vectors for filters in vectors, both in floats.
  std::size_t run, vector;
};
/// Returns the widths for this machine, the same for the life of the process.
PlanarWidths planar_widths();

/// Rows of one plane of an image with zeros around them, in parts: part p has the pixels left + p +
/// i * step of each row. Strides count floats.
struct PlaneCopy {
  const float* from = nullptr;  ///< pixel 0 of row `begin`
  /// Part 0, row 0.
  float* to = nullptr;
  std::size_t rows = 0;  ///< rows to write; those outside [begin, end) become zeros
  std::size_t begin = 0, end = 0;
  /// From one of the rows to write to the next, in the image.
  std::ptrdiff_t from_stride = 0;
  std::ptrdiff_t left = 0, width = 0;  ///< pixels outside [0, width) are zeros
  /// From one row of a part to the next, and from one part to the next.
  std::size_t to_stride = 0, part_stride = 0;
  /// Number of parts; pixels from one element of a part to the next; elements of a row of a part.
  std::size_t parts = 1, step = 1, count = 0;
  std::ptrdiff_t ahead = 0;  ///< from a row to data to prefetch; or 0
};
/// Writes the rows of a part one after the other, then the next part. May overwrite up to
/// kPlanarSlack elements after the end.
void copy_plane(const PlaneCopy& copy);

/// Copies `rows` rows of `count` elements; strides count elements. Memories must not overlap.
void copy_rows(const float* from, std::size_t from_stride, float* to, std::size_t to_stride,
               std::size_t rows, std::size_t count);

}  // namespace parallax
