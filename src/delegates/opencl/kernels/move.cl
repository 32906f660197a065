// y[by its strides] = x[by its strides]: Transpose, Expand, Slice, Concat, Split and copies.
#define DEFINE_MOVE(NAME, T)                                                                  \
  kernel ITEMS(GROUP, 1, 1) void NAME(Space_t s, global const T* x, long x0, Strides_t xs,    \
                                      global T* y, long y0, Strides_t ys) {                   \
    POSITION(s)                                                                               \
    y[y0 + index_of(&s, &ys, row, column)] = x[x0 + index_of(&s, &xs, row, column)];          \
  }
DEFINE_MOVE(move_8, uchar)
DEFINE_MOVE(move_16, ushort)
DEFINE_MOVE(move_32, uint)
DEFINE_MOVE(move_64, ulong)
DEFINE_MOVE(move_128, uint4)  // four neighbours of 32 bits

// Between tensors of 32 bits outside of a region and `real` ones inside.
kernel ITEMS(GROUP, 1, 1) void narrow(int total, global const float* x, long x0, global real* y, long y0) {
  const int item = (int)get_global_id(0);
  if (item < total) WRITE(y, y0 + item, x[x0 + item]);
}
kernel ITEMS(GROUP, 1, 1) void widen(int total, global const real* x, long x0, global float* y, long y0) {
  const int item = (int)get_global_id(0);
  if (item < total) y[y0 + item] = READ(x, x0 + item);
}
