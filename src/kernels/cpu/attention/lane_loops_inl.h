// The loops of attention with queries in lanes, for operands of a type T: F32 of
// lane_attention_loops.cc, Bf16 of bf16_attention_loops.cc. Each includes it for each target, hence
// without a guard, after math_inl.h and registers_inl.h, between HWY_PUSH_ATTRIBUTES of the
// instructions that T needs and HWY_POP_ATTRIBUTES.
//
// T has
//   Element, Row                an element of K, Q and V, a step of depth or of keys, and a vector
//   load(from), broadcast(from) load a vector of elements; repeat one element in all lanes
//   add(a, b, sums)             returns sums + a * b
//   steps(keys)                 returns the rows of V: keys, or pairs of them in bf16
//   pad(block, lane, end)       fills up the last step of scores if it lacks a key
//   start(block, lane, row, sums), finish(...)
//                               load sums before a product with V and store them after it; one of
//                               them adds the scaled sums of earlier keys
//   Weights<V, Power>           converts the scores of a step of keys to weights
//
// In all functions V is the number of vectors of queries that are processed together, `lane` the
// first of these queries, R a number of rows (keys, or columns of V), and FloatTag the tag of a
// whole vector. `lane` and `stride` are multiples of a vector, arrays of `stride` are aligned, so
// rows are loaded and stored without masks; lanes after the last query hold values that no result
// depends on.
#include <hwy/highway.h>

namespace parallax {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Sums of R rows times V vectors of queries, in registers. R is at most rows_for(V).
template <std::size_t R, std::size_t V>
struct Sums {
  FloatVec at[R][V];

  // GCC's implicit constructor belongs to the baseline instruction set and cannot inline NEON's
  // Vec.
  HWY_INLINE Sums() {}
  /// Sets all sums to 0.
  HWY_INLINE void clear() {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) at[i][j] = hn::Zero(FloatTag());
    }
  }
  /// Adds the products of R elements of `a`, `step` apart, and a row of V vectors: element i times
  /// the row is added to row i.
  template <class T>
  HWY_INLINE void add(const typename T::Element* HWY_RESTRICT a, std::size_t step,
                      const typename T::Row (&row)[V]) {
    PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
      const auto wide = T::broadcast(a + i * step);
      PX_UNROLL for (std::size_t j = 0; j < V; ++j) at[i][j] = T::add(wide, row[j], at[i][j]);
    }
  }
};

/// Loads V vectors of f32. `from` is aligned to a vector.
template <std::size_t V>
HWY_INLINE void load(const float* from, FloatVec (&row)[V]) {
  const FloatTag d;
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) row[j] = hn::Load(d, from + j * hn::Lanes(d));
}

/// Loads V vectors of T's elements: in bf16 each lane holds a pair. `from` is aligned to a vector.
template <class T, std::size_t V>
HWY_INLINE void load_rows(const typename T::Element* from, typename T::Row (&row)[V]) {
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) row[j] = T::load(from + j * hn::Lanes(FloatTag()));
}

/// Stores V vectors of f32. `to` is aligned to a vector.
template <std::size_t V>
HWY_INLINE void store(const FloatVec (&row)[V], float* to) {
  const FloatTag d;
  PX_UNROLL for (std::size_t j = 0; j < V; ++j) hn::Store(row[j], d, to + j * hn::Lanes(d));
}

/// Adds the mask to the scores of R keys from `key` on, which are stored at x[at] later. `at` is
/// the offset of the first key's row and the first query in arrays of [keys, stride]. REQUIRES:
/// s.masked().
template <std::size_t R, std::size_t V>
HWY_INLINE void add_mask(const LaneRows& s, std::size_t at, std::size_t key, Sums<R, V>& sums) {
  const FloatTag d;
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      // One number for all queries, or a row with one for each.
      const auto mask = s.key_mask != nullptr
                            ? hn::Set(d, s.key_mask[key + i])
                            : hn::Load(d, s.query_mask + at + i * s.stride + j * hn::Lanes(d));
      sums.at[i][j] = hn::Add(sums.at[i][j], mask);
    }
  }
}

/// Replaces chosen scores with `fill`, before or after add_mask() as `fill_last` says. REQUIRES:
/// s.filled is not null.
template <std::size_t R, std::size_t V>
HWY_INLINE void fill_and_mask(const LaneRows& s, std::size_t at, std::size_t key,
                              Sums<R, V>& sums) {
  const FloatTag d;
  const hn::Rebind<std::uint8_t, FloatTag> bytes;
  const hn::RebindToSigned<FloatTag> wide;
  // Mask first if the fill is to replace masked scores too, otherwise the mask is added to the
  // fill.
  if (s.fill_last && s.masked()) add_mask(s, at, key, sums);
  const auto fill = hn::Set(d, s.fill);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      const auto filled = hn::LoadU(bytes, s.filled + at + i * s.stride + j * hn::Lanes(d));
      const auto kept = hn::RebindMask(d, hn::Eq(hn::PromoteTo(wide, filled), hn::Zero(wide)));
      sums.at[i][j] = hn::IfThenElse(kept, sums.at[i][j], fill);
    }
  }
  if (!s.fill_last && s.masked()) add_mask(s, at, key, sums);
}

/// Computes the scores of R keys from `key` on: products with Q, then mask and fill. Stores them in
/// x and raises `largest` to their maximum. The loop over depth is not unrolled: that costs 3 %
/// more.
template <class T, std::size_t R, std::size_t V>
HWY_NOINLINE void score_group(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                              std::size_t key) {
  const std::size_t k_stride = s.k_stride, stride = s.stride;
  const auto* HWY_RESTRICT k = s.k + key * k_stride;
  const auto* HWY_RESTRICT q = s.q + lane;
  Sums<R, V> sums;
  sums.clear();
  for (std::size_t depth = s.depth; depth != 0; --depth, ++k, q += stride) {
    typename T::Row row[V];
    load_rows<T>(q, row);
    sums.template add<T>(k, k_stride, row);
  }
  const std::size_t at = key * stride + lane;
  if (s.filled != nullptr) {
    fill_and_mask(s, at, key, sums);
  } else if (s.masked()) {
    add_mask(s, at, key, sums);
  }
  // x keeps the scores until all keys of the block have raised `largest`.
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) store(sums.at[i], s.x + at + i * stride);
  // Maxima are computed after the stores were issued: that saves 1 % of both products.
  FloatVec largest[V];
  load(s.sums.largest + lane, largest);
  PX_UNROLL for (std::size_t i = 0; i < R; ++i) {
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) {
      largest[j] = hn::Max(largest[j], sums.at[i][j]);
    }
  }
  store(largest, s.sums.largest + lane);
}

/// Computes R rows of y from `row` on from weights that are complete: scaled earlier sums plus
/// products of V with the weights of this block. The sum of an element of y goes over keys in
/// ascending order, whatever R and V.
template <class T, std::size_t R, std::size_t V>
HWY_NOINLINE void value_group(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                              std::size_t row) {
  const std::size_t stride = s.stride, v_stride = s.v_stride;
  const auto* HWY_RESTRICT v = s.v + row;
  const auto* HWY_RESTRICT x = reinterpret_cast<const typename T::Element*>(s.x) + lane;
  Sums<R, V> sums;
  T::start(s, lane, row, sums);
  for (std::size_t steps = T::steps(s.keys); steps != 0; --steps, v += v_stride, x += stride) {
    typename T::Row weights[V];
    load_rows<T>(x, weights);
    sums.template add<T>(v, 1, weights);
  }
  T::finish(s, lane, row, sums);
}

/// Computes the first R rows of y and also converts scores to weights, which are written over the
/// scores, packed to T's elements. Weights of the next step are computed while products use those
/// of this one: a power costs as much as a dozen products. Also adds the weights to the running
/// sums. Each query's sum goes over keys in ascending order. REQUIRES: no other function has
/// converted the scores of these lanes.
template <class T, std::size_t R, std::size_t V, class Power>
HWY_NOINLINE void first_values(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                               const Power& power) {
  const std::size_t v_stride = s.v_stride;
  typename T::template Weights<V, Power> make(s, lane, power);
  load(s.sums.largest + lane, make.largest);
  load(s.sums.sum + lane, make.sums);
  const auto* HWY_RESTRICT v = s.v;
  Sums<R, V> sums;
  T::start(s, lane, 0, sums);
  typename T::Row weights[V], next[V];
  make.next(weights);
  // One step ahead: `weights` are multiplied while `next` is computed.
  for (std::size_t steps = T::steps(s.keys); steps > 1; --steps, v += v_stride) {
    make.next(next);
    sums.template add<T>(v, 1, weights);
    PX_UNROLL for (std::size_t j = 0; j < V; ++j) weights[j] = next[j];
  }
  sums.template add<T>(v, 1, weights);
  T::finish(s, lane, 0, sums);
  store(make.sums, s.sums.sum + lane);
}

/// Function that processes a group of rows; tables of them are indexed by the number of rows - 1.
template <class T>
using Group = void (*)(const LaneBlockOf<typename T::Element>&, std::size_t lane, std::size_t row);

/// Computes the scores of all keys of the block, in groups of nearly equal size. R are the numbers
/// from 0 to rows_for(V) - 1.
template <class T, std::size_t V, std::size_t... R>
HWY_INLINE void all_scores(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                           std::index_sequence<R...>) {
  static constexpr Group<T> kTable[] = {score_group<T, R + 1, V>...};
  run_groups(kTable, s, lane, 0, s.keys);
}

/// Computes the rows of y from `row` on, which first_values() left out. REQUIRES: the weights of
/// all keys are complete.
template <class T, std::size_t V, std::size_t... R>
HWY_INLINE void other_values(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                             std::size_t row, std::index_sequence<R...>) {
  static constexpr Group<T> kTable[] = {value_group<T, R + 1, V>...};
  run_groups(kTable, s, lane, row, s.width);
}

/// Converts the scores of queries [lane, end) to weights and computes the first rows of y. Returns
/// the number of these rows. `power` is the exponential: e^x, or 2^x if Q was multiplied by
/// log2(e). Goes through [lane, end) two vectors at a time, then one.
template <class T, class Power>
HWY_INLINE std::size_t weigh_lanes(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                                   std::size_t end, const Power& power) {
  // Rows of y that are computed together with weights: two vectors of queries leave registers for
  // the powers. In bf16 6 to 16 rows by 1 or 2 vectors differ by 2 %.
  constexpr std::size_t kFirstRows = kVectors == 4 ? 8 : 4;
  const std::size_t lanes = hn::Lanes(FloatTag());
  const bool wide = s.width >= kFirstRows;
  for (; lane + 2 * lanes <= end; lane += 2 * lanes)
    wide ? first_values<T, kFirstRows, 2>(s, lane, power) : first_values<T, 1, 2>(s, lane, power);
  if (lane < end)
    wide ? first_values<T, kFirstRows, 1>(s, lane, power) : first_values<T, 1, 1>(s, lane, power);
  return wide ? kFirstRows : 1;
}

/// Prepares the running sums for the block: initialises them if it is the first. Copies `largest`
/// to `shrink`, from which run_lanes() computes the factor once the new maximum is known. `largest`
/// begins at the lowest finite f32: with -inf, the difference of two would be NaN.
HWY_INLINE void start_sums(const LaneRows& s) {
  const FloatTag d;
  for (std::size_t lane = 0; lane < s.stride; lane += hn::Lanes(d)) {
    if (s.first) {
      hn::Store(hn::Set(d, std::numeric_limits<float>::lowest()), d, s.sums.largest + lane);
      hn::Store(hn::Zero(d), d, s.sums.sum + lane);
    }
    hn::Store(hn::Load(d, s.sums.largest + lane), d, s.sums.shrink + lane);
  }
}

/// Processes all keys of the block for V vectors of queries from `lane` on: scores, the update of
/// the running sums, weights, and products with V. Lanes of different calls are independent, so the
/// order of calls changes no result.
template <class T, std::size_t V, class Power>
HWY_INLINE void run_lanes(const LaneBlockOf<typename T::Element>& s, std::size_t lane,
                          const Power& power) {
  constexpr std::make_index_sequence<rows_for(V)> kRows;
  const FloatTag d;
  const std::size_t end = lane + V * hn::Lanes(d);
  all_scores<T, V>(s, lane, kRows);
  T::pad(s, lane, end);
  // Computes the factor by which earlier weights shrink.
  for (std::size_t at = lane; at < end; at += hn::Lanes(d)) {
    const auto before = hn::Load(d, s.sums.shrink + at);
    const auto shrink = power(hn::Sub(before, hn::Load(d, s.sums.largest + at)));
    hn::Store(shrink, d, s.sums.shrink + at);
    hn::Store(hn::Mul(shrink, hn::Load(d, s.sums.sum + at)), d, s.sums.sum + at);
  }
  // Once all rows of this block are done, y and sums refer to the new maximum.
  const std::size_t row = weigh_lanes<T>(s, lane, end, power);
  other_values<T, V>(s, lane, row, kRows);
}

/// Processes a whole block: full panels of kVectors vectors of queries, then the remaining vectors.
/// Afterwards x holds weights, y the sums over all keys so far, not yet divided by `sum`. REQUIRES:
/// s.keys > 0 and s.width > 0.
template <class T, class Power>
void run_block(const LaneBlockOf<typename T::Element>& s, const Power& power) {
  start_sums(s);
  const std::size_t lanes = hn::Lanes(FloatTag()), panel = kVectors * lanes;
  std::size_t lane = 0;
  for (; lane + panel <= s.stride; lane += panel) run_lanes<T, kVectors>(s, lane, power);
  // The remaining vectors of queries: fewer than kVectors.
  switch ((s.stride - lane) / lanes) {
    case 1:
      return run_lanes<T, 1>(s, lane, power);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    case 2:
      return run_lanes<T, 2>(s, lane, power);
    case 3:
      return run_lanes<T, 3>(s, lane, power);
#endif
    default:
      return;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace parallax
