// The start of all programs. Sizes are arguments, so that a new shape compiles nothing. A kernel whose arguments are all zero does
// nothing: drivers finish compiling a kernel when it is first enqueued, which is done so before anyone waits.
//
// A tensor is two arguments: a buffer, and the index of its first element there. NAME_t structs are those of arguments.h.

#define GROUP 256

// Floats are `real` in tensors and float in registers. With PX_HALF a tensor has 16 bits for each, which devices without arithmetic on
// them read and write as well. A finite number stays finite: masks have numbers that only 32 bits hold.
#ifdef PX_HALF
#define real half
#define LARGEST_HALF 65504.0f
#define HELD(x, M) select(x, copysign(M, x), isgreater(fabs(x), M) & isless(fabs(x), INFINITY))
inline float held(float x) { return HELD(x, LARGEST_HALF); }
inline float8 held_8(float8 x) { return HELD(x, (float8)(LARGEST_HALF)); }
#define READ(p, i) vload_half(i, p)
#define READ_8(p) vload_half8(0, p)
#define READ_16(p) vload_half16(0, p)
#define WRITE(p, i, x) vstore_half_rte(held(x), i, p)
#define WRITE_8(p, x) vstore_half8_rte(held_8(x), 0, p)
#else
#define real float
#define READ(p, i) ((p)[i])
#define READ_8(p) vload8(0, p)
#define READ_16(p) vload16(0, p)
#define WRITE(p, i, x) ((p)[i] = (x))
#define WRITE_8(p, x) vstore8(x, 0, p)
#endif
#define ITEMS(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))

/// An index space, fastest axis first: dims[0] columns, and rows. With chunks > 0 a work-group has GROUP columns of one row,
/// otherwise GROUP elements of any row.
typedef struct {
  int dims[8];
  int rank;
  int chunks;
  int count;
} Space_t;

/// The steps of a tensor's index along each axis of a space.
typedef struct {
  int at[8];
} Strides_t;

/// Declares `row` and `column` of this work-item; returns if it has none.
#define POSITION(s)                                                           \
  int row, column;                                                            \
  if ((s).chunks > 0) {                                                       \
    row = (int)get_group_id(0) / (s).chunks;                                  \
    column = ((int)get_group_id(0) - row * (s).chunks) * GROUP + (int)get_local_id(0); \
    if (column >= (s).dims[0]) return;                                        \
  } else {                                                                    \
    const int item = (int)get_global_id(0);                                   \
    if (item >= (s).count) return;                                            \
    row = item / (s).dims[0];                                                 \
    column = item - row * (s).dims[0];                                        \
  }

/// Index that `strides` give the element. Without a loop, so that what is the same for a group is computed once.
inline int index_of(const Space_t* s, const Strides_t* t, int row, int column) {
  int at = column * t->at[0];
  if (s->rank > 1) {
    at += row % s->dims[1] * t->at[1];
    if (s->rank > 2) {
      row /= s->dims[1];
      at += row % s->dims[2] * t->at[2];
      if (s->rank > 3) {
        row /= s->dims[2];
        at += row % s->dims[3] * t->at[3];
        if (s->rank > 4) {
          row /= s->dims[3];
          at += row % s->dims[4] * t->at[4];
          if (s->rank > 5) {
            row /= s->dims[4];
            at += row % s->dims[5] * t->at[5];
            if (s->rank > 6) {
              row /= s->dims[5];
              at += row % s->dims[6] * t->at[6];
              at += row / s->dims[6] * t->at[7];
            }
          }
        }
      }
    }
  }
  return at;
}

/// An operator of ir/activations.def with its parameters; its number is that of Activation_t::op in arguments.h.
typedef struct {
  int op;
  float alpha, low, high;
} Activation_t;

// NaN stays NaN, as on the CPU.
#define DEFINE_ACTIVATE(NAME, T)                                                             \
  inline T NAME(const Activation_t* a, T x) {                                                \
    switch (a->op) {                                                                         \
      case 1: return x < (T)(0.0f) ? (T)(0.0f) : x;                                          \
      case 2: return (T)(1.0f) / ((T)(1.0f) + exp(-x));                                      \
      case 3: return x / ((T)(1.0f) + exp(x * (T)(-a->alpha)));                              \
      case 4: return tanh(x);                                                                \
      case 5: return (T)(0.5f) * x * erfc(x * (T)(-0.70710678f));                            \
      case 6: {                                                                              \
        T z = x * (T)(1.0f / 6.0f) + (T)(0.5f);                                              \
        z = z < (T)(0.0f) ? (T)(0.0f) : z;                                                   \
        return x * (z > (T)(1.0f) ? (T)(1.0f) : z);                                          \
      }                                                                                      \
      case 7: {                                                                              \
        const T z = x < (T)(a->low) ? (T)(a->low) : x;                                       \
        return z > (T)(a->high) ? (T)(a->high) : z;                                          \
      }                                                                                      \
      default: return x;                                                                     \
    }                                                                                        \
  }

/// The result of a product: activation(alpha * sum + beta * c).
typedef struct {
  float alpha, beta;
  int has_c, c_row, c_column;
  Activation_t then;
} Result_t;
