// y[batch] = activation(alpha * a[batch] b[batch] + beta * c). A work-group's third index is the batch. The host defines ROWS, TILE
// and ITEM, which are chosen for the device (tuning.h).

/// Sizes, and what moves by how much. `batch` axes are fastest first.
typedef struct {
  int m, n, k;
  int a_row, a_column, b_row, b_column;
  int batches;
  int batch[4], a_batch[4], b_batch[4];
} Product_t;

DEFINE_ACTIVATE(activate, float)
DEFINE_ACTIVATE(activate_8, float8)

inline int batch_offset(const int* dims, const int* strides, int batch) {
  int at = batch % dims[0] * strides[0];
  batch /= dims[0];
  at += batch % dims[1] * strides[1];
  batch /= dims[1];
  at += batch % dims[2] * strides[2];
  return at + batch / dims[2] * strides[3];
}

inline float finished(const Result_t* r, global const real* c, int row, int column, float sum) {
  float x = r->alpha * sum;
  if (r->has_c) x += r->beta * READ(c, row * r->c_row + column * r->c_column);
  return activate(&r->then, x);
}

// Without local memory, for CPUs: a work-item has ROWS x 16 results and reads each row of b as two vectors. b's columns are
// neighbours.
#define COLUMNS 16

inline void multiply_edge(const Product_t* p, const Result_t* r, global const real* a, global const real* b,
                          global const real* c, global real* y, int row, int column) {
  const int rows = min(ROWS, p->m - row), columns = min(COLUMNS, p->n - column);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      float sum = 0.0f;
      for (int l = 0; l < p->k; ++l)
        sum += READ(a, (row + i) * p->a_row + l * p->a_column) * READ(b, l * p->b_row + (column + j) * p->b_column);
      WRITE(y, (row + i) * p->n + column + j, finished(r, c, row + i, column + j, sum));
    }
  }
}

kernel ITEMS(1, 8, 1) void matmul_rows(Product_t p, Result_t r, global const real* a, long a0, global const real* b,
                                       long b0, global const real* c, long c0, global real* y, long y0) {
  const int column = (int)get_global_id(0) * COLUMNS, row = (int)get_global_id(1) * ROWS;
  const int batch = (int)get_global_id(2);
  if (row >= p.m || column >= p.n) return;
  a += a0 + batch_offset(p.batch, p.a_batch, batch);
  b += b0 + batch_offset(p.batch, p.b_batch, batch);
  c += c0;
  y += y0 + (long)batch * p.m * p.n;
  if (column + COLUMNS > p.n) {
    multiply_edge(&p, &r, a, b, c, y, row, column);
    return;
  }
  // Rows beyond the last are the last again.
  global const real* rows[ROWS];
  float8 s[ROWS], t[ROWS];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    rows[i] = a + min(row + i, p.m - 1) * p.a_row;
    s[i] = t[i] = 0.0f;
  }
  b += column;
  for (int l = 0; l < p.k; ++l) {
    const float8 u = READ_8(b + l * p.b_row), v = READ_8(b + l * p.b_row + 8);
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
      const float x = READ(rows[i], l * p.a_column);
      s[i] += x * u;
      t[i] += x * v;
    }
  }
  for (int i = 0; i < ROWS && row + i < p.m; ++i) {
    float8 u = r.alpha * s[i], v = r.alpha * t[i];
    if (r.has_c && r.c_column == 1) {
      global const real* added = c + (row + i) * r.c_row + column;
      u += r.beta * READ_8(added);
      v += r.beta * READ_8(added + 8);
    } else if (r.has_c) {
      u += r.beta * READ(c, (row + i) * r.c_row);
      v += r.beta * READ(c, (row + i) * r.c_row);
    }
    global real* to = y + (row + i) * p.n + column;
    WRITE_8(to, activate_8(&r.then, u));
    WRITE_8(to + 8, activate_8(&r.then, v));
  }
}

// Through local memory, for GPUs: a work-group has TILE x TILE results, a work-item ITEM x ITEM of them, SIDE apart, so that
// neighbours among the work-items write neighbours.
#define SIDE (TILE / ITEM)
#define DEPTH 16

kernel ITEMS(SIDE, SIDE, 1) void matmul_tiles(Product_t p, Result_t r, global const real* a, long a0, global const real* b,
                                          long b0, global const real* c, long c0, global real* y, long y0) {
  local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
  const int u = (int)get_local_id(0), v = (int)get_local_id(1), item = v * SIDE + u;
  const int first_column = (int)get_group_id(0) * TILE, first_row = (int)get_global_id(1) / SIDE * TILE;
  const int batch = (int)get_global_id(2);
  if (p.batches == 0) return;
  a += a0 + batch_offset(p.batch, p.a_batch, batch);
  b += b0 + batch_offset(p.batch, p.b_batch, batch);
  c += c0;
  y += y0 + (long)batch * p.m * p.n;
  float sums[ITEM][ITEM];
  for (int i = 0; i < ITEM; ++i)
    for (int j = 0; j < ITEM; ++j) sums[i][j] = 0.0f;
  for (int first = 0; first < p.k; first += DEPTH) {
    for (int e = item; e < TILE * DEPTH; e += SIDE * SIDE) {
      // Neighbours among the work-items read neighbours, whichever way the operand lies.
      const int ad = p.a_column == 1 ? e % DEPTH : e / TILE, ai = p.a_column == 1 ? e / DEPTH : e % TILE;
      const int bd = p.b_column == 1 ? e / TILE : e % DEPTH, bi = p.b_column == 1 ? e % TILE : e / DEPTH;
      as[ad][ai] = first + ad < p.k && first_row + ai < p.m
                       ? READ(a, (first_row + ai) * p.a_row + (first + ad) * p.a_column)
                       : 0.0f;
      bs[bd][bi] = first + bd < p.k && first_column + bi < p.n
                       ? READ(b, (first + bd) * p.b_row + (first_column + bi) * p.b_column)
                       : 0.0f;
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
      if (row < p.m && column < p.n) WRITE(y, row * p.n + column, finished(&r, c, row, column, sums[i][j]));
    }
  }
}
