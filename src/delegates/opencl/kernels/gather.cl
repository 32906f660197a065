// y[outer, i, inner] = x[outer, indices[i], inner]. An index outside the axis writes `mark` to the fault word, which the host
// reads when the run is over, and reads nothing.
#define DEFINE_GATHER(NAME, T, I)                                                                   \
  kernel ITEMS(GROUP, 1, 1) void NAME(int total, int picked, int inner, int dim,                    \
                                      global const T* x, long x0, global const I* indices,          \
                                      long indices0, global T* y, long y0, global int* fault,       \
                                      long fault0, int mark) {                                      \
    const int item = (int)get_global_id(0);                                                         \
    if (item >= total) return;                                                                      \
    const int block = item / inner, column = item - block * inner;                                  \
    const int outer = block / picked;                                                               \
    I index = indices[indices0 + block - outer * picked];                                           \
    if (index < 0) index += dim;                                                                    \
    T value = 0;                                                                                    \
    if (index < 0 || index >= dim) {                                                                \
      fault[fault0] = mark;                                                                         \
    } else {                                                                                        \
      value = x[x0 + ((long)outer * dim + (long)index) * inner + column];                           \
    }                                                                                               \
    y[y0 + item] = value;                                                                           \
  }
DEFINE_GATHER(gather_8_i32, uchar, int)
DEFINE_GATHER(gather_16_i32, ushort, int)
DEFINE_GATHER(gather_32_i32, uint, int)
DEFINE_GATHER(gather_64_i32, ulong, int)
DEFINE_GATHER(gather_8_i64, uchar, long)
DEFINE_GATHER(gather_16_i64, ushort, long)
DEFINE_GATHER(gather_32_i64, uint, long)
DEFINE_GATHER(gather_64_i64, ulong, long)
