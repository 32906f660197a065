// Convolutions of one to three axes in layout NCHW, groups and dilations included. A work-group's third index is image and group. The
// host defines ROWS, TILE and ITEM, which are chosen for the device (tuning.h).

/// Axes are {depth, height, width}, 1 where there are fewer. Channels and filters are those of a group.
typedef struct {
  int in[3], out[3], kernel_[3], stride[3], dilation[3], pad[3];
  int channels, filters, groups, batches;
} Convolution_t;

DEFINE_ACTIVATE(activate, float)
DEFINE_ACTIVATE(activate_8, float8)

#define SPAN 8
#define FILTERS ROWS

/// Eight neighbours of the result's row, from the tap that lies at `at` of a row of `width` elements.
inline float8 eight(global const real* row, int at, int stride, int width) {
  if (at >= 0 && stride == 1 && at + 8 <= width) return READ_8(row + at);
  if (at >= 0 && stride == 2 && at + 16 <= width) return READ_16(row + at).even;
  float x[8];
  for (int i = 0; i < 8; ++i) {
    const int from = at + i * stride;
    x[i] = from >= 0 && from < width ? READ(row, from) : 0.0f;
  }
  return vload8(0, x);
}

/// A work-item has eight neighbours in a row of some filters.
kernel ITEMS(8, 1, 1) void conv_rows(Convolution_t s, Result_t r, global const real* x, long x0, global const real* w,
                                     long w0, global const real* bias, long bias0, global real* y, long y0) {
  const int spans = (s.out[2] + SPAN - 1) / SPAN;
  const int item = (int)get_global_id(0), filter = (int)get_global_id(1) * FILTERS;
  if (s.batches == 0 || item >= spans * s.out[0] * s.out[1] || filter >= s.filters) return;
  const int image = (int)get_global_id(2) / s.groups, group = (int)get_global_id(2) - image * s.groups;
  const int span = item % spans, line = item / spans;
  const int oh = line % s.out[1], od = line / s.out[1], ow = span * SPAN;
  const int plane = s.in[0] * s.in[1] * s.in[2], taps = s.kernel_[0] * s.kernel_[1] * s.kernel_[2];
  const int depth = s.channels * taps;
  x += x0 + (long)(image * s.groups + group) * s.channels * plane;
  w += w0 + (long)group * s.filters * depth;
  global const real* weights[FILTERS];
  float8 sums[FILTERS];
#pragma unroll
  for (int i = 0; i < FILTERS; ++i) {
    weights[i] = w + min(filter + i, s.filters - 1) * depth;
    sums[i] = 0.0f;
  }
  for (int c = 0; c < s.channels; ++c, x += plane) {
    for (int a = 0; a < s.kernel_[0]; ++a) {
      const int d = od * s.stride[0] - s.pad[0] + a * s.dilation[0];
      for (int b = 0; b < s.kernel_[1]; ++b) {
        const int h = oh * s.stride[1] - s.pad[1] + b * s.dilation[1];
        if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) continue;
        global const real* row = x + (d * s.in[1] + h) * s.in[2];
        const int at = c * taps + (a * s.kernel_[1] + b) * s.kernel_[2];
        for (int e = 0; e < s.kernel_[2]; ++e) {
          const float8 v =
              eight(row, ow * s.stride[2] - s.pad[2] + e * s.dilation[2], s.stride[2], s.in[2]);
#pragma unroll
          for (int i = 0; i < FILTERS; ++i) sums[i] += READ(weights[i], at + e) * v;
        }
      }
    }
  }
  const int first = group * s.filters + filter;
  y += y0 + ((long)image * s.groups * s.filters + first) * s.out[0] * s.out[1] * s.out[2] + line * s.out[2] + ow;
  for (int i = 0; i < FILTERS && filter + i < s.filters; ++i, y += s.out[0] * s.out[1] * s.out[2]) {
    float8 v = sums[i];
    if (r.has_c) v += READ(bias, bias0 + first + i);
    v = activate_8(&r.then, v);
    if (ow + SPAN <= s.out[2]) {
      WRITE_8(y, v);
    } else {
      float each[8];
      vstore8(v, 0, each);
      for (int j = 0; ow + j < s.out[2]; ++j) WRITE(y, j, each[j]);
    }
  }
}

/// A work-item has one element of the result: for groups of few filters, where neighbours share no weights.
kernel ITEMS(GROUP, 1, 1) void conv_each(Convolution_t s, Result_t r, global const real* x, long x0,
                                         global const real* w, long w0, global const real* bias, long bias0,
                                         global real* y, long y0) {
  const int positions = s.out[0] * s.out[1] * s.out[2];
  const int item = (int)get_global_id(0);
  const int filters = s.groups * s.filters;
  if (item / max(positions, 1) >= s.batches * filters) return;
  const int position = item % positions, filter = item / positions % filters, image = item / positions / filters;
  const int group = filter / s.filters;
  const int ow = position % s.out[2], oh = position / s.out[2] % s.out[1], od = position / s.out[2] / s.out[1];
  const int plane = s.in[0] * s.in[1] * s.in[2];
  x += x0 + (long)(image * s.groups + group) * s.channels * plane;
  w += w0 + (long)filter * s.channels * s.kernel_[0] * s.kernel_[1] * s.kernel_[2];
  float sum = 0.0f;
  for (int c = 0; c < s.channels; ++c, x += plane) {
    for (int a = 0; a < s.kernel_[0]; ++a) {
      const int d = od * s.stride[0] - s.pad[0] + a * s.dilation[0];
      for (int b = 0; b < s.kernel_[1]; ++b) {
        const int h = oh * s.stride[1] - s.pad[1] + b * s.dilation[1];
        for (int e = 0; e < s.kernel_[2]; ++e, ++w) {
          const int v = ow * s.stride[2] - s.pad[2] + e * s.dilation[2];
          if (d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1] && v >= 0 && v < s.in[2])
            sum += READ(w, 0) * READ(x, (d * s.in[1] + h) * s.in[2] + v);
        }
      }
    }
  }
  if (r.has_c) sum += READ(bias, bias0 + filter);
  WRITE(y, y0 + item, activate(&r.then, sum));
}

// As a product of filters by (channels and taps) and (channels and taps) by positions, through local memory, for GPUs: see
// matmul_tiles.
#define SIDE (TILE / ITEM)
#define DEPTH 16

kernel ITEMS(SIDE, SIDE, 1) void conv_tiles(Convolution_t s, Result_t r, global const real* x, long x0,
                                        global const real* w, long w0, global const real* bias, long bias0,
                                        global real* y, long y0) {
  local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
  const int u = (int)get_local_id(0), v = (int)get_local_id(1), item = v * SIDE + u;
  const int first_column = (int)get_group_id(0) * TILE, first_row = (int)get_global_id(1) / SIDE * TILE;
  if (s.batches == 0) return;
  const int image = (int)get_global_id(2) / s.groups, group = (int)get_global_id(2) - image * s.groups;
  const int plane = s.in[0] * s.in[1] * s.in[2], positions = s.out[0] * s.out[1] * s.out[2];
  const int taps = s.kernel_[0] * s.kernel_[1] * s.kernel_[2], depth = s.channels * taps;
  x += x0 + (long)(image * s.groups + group) * s.channels * plane;
  w += w0 + (long)group * s.filters * depth;
  float sums[ITEM][ITEM];
  for (int i = 0; i < ITEM; ++i)
    for (int j = 0; j < ITEM; ++j) sums[i][j] = 0.0f;
  // A work-item always gathers the same column.
  const int position = first_column + item % TILE;
  const int ow = position % s.out[2], oh = position / s.out[2] % s.out[1], od = position / s.out[2] / s.out[1];
  for (int first = 0; first < depth; first += DEPTH) {
    for (int e = item; e < TILE * DEPTH; e += SIDE * SIDE) {
      const int ad = e % DEPTH, ai = e / DEPTH, bd = e / TILE;
      as[ad][ai] =
          first + ad < depth && first_row + ai < s.filters ? READ(w, (first_row + ai) * depth + first + ad) : 0.0f;
      const int k = first + bd;
      const int c = k / taps, tap = k - c * taps;
      const int kw = tap % s.kernel_[2], kh = tap / s.kernel_[2] % s.kernel_[1], kd = tap / s.kernel_[2] / s.kernel_[1];
      const int d = od * s.stride[0] - s.pad[0] + kd * s.dilation[0];
      const int h = oh * s.stride[1] - s.pad[1] + kh * s.dilation[1];
      const int l = ow * s.stride[2] - s.pad[2] + kw * s.dilation[2];
      const int inside = k < depth && position < positions && d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1] &&
                         l >= 0 && l < s.in[2];
      bs[bd][e % TILE] = inside ? READ(x, c * plane + (d * s.in[1] + h) * s.in[2] + l) : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 0; d < DEPTH; ++d) {
      for (int i = 0; i < ITEM; ++i)
        for (int j = 0; j < ITEM; ++j) sums[i][j] += as[d][v + i * SIDE] * bs[d][u + j * SIDE];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < ITEM; ++i) {
    for (int j = 0; j < ITEM; ++j) {
      const int row = first_row + v + i * SIDE, column = first_column + u + j * SIDE;
      if (row >= s.filters || column >= positions) continue;
      const int filter = group * s.filters + row;
      float sum = sums[i][j];
      if (r.has_c) sum += READ(bias, bias0 + filter);
      WRITE(y, y0 + ((long)image * s.groups * s.filters + filter) * positions + column, activate(&r.then, sum));
    }
  }
}
