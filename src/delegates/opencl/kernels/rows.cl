// Operators over rows: Softmax, normalisations, reductions, ArgMax. Names that end in `_group` have a work-group for a row of
// neighbours; names that end in `_item` have a work-item for a row whose elements lie `inner` apart, so that neighbours among the
// work-items read neighbours in memory.

#define LANES 64

/// Every LANES-th element `at` of a row, from `lane` on. All items of a group go round equally often: PoCL 3.1 miscompiles loops that
/// some of them never enter, and reads neighbours as one vector only where it sees that they are.
#define FOR_LANE(width)                                    \
  for (int base = 0; base < (width); base += LANES)     \
    if (base + lane < (width))
#define at_lane (base + lane)

/// The sum (or largest) of `x` over the work-group; all of its items call it.
inline float sum_of_group(float x, local float* lanes) {
  const int lane = (int)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  lanes[lane] = x;
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < apart) lanes[lane] += lanes[lane + apart];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return lanes[0];
}
/// NaN wins.
inline float larger(float a, float b) { return b > a || b != b ? b : a; }
inline float largest_of_group(float x, local float* lanes) {
  const int lane = (int)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  lanes[lane] = x;
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < apart) lanes[lane] = larger(lanes[lane], lanes[lane + apart]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return lanes[0];
}

kernel ITEMS(LANES, 1, 1) void softmax_group(int rows, int width, int is_log, global const real* x, long x0,
                                             global real* y, long y0) {
  local float lanes[LANES];
  const int row = (int)get_group_id(0), lane = (int)get_local_id(0);
  if (row >= rows) return;
  x += x0 + (long)row * width;
  y += y0 + (long)row * width;
  float largest = -INFINITY;
  FOR_LANE(width) largest = fmax(largest, READ(x, at_lane));
  largest = largest_of_group(largest, lanes);
  float sum = 0.0f;
  FOR_LANE(width) {
    const float power = exp(READ(x, at_lane) - largest);
    sum += power;
    if (!is_log) WRITE(y, at_lane, power);
  }
  sum = sum_of_group(sum, lanes);
  const float shift = largest + log(sum);
  FOR_LANE(width) WRITE(y, at_lane, is_log ? READ(x, at_lane) - shift : READ(y, at_lane) / sum);
}

kernel ITEMS(LANES, 1, 1) void softmax_item(int rows, int width, int inner, int is_log, global const real* x, long x0,
                                            global real* y, long y0) {
  const int row = (int)get_global_id(0);
  if (row >= rows) return;
  const long at = (long)(row / inner) * width * inner + row % inner;
  x += x0 + at;
  y += y0 + at;
  float largest = -INFINITY;
  for (int i = 0; i < width; ++i) largest = fmax(largest, READ(x, i * inner));
  float sum = 0.0f;
  for (int i = 0; i < width; ++i) sum += exp(READ(x, i * inner) - largest);
  const float shift = is_log ? largest + log(sum) : largest;
  for (int i = 0; i < width; ++i) {
    WRITE(y, i * inner, is_log ? READ(x, i * inner) - shift : exp(READ(x, i * inner) - shift) / sum);
  }
}

/// LayerNormalization where `centered`, else RMSNormalization. Scale and bias move by their `_row` from row to row. Squares are
/// taken of numbers of at most 1, so that they stay finite where the row is.
kernel ITEMS(LANES, 1, 1) void normalize_group(int rows, int width, float epsilon, int centered, int has_bias,
                                               int scale_row, int bias_row, global const real* x, long x0,
                                               global const real* scale, long scale0, global const real* bias,
                                               long bias0, int has_mean, int has_inverse, global real* y, long y0,
                                               global real* means, long means0, global real* inverses,
                                               long inverses0) {
  local float lanes[LANES];
  const int row = (int)get_group_id(0), lane = (int)get_local_id(0);
  if (row >= rows) return;
  x += x0 + (long)row * width;
  y += y0 + (long)row * width;
  scale += scale0 + (long)row * scale_row;
  bias += bias0 + (long)row * bias_row;
  float mean = 0.0f;
  if (centered) {
    float sum = 0.0f;
    FOR_LANE(width) sum += READ(x, at_lane) / width;
    mean = sum_of_group(sum, lanes);
  }
  float most = 0.0f;
  FOR_LANE(width) most = larger(most, fabs(READ(x, at_lane) - mean));
  most = largest_of_group(most, lanes);
  const float unit = most > 1.0e12f ? most : 1.0f;
  float squares = 0.0f;
  FOR_LANE(width) {
    const float off = (READ(x, at_lane) - mean) / unit;
    squares += off * off;
  }
  squares = sum_of_group(squares, lanes) / width;
  const float inverse = 1.0f / (unit * sqrt(squares + epsilon / unit / unit));
  FOR_LANE(width) {
    const float normal = (READ(x, at_lane) - mean) * inverse * READ(scale, at_lane);
    WRITE(y, at_lane, has_bias ? normal + READ(bias, at_lane) : normal);
  }
  if (lane == 0 && has_mean) WRITE(means, means0 + row, mean);
  if (lane == 0 && has_inverse) WRITE(inverses, inverses0 + row, inverse);
}

/// Divided by the sum of magnitudes (p = 1) or by the root of that of squares.
kernel ITEMS(LANES, 1, 1) void lp_normalize_item(int rows, int width, int inner, int p, global const real* x, long x0,
                                                 global real* y, long y0) {
  const int row = (int)get_global_id(0);
  if (row >= rows) return;
  const long at = (long)(row / inner) * width * inner + row % inner;
  x += x0 + at;
  y += y0 + at;
  float most = 0.0f;
  for (int i = 0; i < width; ++i) most = larger(most, fabs(READ(x, i * inner)));
  const float unit = most > 1.0e12f || (most < 1.0e-12f && most > 0.0f) ? most : 1.0f;
  float norm = 0.0f;
  for (int i = 0; i < width; ++i) {
    const float magnitude = fabs(READ(x, i * inner) / unit);
    norm += p == 1 ? magnitude : magnitude * magnitude;
  }
  if (p != 1) norm = sqrt(norm);
  for (int i = 0; i < width; ++i) WRITE(y, i * inner, norm == 0.0f ? 0.0f : READ(x, i * inner) / unit / norm);
}

// How reductions begin, go on and end; numbers as in emit_reduce.cc: 0 sum, 1 mean, 2 sum of squares, 3 root of it, 4 largest.
inline float begin_of(int op) { return op == 4 ? -INFINITY : 0.0f; }
inline float taken(int op, float sum, float x) {
  return op == 4 ? larger(sum, x) : sum + (op == 2 || op == 3 ? x * x : x);
}
inline float end_of(int op, float sum, int width) {
  return op == 1 ? sum / width : op == 3 ? sqrt(sum) : sum;
}

kernel ITEMS(LANES, 1, 1) void reduce_group(int rows, int width, int op, global const real* x, long x0,
                                            global real* y, long y0) {
  local float lanes[LANES];
  const int row = (int)get_group_id(0), lane = (int)get_local_id(0);
  if (row >= rows) return;
  x += x0 + (long)row * width;
  float sum = begin_of(op);
  FOR_LANE(width) sum = taken(op, sum, READ(x, at_lane));
  sum = op == 4 ? largest_of_group(sum, lanes) : sum_of_group(sum, lanes);
  if (lane == 0) WRITE(y, y0 + row, end_of(op, sum, width));
}

kernel ITEMS(LANES, 1, 1) void reduce_item(int rows, int width, int inner, int op, global const real* x, long x0,
                                           global real* y, long y0) {
  const int row = (int)get_global_id(0);
  if (row >= rows) return;
  x += x0 + (long)(row / inner) * width * inner + row % inner;
  float sum = begin_of(op);
  for (int i = 0; i < width; ++i) sum = taken(op, sum, READ(x, (long)i * inner));
  WRITE(y, y0 + row, end_of(op, sum, width));
}

/// NaN counts as the largest; of equals the first wins, or the last.
#define PLAIN_READ(p, i) (p)[i]
#define DEFINE_ARG_MAX(NAME, T, R, GET)                                                                          \
  kernel ITEMS(LANES, 1, 1) void NAME(int rows, int width, int inner, int is_last, global const T* x,    \
                                      long x0, global long* y, long y0) {                                \
    const int row = (int)get_global_id(0);                                                               \
    if (row >= rows) return;                                                                             \
    x += x0 + (long)(row / inner) * width * inner + row % inner;                                         \
    int best = 0;                                                                                        \
    for (int i = 1; i < width; ++i) {                                                                    \
      const R now = GET(x, (long)i * inner), before = GET(x, (long)best * inner);                                  \
      const int beats = now != now         ? before == before || is_last                                 \
                        : before != before ? 0                                                           \
                        : is_last          ? now >= before                                               \
                                           : now > before;                                               \
      if (beats) best = i;                                                                               \
    }                                                                                                    \
    y[y0 + row] = best;                                                                                  \
  }
DEFINE_ARG_MAX(arg_max_f32, real, float, READ)
DEFINE_ARG_MAX(arg_max_i32, int, int, PLAIN_READ)
DEFINE_ARG_MAX(arg_max_i64, long, long, PLAIN_READ)

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, of `channels` planes in turn.
kernel ITEMS(GROUP, 1, 1) void batch_normalize(int total, int plane, int channels, float epsilon, global const real* x,
                                               long x0, global const real* scale, long scale0,
                                               global const real* bias, long bias0, global const real* mean,
                                               long mean0, global const real* variance, long variance0,
                                               global real* y, long y0) {
  const int item = (int)get_global_id(0);
  if (item >= total) return;
  const int c = item / plane % channels;
  const float factor = READ(scale, scale0 + c) / sqrt(READ(variance, variance0 + c) + epsilon);
  WRITE(y, y0 + item, (READ(x, x0 + item) - READ(mean, mean0 + c)) * factor + READ(bias, bias0 + c));
}
