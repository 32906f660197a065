#include "kernels/cpu/convolution/planar_window.h"

#include <algorithm>

#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

/// Distance of taps, in rows, from which rows are copied one by one: a tile has few between them.
constexpr std::int64_t kFarRows = 3;

/// Rounds a stride so that channels begin in different sets of the first-level cache.
std::int64_t skewed(std::int64_t elements) {
  const std::int64_t lines = tile_count(elements, kLineFloats);
  return (lines % 2 == 0 ? lines + 1 : lines) * kLineFloats;
}

/// Returns the range of i in [0, n) for which first + i * step lies in [0, end).
TileRange inside(std::int64_t first, std::int64_t step, std::int64_t n, std::int64_t end) {
  const std::int64_t begin =
      std::clamp<std::int64_t>(first < 0 ? tile_count(-first, step) : 0, 0, n);
  const std::int64_t stop = end > first ? tile_count(end - first, step) : 0;
  return {begin, std::clamp(stop, begin, n)};
}

}  // namespace

PlanarTaps::PlanarTaps(std::int64_t taps, std::int64_t dilation, std::int64_t stride, bool apart) {
  for (std::int64_t i = 0; i < taps; ++i)
    begins.push_back(apart ? i * dilation : i * dilation % stride);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  for (std::int64_t i = 0; i < taps; ++i) {
    const std::int64_t begin = apart ? i * dilation : i * dilation % stride;
    part.push_back(std::lower_bound(begins.begin(), begins.end(), begin) - begins.begin());
    step.push_back((i * dilation - begin) / stride);
  }
}

PlanarWindow::PlanarWindow(const ConvolutionShape& shape, bool exact)
    : shape_(shape),
      rows_(shape.kernel[0], shape.dilation[0], shape.stride[0],
            shape.dilation[0] >= kFarRows * shape.stride[0]),
      columns_(shape.kernel[1], shape.dilation[1], shape.stride[1], exact) {}

std::int64_t PlanarWindow::table_bytes() const {
  const std::size_t numbers =
      offsets_.capacity() + 3 * (rows_.part.capacity() + columns_.part.capacity());
  return static_cast<std::int64_t>(numbers * sizeof(std::int64_t));
}

std::int64_t PlanarWindow::list_taps(const PlanarOutputs& outputs, PlanarTap* to) const {
  const ConvolutionShape& s = shape_;
  const auto sees = [](std::int64_t begin, std::int64_t end, std::int64_t stride,
                       std::int64_t shift, std::int64_t in) {
    return begin * stride + shift < in && (end - 1) * stride + shift >= 0;
  };
  const PlanarTap* const first = to;
  const bool one_row = outputs.row_end - outputs.row_begin == 1;
  std::int64_t index = 0;
  for (std::int64_t k = 0; k < s.planes.kernel; ++k) {
    const bool inside_z = sees(outputs.plane, outputs.plane + 1, s.planes.stride,
                               k * s.planes.dilation - s.planes.pad_begin, s.planes.in);
    for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
      const bool inside_y = inside_z && sees(outputs.row_begin, outputs.row_end, s.stride[0],
                                             i * s.dilation[0] - s.pad_begin[0], s.in[0]);
      for (std::int64_t j = 0; j < s.kernel[1]; ++j, ++index) {
        const auto inside_x = [&](std::int64_t begin, std::int64_t end) {
          return sees(begin, end, s.stride[1], j * s.dilation[1] - s.pad_begin[1], s.in[1]);
        };
        if (!inside_y || !inside_x(outputs.column_begin, outputs.column_end)) continue;
        to->index = static_cast<std::ptrdiff_t>(index);
        to->offset = offsets_[to_size(index)];
        to->misses_first = one_row && !inside_x(outputs.column_begin, outputs.column_begin + 1);
        to->misses_last = one_row && !inside_x(outputs.column_end - 1, outputs.column_end);
        ++to;
      }
    }
  }
  return to - first;
}

double PlanarWindow::elements(std::int64_t channels, std::int64_t rows,
                              std::int64_t columns) const {
  double product = 1;
  for (const std::int64_t factor : {channels, shape_.planes.kernel, rows_.parts(), columns_.parts(),
                                    rows + rows_.most_steps(), columns + columns_.most_steps()})
    product *= static_cast<double>(factor);
  return product;
}

/// Returns the zeros at the end of a row that are also those before the next one.
std::int64_t PlanarWindow::zeros_shared() const {
  const std::int64_t width = shape_.out[1] + columns_.most_steps();
  std::int64_t shared = columns_.most_steps();
  for (const std::int64_t begin : columns_.begins) {
    const TileRange range =
        inside(begin - shape_.pad_begin[1], shape_.stride[1], width, shape_.in[1]);
    shared = std::min({shared, range.begin, width - range.end});
  }
  return shared;
}

void PlanarWindow::set_outputs(std::int64_t rows, std::int64_t columns) {
  shared_ = columns == shape_.out[1] ? zeros_shared() : 0;
  pitch_ = columns + columns_.most_steps() - shared_;
  part_elements_ = (rows + rows_.most_steps()) * pitch_ + shared_;
  const std::int64_t parts = rows_.parts() * columns_.parts();
  channel_stride_ = skewed(shape_.planes.kernel * parts * part_elements_);
  offsets_.clear();
  for (std::int64_t plane = 0; plane < shape_.planes.kernel; ++plane)
    for (std::size_t i = 0; i < rows_.part.size(); ++i)
      for (std::size_t j = 0; j < columns_.part.size(); ++j) {
        const std::int64_t part =
            (plane * rows_.parts() + rows_.part[i]) * columns_.parts() + columns_.part[j];
        offsets_.push_back(static_cast<std::ptrdiff_t>(part * part_elements_ +
                                                       rows_.step[i] * pitch_ + columns_.step[j]));
      }
}

void PlanarWindow::copy_parts(const PlanarOutputs& outputs, std::int64_t row_part,
                              std::int64_t column_part, std::int64_t count, const float* plane,
                              std::int64_t ahead, float* to) const {
  const std::int64_t rows = outputs.row_end - outputs.row_begin + rows_.most_steps();
  const std::int64_t top =
      outputs.row_begin * shape_.stride[0] - shape_.pad_begin[0] + rows_.begins[to_size(row_part)];
  const TileRange y = inside(top, shape_.stride[0], rows, shape_.in[0]);
  PlaneCopy copy;
  copy.to = to;
  copy.to_stride = to_size(pitch_);
  copy.part_stride = to_size(part_elements_);
  copy.parts = to_size(count);
  copy.rows = to_size(rows);
  copy.count = to_size(pitch_ + shared_);
  copy.step = to_size(shape_.stride[1]);
  copy.left = outputs.column_begin * shape_.stride[1] - shape_.pad_begin[1] +
              columns_.begins[to_size(column_part)];
  copy.width = shape_.in[1];
  copy.ahead = ahead;
  if (y.begin < y.end) {
    copy.begin = to_size(y.begin);
    copy.end = to_size(y.end);
    copy.from = plane + (top + y.begin * shape_.stride[0]) * shape_.in[1];
    copy.from_stride = shape_.stride[0] * shape_.in[1];
  }
  const bool whole = copy.left == 0 && pitch_ == shape_.in[1] && shared_ == 0 && copy.step == 1;
  if (whole && copy.from_stride == pitch_ && y.begin == 0 && y.end == rows) {
    copy.width = rows * pitch_;  // all rows together
    copy.count *= copy.rows;
    copy.rows = copy.end = 1;
  }
  copy_plane(copy);
}

void PlanarWindow::copy(const PlanarOutputs& outputs, std::int64_t channel, std::int64_t count,
                        const float* images, float* to) const {
  const ConvolutionAxis& axis = shape_.planes;
  const std::int64_t pixels = shape_.in[0] * shape_.in[1];
  const std::int64_t parts = columns_.parts();
  // Parts of neighbouring columns are copied together.
  const bool together = parts == shape_.stride[1] && columns_.begins.back() == parts - 1;
  for (std::int64_t c = 0; c < count; ++c, to += channel_stride_) {
    const float* planes =
        images + (outputs.image * shape_.in_channels + channel + c) * axis.in * pixels;
    const std::int64_t ahead = c + 1 < count ? axis.in * pixels : 0;
    float* part = to;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t z = outputs.plane * axis.stride + k * axis.dilation - axis.pad_begin;
      for (std::int64_t i = 0; i < rows_.parts(); ++i, part += parts * part_elements_) {
        if (z < 0 || z >= axis.in) continue;  // skipped taps
        const float* plane = planes + z * pixels;
        if (together) {
          copy_parts(outputs, i, 0, parts, plane, ahead, part);
          continue;
        }
        for (std::int64_t j = 0; j < parts; ++j)
          copy_parts(outputs, i, j, 1, plane, ahead, part + j * part_elements_);
      }
    }
  }
}

}  // namespace parallax
