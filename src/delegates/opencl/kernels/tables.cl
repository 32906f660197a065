// Operators whose result's element comes from places that a table gives for each axis: Pad, Tile and Resize. The entries of axis
// k, fastest first, begin at `starts.at[k]`; an entry below 0 stands for the fill.
#define DEFINE_PICK(NAME, T)                                                                        \
  kernel ITEMS(GROUP, 1, 1) void NAME(Space_t s, global const T* x, long x0, Strides_t xs,          \
                                      global const int* table, long table0, Strides_t starts,       \
                                      int has_fill, global const T* fill, long fill0,               \
                                      global T* y, long y0) {                                       \
    POSITION(s)                                                                                     \
    int at = 0, rest = row, inside = 1;                                                             \
    const int to = row * s.dims[0] + column;                                                        \
    for (int k = 0; k < s.rank; ++k) {                                                              \
      const int i = k == 0 ? column : rest % s.dims[k];                                             \
      if (k > 0) rest /= s.dims[k];                                                                 \
      const int from = table[table0 + starts.at[k] + i];                                            \
      inside = inside && from >= 0;                                                                 \
      at += from * xs.at[k];                                                                        \
    }                                                                                               \
    T value = 0;                                                                                    \
    if (inside) {                                                                                   \
      value = x[x0 + at];                                                                           \
    } else if (has_fill) {                                                                          \
      value = fill[fill0];                                                                          \
    }                                                                                               \
    y[y0 + to] = value;                                                                             \
  }
DEFINE_PICK(pick_8, uchar)
DEFINE_PICK(pick_16, ushort)
DEFINE_PICK(pick_32, uint)
DEFINE_PICK(pick_64, ulong)

/// Each entry is followed by the next element with weight `fraction`; axes of `blended` (a bit each) have such entries.
kernel ITEMS(GROUP, 1, 1) void blend(Space_t s, global const real* x, long x0, Strides_t xs,
                                     global const int* table, long table0, global const float* fractions,
                                     long fractions0, Strides_t starts, int blended, global real* y, long y0) {
  POSITION(s)
  int rest = row, base = 0, axes = 0;
  int step[8];
  float weight[8];
  for (int k = 0; k < s.rank; ++k) {
    const int i = k == 0 ? column : rest % s.dims[k];
    if (k > 0) rest /= s.dims[k];
    base += table[table0 + starts.at[k] + i] * xs.at[k];
    const float fraction = fractions[fractions0 + starts.at[k] + i];
    if ((blended >> k & 1) && fraction != 0.0f) {
      step[axes] = xs.at[k];
      weight[axes] = fraction;
      ++axes;
    }
  }
  float sum = 0.0f;
  for (int corner = 0; corner < 1 << axes; ++corner) {
    int at = base;
    float w = 1.0f;
    for (int k = 0; k < axes; ++k) {
      const int high = corner >> k & 1;
      at += high ? step[k] : 0;
      w *= high ? weight[k] : 1.0f - weight[k];
    }
    sum += w * READ(x, x0 + at);
  }
  WRITE(y, y0 + row * s.dims[0] + column, sum);
}
