// y = Softmax(scale * q k + mask) v. Scores are not written: a block of queries goes over the keys once, and holds the largest score
// of each query so far, the sum of powers and the sums of values, both in units of that score. The last index is the batch.

/// How an operand lies: what moves by how much.
typedef struct {
  int batch[6];
  int row, column;
} Matrix_t;

/// Operands are seen transposed: q [queries, depth], k [depth, keys], v [keys, width]. `dims` are of batches, fastest first.
typedef struct {
  int queries, keys, depth, width, batches;
  int dims[6];
  Matrix_t q, k, v, y, mask, choice;
  float scale, fill;
  int masked, choosing, fill_where, fill_last, nan_is_zero;
} Attention_t;

inline int matrix_of(const Attention_t* s, const Matrix_t* m, int batch) {
  int at = batch % s->dims[0] * m->batch[0];
  batch /= s->dims[0];
  at += batch % s->dims[1] * m->batch[1];
  batch /= s->dims[1];
  at += batch % s->dims[2] * m->batch[2];
  batch /= s->dims[2];
  at += batch % s->dims[3] * m->batch[3];
  batch /= s->dims[3];
  at += batch % s->dims[4] * m->batch[4];
  return at + batch / s->dims[4] * m->batch[5];
}

// The least number of 16 bits, to which storage clamps, hides a key also if other keys are hidden.
#ifdef PX_HALF
#define HIDING(x, T) ((x) == (T)(-LARGEST_HALF) ? (T)(-FLT_MAX) : (x))
#else
#define HIDING(x, T) (x)
#endif

/// Powers are of scores less this: of a query that has seen hidden keys only, of the scores themselves.
inline float shift_of(float largest) { return largest == -INFINITY ? 0.0f : largest; }

/// The result of a query whose weights are all NaN and count as 0: values that are no numbers stay.
inline float of_no_weights(const Attention_t* s, global const real* v, int column) {
  float sum = 0.0f;
  for (int key = 0; key < s->keys; ++key) sum += 0.0f * READ(v, key * s->v.row + column * s->v.column);
  return sum;
}

inline float result_of(const Attention_t* s, global const real* v, int column, float sum, float total) {
  if (s->keys == 0) return 0.0f;
  if (s->nan_is_zero && !(total > 0.0f)) return of_no_weights(s, v, column);
  return sum / total;
}

// Without local memory, for CPUs: a work-item has some queries and some columns of the result, in vectors.
#define QUERIES 4
#define LANES 16
#define VECTORS 8

/// Sixteen numbers from `at` on. Of those behind the last there is nothing to be expected.
inline float16 neighbours(global const real* p, int at, int stride, int last) {
  if (stride == 1 && at + LANES - 1 <= last) return READ_16(p + at);
  float x[LANES];
  for (int i = 0; i < LANES; ++i) x[i] = READ(p, min(at + i, last) * stride);
  return vload16(0, x);
}

inline float16 filled(const Attention_t* s, global const uchar* choice, int key, float16 scores) {
  float x[LANES];
  vstore16(scores, 0, x);
  for (int i = 0; i < LANES; ++i) {
    const int chosen = choice[min(key + i, s->keys - 1) * s->choice.column] != 0;
    if (chosen == s->fill_where) x[i] = s->fill;
  }
  return vload16(0, x);
}

inline float largest_of(float16 x) {
  const float8 a = fmax(x.lo, x.hi);
  const float4 b = fmax(a.lo, a.hi);
  const float2 c = fmax(b.lo, b.hi);
  return fmax(c.x, c.y);
}
inline float sum_of(float16 x) {
  const float8 a = x.lo + x.hi;
  const float4 b = a.lo + a.hi;
  return b.x + b.y + (b.z + b.w);
}

kernel ITEMS(1, 1, 1) void attention_rows(Attention_t s, global const real* q, long q0, global const real* k, long k0,
                                          global const real* v, long v0, global const real* mask, long mask0,
                                          global const uchar* choice, long choice0, global real* y, long y0) {
  const int first = (int)get_global_id(0) * QUERIES, column = (int)get_global_id(1) * LANES * VECTORS;
  const int batch = (int)get_global_id(2);
  if (s.batches == 0 || first >= s.queries || column >= s.width) return;
  q += q0 + matrix_of(&s, &s.q, batch);
  k += k0 + matrix_of(&s, &s.k, batch);
  v += v0 + matrix_of(&s, &s.v, batch);
  y += y0 + matrix_of(&s, &s.y, batch);
  mask += mask0 + matrix_of(&s, &s.mask, batch);
  choice += choice0 + matrix_of(&s, &s.choice, batch);
  const int last = s.width - 1;
  const int vectors = min(VECTORS, (s.width - column + LANES - 1) / LANES);
  // Queries beyond the last are the last again.
  int rows[QUERIES];
  float largest[QUERIES], totals[QUERIES];
  float16 sums[QUERIES][VECTORS];
  for (int i = 0; i < QUERIES; ++i) {
    rows[i] = min(first + i, s.queries - 1);
    largest[i] = -INFINITY;
    totals[i] = 0.0f;
    for (int c = 0; c < vectors; ++c) sums[i][c] = 0.0f;
  }
  global const real* q1 = q + rows[1] * s.q.row;
  global const real* q2 = q + rows[2] * s.q.row;
  global const real* q3 = q + rows[3] * s.q.row;
  q += rows[0] * s.q.row;
  const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int key = 0; key < s.keys; key += LANES) {
    float16 d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
    for (int d = 0; d < s.depth; ++d) {
      const float16 u = neighbours(k + d * s.k.row, key, s.k.column, s.keys - 1);
      const int at = d * s.q.column;
      d0 += READ(q, at) * u;
      d1 += READ(q1, at) * u;
      d2 += READ(q2, at) * u;
      d3 += READ(q3, at) * u;
    }
    const float16 dots[QUERIES] = {d0, d1, d2, d3};
    float weights[QUERIES][LANES];
    const int keys = min(LANES, s.keys - key);
    for (int i = 0; i < QUERIES; ++i) {
      float16 x = dots[i] * s.scale;
      global const uchar* chosen = choice + rows[i] * s.choice.row;
      if (s.choosing && !s.fill_last) x = filled(&s, chosen, key, x);
      if (s.masked) {
        const float16 m = neighbours(mask + rows[i] * s.mask.row, key, s.mask.column, s.keys - 1);
        x += HIDING(m, float16);
      }
      if (s.choosing && s.fill_last) x = filled(&s, chosen, key, x);
      x = select((float16)(-INFINITY), x, lanes < (int16)(keys));
      const float most = fmax(largest[i], largest_of(x)), shift = shift_of(most);
      const float factor = exp(largest[i] - shift);
      const float16 powers = exp(x - shift);
      largest[i] = most;
      totals[i] = totals[i] * factor + sum_of(powers);
      vstore16(powers, 0, weights[i]);
      if (factor != 1.0f)
        for (int c = 0; c < vectors; ++c) sums[i][c] *= factor;
    }
    for (int c = 0; c < vectors; ++c) {
      float16 t0 = sums[0][c], t1 = sums[1][c], t2 = sums[2][c], t3 = sums[3][c];
      for (int j = 0; j < keys; ++j) {
        const float16 u = neighbours(v + (key + j) * s.v.row, column + c * LANES, s.v.column, last);
        t0 += weights[0][j] * u;
        t1 += weights[1][j] * u;
        t2 += weights[2][j] * u;
        t3 += weights[3][j] * u;
      }
      sums[0][c] = t0;
      sums[1][c] = t1;
      sums[2][c] = t2;
      sums[3][c] = t3;
    }
  }
  for (int i = 0; i < QUERIES && first + i < s.queries; ++i) {
    for (int c = 0; c < vectors; ++c) {
      float each[LANES];
      vstore16(sums[i][c], 0, each);
      for (int j = 0; j < LANES && column + c * LANES + j < s.width; ++j) {
        const int at = column + c * LANES + j;
        WRITE(y, rows[i] * s.y.row + at * s.y.column, result_of(&s, v, at, each[j], totals[i]));
      }
    }
  }
}

// Through local memory, for GPUs: a work-group has some queries and as many columns of the result as items, each of which has one of
// them, and of the scores one key.
#define ITEMS_OF_GROUP 64
#define BLOCK 16
#define DEPTH 64
#define PARTS (ITEMS_OF_GROUP / BLOCK)

inline float score_of(const Attention_t* s, global const real* mask, global const uchar* choice, int query, int key,
                      float dot) {
  float x = dot * s->scale;
  const int chosen =
      s->choosing && (choice[query * s->choice.row + key * s->choice.column] != 0) == s->fill_where;
  if (chosen && !s->fill_last) x = s->fill;
  if (s->masked) {
    const float m = READ(mask, query * s->mask.row + key * s->mask.column);
    x += HIDING(m, float);
  }
  return chosen && s->fill_last ? s->fill : x;
}

kernel ITEMS(ITEMS_OF_GROUP, 1, 1) void attention_tiles(Attention_t s, global const real* q, long q0,
                                                        global const real* k, long k0, global const real* v, long v0,
                                                        global const real* mask, long mask0,
                                                        global const uchar* choice, long choice0, global real* y,
                                                        long y0) {
  local float qs[BLOCK][DEPTH], scores[BLOCK][ITEMS_OF_GROUP + 1];
  local float most_of_part[BLOCK][PARTS], sum_of_part[BLOCK][PARTS];
  local float largest[BLOCK], totals[BLOCK], factors[BLOCK];
  const int lane = (int)get_local_id(0), first = (int)get_group_id(0) * BLOCK;
  const int column = (int)get_global_id(1) * ITEMS_OF_GROUP + lane, batch = (int)get_global_id(2);
  if (s.batches == 0) return;
  q += q0 + matrix_of(&s, &s.q, batch);
  k += k0 + matrix_of(&s, &s.k, batch);
  v += v0 + matrix_of(&s, &s.v, batch);
  y += y0 + matrix_of(&s, &s.y, batch);
  mask += mask0 + matrix_of(&s, &s.mask, batch);
  choice += choice0 + matrix_of(&s, &s.choice, batch);
  const int last = s.queries - 1, value = min(column, s.width - 1) * s.v.column;
  // Each item has a part of the keys of one query where powers are taken.
  const int row = lane / PARTS, part = lane % PARTS;
  float sums[BLOCK];
  for (int i = 0; i < BLOCK; ++i) sums[i] = 0.0f;
  if (part == 0) {
    largest[row] = -INFINITY;
    totals[row] = 0.0f;
  }
  for (int begin = 0; begin < s.keys; begin += ITEMS_OF_GROUP) {
    const int key = min(begin + lane, s.keys - 1);
    float dots[BLOCK];
    for (int i = 0; i < BLOCK; ++i) dots[i] = 0.0f;
    for (int deep = 0; deep < s.depth; deep += DEPTH) {
      const int depth = min(DEPTH, s.depth - deep);
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int e = lane; e < BLOCK * DEPTH; e += ITEMS_OF_GROUP) {
        const int i = e / DEPTH, d = e % DEPTH;
        qs[i][d] = d < depth ? READ(q, min(first + i, last) * s.q.row + (deep + d) * s.q.column) : 0.0f;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      for (int d = 0; d < depth; ++d) {
        const float u = READ(k, (deep + d) * s.k.row + key * s.k.column);
        for (int i = 0; i < BLOCK; ++i) dots[i] += qs[i][d] * u;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < BLOCK; ++i) {
      const int query = min(first + i, last);
      scores[i][lane] =
          begin + lane < s.keys ? score_of(&s, mask, choice, query, key, dots[i]) : -INFINITY;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float most = -INFINITY;
    for (int j = 0; j < BLOCK; ++j) most = fmax(most, scores[row][part * BLOCK + j]);
    most_of_part[row][part] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    most = largest[row];
    for (int j = 0; j < PARTS; ++j) most = fmax(most, most_of_part[row][j]);
    const float shift = shift_of(most);
    float sum = 0.0f;
    for (int j = 0; j < BLOCK; ++j) {
      const float power = exp(scores[row][part * BLOCK + j] - shift);
      scores[row][part * BLOCK + j] = power;
      sum += power;
    }
    sum_of_part[row][part] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (part == 0) {
      factors[row] = exp(largest[row] - shift);
      float all = totals[row] * factors[row];
      for (int j = 0; j < PARTS; ++j) all += sum_of_part[row][j];
      totals[row] = all;
      largest[row] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < BLOCK; ++i) sums[i] *= factors[i];
    for (int j = 0; j < min(ITEMS_OF_GROUP, s.keys - begin); ++j) {
      const float u = READ(v, (begin + j) * s.v.row + value);
      for (int i = 0; i < BLOCK; ++i) sums[i] += scores[i][j] * u;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < BLOCK; ++i) {
    if (first + i >= s.queries || column >= s.width) continue;
    WRITE(y, (first + i) * s.y.row + column * s.y.column, result_of(&s, v, column, sums[i], totals[i]));
  }
}
