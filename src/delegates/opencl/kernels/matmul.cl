// y[batch] = activation(alpha * a[batch] b[batch] + beta * c). A work-group's third index is the batch.

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

// Without local memory, for CPUs: a work-item has 4 x 16 results and reads each row of b as two vectors. b's columns are
// neighbours.
#define ROWS 4
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
  const int last = p.m - 1;
  global const real* a1 = a + min(row + 1, last) * p.a_row;
  global const real* a2 = a + min(row + 2, last) * p.a_row;
  global const real* a3 = a + min(row + 3, last) * p.a_row;
  a += row * p.a_row;
  b += column;
  float8 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f, t0 = 0.0f, t1 = 0.0f, t2 = 0.0f, t3 = 0.0f;
  for (int l = 0; l < p.k; ++l) {
    const float8 u = READ_8(b + l * p.b_row), v = READ_8(b + l * p.b_row + 8);
    const int at = l * p.a_column;
    const float x0 = READ(a, at), x1 = READ(a1, at), x2 = READ(a2, at), x3 = READ(a3, at);
    s0 += x0 * u;
    t0 += x0 * v;
    s1 += x1 * u;
    t1 += x1 * v;
    s2 += x2 * u;
    t2 += x2 * v;
    s3 += x3 * u;
    t3 += x3 * v;
  }
  float8 s[4] = {s0, s1, s2, s3}, t[4] = {t0, t1, t2, t3};
  for (int i = 0; i < ROWS && row + i < p.m; ++i) {
    float8 u = r.alpha * s[i], v = r.alpha * t[i];
    if (r.has_c && r.c_column == 1) {
      global const real* beside = c + (row + i) * r.c_row + column;
      u += r.beta * READ_8(beside);
      v += r.beta * READ_8(beside + 8);
    } else if (r.has_c) {
      u += r.beta * READ(c, (row + i) * r.c_row);
      v += r.beta * READ(c, (row + i) * r.c_row);
    }
    global real* to = y + (row + i) * p.n + column;
    WRITE_8(to, activate_8(&r.then, u));
    WRITE_8(to + 8, activate_8(&r.then, v));
  }
}

// Through local memory, for GPUs: a work-group has 64 x 64 results, a work-item 4 x 4 of them, 16 apart, so that neighbours among
// the work-items write neighbours.
#define TILE 64
#define DEPTH 16

kernel ITEMS(16, 16, 1) void matmul_tiles(Product_t p, Result_t r, global const real* a, long a0, global const real* b,
                                          long b0, global const real* c, long c0, global real* y, long y0) {
  local float as[DEPTH][TILE + 1], bs[DEPTH][TILE + 1];
  const int u = (int)get_local_id(0), v = (int)get_local_id(1), item = v * 16 + u;
  const int first_column = (int)get_group_id(0) * TILE, first_row = (int)get_global_id(1) / 16 * TILE;
  const int batch = (int)get_global_id(2);
  if (p.batches == 0) return;
  a += a0 + batch_offset(p.batch, p.a_batch, batch);
  b += b0 + batch_offset(p.batch, p.b_batch, batch);
  c += c0;
  y += y0 + (long)batch * p.m * p.n;
  float sums[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sums[i][j] = 0.0f;
  for (int first = 0; first < p.k; first += DEPTH) {
    for (int e = item; e < TILE * DEPTH; e += 256) {
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
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += as[d][v + i * 16] * bs[d][u + j * 16];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = first_row + v + i * 16, column = first_column + u + j * 16;
      if (row < p.m && column < p.n) WRITE(y, row * p.n + column, finished(&r, c, row, column, sums[i][j]));
    }
  }
}
