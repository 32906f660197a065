// MaxPool and AveragePool over up to three axes, a work-item for an element of the result. Axes are {depth, height, width}, 1 where
// there are fewer.
typedef struct {
  int in[3], out[3], kernel_[3], stride[3], dilation[3], pad[3], pad_end[3];
} Window_t;

/// Declares `plane` and, for each axis, the taps [first_, end_) that lie on the image and where tap 0 lies.
#define WINDOW(w)                                                                       \
  const int item = (int)get_global_id(0);                                               \
  if (item >= total) return;                                                            \
  int rest = item, first_[3], end_[3], zero_[3];                                        \
  for (int k = 2; k >= 0; --k) {                                                        \
    const int o = rest % (w).out[k];                                                    \
    rest /= (w).out[k];                                                                 \
    const int zero = o * (w).stride[k] - (w).pad[k];                                    \
    zero_[k] = zero;                                                                    \
    first_[k] = zero >= 0 ? 0 : (-zero + (w).dilation[k] - 1) / (w).dilation[k];        \
    const int left = (w).in[k] - zero;                                                  \
    const int taps = left <= 0 ? 0 : (left + (w).dilation[k] - 1) / (w).dilation[k];    \
    end_[k] = min(taps, (w).kernel_[k]);                                                \
  }                                                                                     \
  const int size = (w).in[0] * (w).in[1] * (w).in[2];                                   \
  const global real* image = x + x0 + (long)rest * size;

#define FOR_TAPS(w)                                                       \
  for (int a = first_[0]; a < end_[0]; ++a)                               \
    for (int b = first_[1]; b < end_[1]; ++b)                             \
      for (int c = first_[2]; c < end_[2]; ++c)

/// `indices` of what wins are flat in x; counted with the first axis fastest where `by_column`.
kernel ITEMS(GROUP, 1, 1) void max_pool(int total, Window_t w, int has_indices, int by_column, global const real* x,
                                        long x0, global real* y, long y0, global long* indices, long indices0) {
  WINDOW(w)
  float largest = -INFINITY;
  long where = -1;
  FOR_TAPS(w) {
    const int d = zero_[0] + a * w.dilation[0], h = zero_[1] + b * w.dilation[1], v = zero_[2] + c * w.dilation[2];
    const float now = READ(image, (d * w.in[1] + h) * w.in[2] + v);
    const int beats = where < 0 || (largest == largest && (now > largest || now != now));
    if (beats) {
      largest = now;
      where = by_column ? (v * w.in[1] + h) * w.in[0] + d : (d * w.in[1] + h) * w.in[2] + v;
    }
  }
  WRITE(y, y0 + item, largest);
  if (has_indices) indices[indices0 + item] = where < 0 ? -1 : (long)rest * size + where;
}

kernel ITEMS(GROUP, 1, 1) void average_pool(int total, Window_t w, int counts_pads, global const real* x, long x0,
                                            global real* y, long y0) {
  WINDOW(w)
  float sum = 0.0f;
  FOR_TAPS(w) {
    const int d = zero_[0] + a * w.dilation[0], h = zero_[1] + b * w.dilation[1], v = zero_[2] + c * w.dilation[2];
    sum += READ(image, (d * w.in[1] + h) * w.in[2] + v);
  }
  float count = 1.0f;
  for (int k = 0; k < 3; ++k) {
    const int left = w.in[k] + w.pad_end[k] - zero_[k];
    const int taps = left <= 0 ? 0 : min((left + w.dilation[k] - 1) / w.dilation[k], w.kernel_[k]);
    count *= counts_pads ? max(taps, 0) : max(end_[k] - first_[k], 0);
  }
  WRITE(y, y0 + item, count == 0.0f ? 0.0f : sum / count);
}
