// LSTM, GRU and RNN of f32 with constant weights. A step depends on the one before, so a tile is a
// direction of some sequences through all steps; of a single step, a part of its hidden elements.
// If few sequences share a pass over the weights, X W is computed for several steps together.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/saturating.h"
#include "base/status.h"
#include "kernels/cpu/flush_denormals.h"
#include "kernels/cpu/recurrent/recurrent_loops.h"
#include "kernels/cpu/recurrent/recurrent_weights.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

using Rec = RecurrentInput;

/// Multiply-accumulates of a tile. Each reads its weights once in a step, from the second-level
/// cache or from memory: 2 MiB of them.
constexpr std::int64_t kRecurrentTileMacs = std::int64_t{1} << 19;
/// Steps whose X W is computed together.
constexpr std::int64_t kStepsAtOnce = 16;
/// With more sequences than this in a tile a step reads the weights once for several of them.
constexpr std::int64_t kFewSequences = 3;

struct RecurrentCut {
  std::int64_t sequence_tiles = 1, parts = 1;  ///< parts of hidden elements
};

RecurrentCut cut_recurrent(const RecurrentShape& s, std::int64_t blocks, bool lengths) {
  RecurrentCut cut;
  const std::int64_t row = saturating_mul(s.rows(), s.inputs + s.hidden);
  cut.sequence_tiles = count_tiles(s.batch, saturating_mul(row, s.steps), kRecurrentTileMacs);
  const bool candidates_wait = s.spec.gates == 3 && !s.spec.linear_before_reset;
  if (cut.sequence_tiles == 1 && s.steps == 1 && !lengths && !candidates_wait)
    cut.parts = count_tiles(blocks, saturating_mul(row, s.batch) / blocks, kRecurrentTileMacs);
  return cut;
}

/// The memory of a tile, in floats: states before and after a step, cells, intermediate results of
/// GRU, products of some steps.
struct RecurrentScratch {
  std::int64_t states = 0, spare = 0, products = 0;
  std::optional<std::int64_t> bytes() const {
    auto floats = checked_mul(states, 3);
    if (floats) floats = checked_add(*floats, spare);
    if (floats) floats = checked_add(*floats, products);
    return floats ? checked_mul(*floats, kFloatBytes) : floats;
  }
};

/// Sequences [begin, end) of a tile, and the blocks of hidden elements that it computes.
struct RecurrentTile {
  std::int64_t direction = 0, begin = 0, end = 0;
  std::int64_t first_block = 0, end_block = 0;
  std::int64_t length = 0;  ///< steps of each sequence
  std::int64_t count() const { return end - begin; }
};

class Recurrent final : public Kernel {
 public:
  Recurrent(const RecurrentShape& shape, RecurrentWeights weights, bool lengths)
      : s_(shape),
        weights_(std::move(weights)),
        lengths_(lengths),
        cut_(cut_recurrent(shape, weights_.blocks, lengths)) {
    const std::int64_t sequences = lengths ? 1 : tile_count(s_.batch, cut_.sequence_tiles);
    const std::int64_t padded = weights_.padded();
    scratch_.states = saturating_mul(sequences, padded);
    scratch_.spare = saturating_mul(padded, 3);
    ahead_ = s_.steps > 1 && sequences <= kFewSequences;
    if (ahead_) {
      scratch_.products = saturating_mul(saturating_mul(sequences, kStepsAtOnce),
                                         saturating_mul(padded, s_.spec.gates));
    }
  }

  std::int64_t tiles() const override { return s_.directions() * cut_.sequence_tiles * cut_.parts; }
  std::int64_t scratch_bytes() const override { return scratch_.bytes().value_or(0); }
  bool fits() const { return scratch_.bytes().has_value(); }
  InputUse input_use(std::size_t i) const override {
    const bool packed = i == Rec::kW || i == Rec::kR || i == Rec::kB || i == Rec::kPeepholes;
    return packed ? InputUse::kNone : InputUse::kAligned;
  }
  Status run_tile(std::int64_t tile, const KernelArgs& args) const override;

 private:
  void run(const RecurrentTile& tile, const KernelArgs& args) const;
  void load_states(const RecurrentTile& tile, const float* from, float* to) const;
  void store_states(const RecurrentTile& tile, const float* from, float* to) const;
  void store_step(const RecurrentTile& tile, std::int64_t t, const float* from, float* y) const;
  void multiply_ahead(const RecurrentTile& tile, std::int64_t step, const KernelArgs& args,
                      float* to) const;

  RecurrentShape s_;
  RecurrentWeights weights_;
  bool lengths_;
  bool ahead_ = false;  ///< X W is computed for several steps together
  RecurrentCut cut_;
  RecurrentScratch scratch_;
};

Status Recurrent::run_tile(std::int64_t tile, const KernelArgs& args) const {
  const FlushDenormals flush;
  const TileRange blocks = tile_range(weights_.blocks, cut_.parts, tile % cut_.parts);
  tile /= cut_.parts;
  const TileRange sequences = tile_range(s_.batch, cut_.sequence_tiles, tile % cut_.sequence_tiles);
  RecurrentTile all{tile / cut_.sequence_tiles,
                    sequences.begin,
                    sequences.end,
                    blocks.begin,
                    blocks.end,
                    s_.steps};
  if (!lengths_) {
    run(all, args);
    return {};
  }
  for (std::int64_t b = sequences.begin; b < sequences.end; ++b) {
    const auto length = sequence_length(s_, args, b);
    if (!length) {
      return tl::unexpected(
          Error{Stage::kRun, ErrorCode::kInvalidInput, {}, "a sequence is not as long as is said"});
    }
    all.begin = b;
    all.end = b + 1;
    all.length = *length;
    run(all, args);
  }
  return {};
}

/// Loads the initial states as [sequences, padded]; zeros if there are none.
void Recurrent::load_states(const RecurrentTile& tile, const float* from, float* to) const {
  const std::int64_t padded = weights_.padded();
  std::fill_n(to, tile.count() * padded, 0.0F);
  for (std::int64_t b = tile.begin; from != nullptr && b < tile.end; ++b)
    std::copy_n(from + s_.state_at(tile.direction, b), s_.hidden, to + (b - tile.begin) * padded);
}

/// Stores the tile's elements of the last states, or of a step of Y.
void Recurrent::store_states(const RecurrentTile& tile, const float* from, float* to) const {
  const std::int64_t first = tile.first_block * weights_.lanes;
  const std::int64_t end = std::min(tile.end_block * weights_.lanes, s_.hidden);
  for (std::int64_t b = tile.begin; to != nullptr && b < tile.end; ++b) {
    const float* const row = from + (b - tile.begin) * weights_.padded();
    std::copy(row + first, row + end, to + s_.state_at(tile.direction, b) + first);
  }
}
void Recurrent::store_step(const RecurrentTile& tile, std::int64_t t, const float* from,
                           float* y) const {
  const std::int64_t first = tile.first_block * weights_.lanes;
  const std::int64_t end = std::min(tile.end_block * weights_.lanes, s_.hidden);
  for (std::int64_t b = tile.begin; b < tile.end; ++b) {
    const float* const row = from + (b - tile.begin) * weights_.padded();
    std::copy(row + first, row + end, y + s_.y_at(t, tile.direction, b) + first);
  }
}

/// Computes X W of the steps from `step` on, sequence after sequence.
void Recurrent::multiply_ahead(const RecurrentTile& tile, std::int64_t step, const KernelArgs& args,
                               float* to) const {
  const std::int64_t row = weights_.padded() * s_.spec.gates;
  RecurrentProducts products;
  products.gates = s_.spec.gates;
  products.blocks = weights_.blocks;
  products.rows = std::min(kStepsAtOnce, tile.length - step);
  products.w = weights_.w_of(s_, tile.direction);
  products.bias = weights_.bias_of(s_, tile.direction);
  const std::int64_t t = s_.time_of(step, tile.direction, tile.length);
  const std::int64_t forward = s_.spec.batch_first ? s_.inputs : s_.batch * s_.inputs;
  products.x.stride = s_.spec.reverse(tile.direction) ? -forward : forward;
  products.x.depth = s_.inputs;
  for (std::int64_t b = tile.begin; b < tile.end; ++b) {
    products.x.at = args.in<float>(Rec::kX) + s_.x_at(t, b);
    products.to = to + (b - tile.begin) * kStepsAtOnce * row;
    recurrent_products(products);
  }
}

const float* state_or_null(const KernelArgs& args, std::size_t i) {
  return i < args.inputs.size() ? args.in<float>(i) : nullptr;
}

void Recurrent::run(const RecurrentTile& tile, const KernelArgs& args) const {
  auto* const h = reinterpret_cast<float*>(args.scratch.data());
  float* const c = h + 2 * scratch_.states;
  float* const products = c + scratch_.states + scratch_.spare;
  const std::int64_t padded = weights_.padded(), row = padded * s_.spec.gates;
  load_states(tile, state_or_null(args, Rec::kInitialH), h);
  load_states(tile, state_or_null(args, Rec::kInitialC), c);
  RecurrentStep step;
  step.spec = &s_.spec;
  step.activations = s_.spec.activations[to_size(tile.direction)].data();
  step.rows = tile.count();
  step.hidden = s_.hidden;
  step.begin = tile.first_block;
  step.end = tile.end_block;
  step.w = weights_.w_of(s_, tile.direction);
  step.r = weights_.r_of(s_, tile.direction);
  step.bias = weights_.bias_of(s_, tile.direction);
  step.candidate_bias = weights_.candidate_bias_of(s_, tile.direction);
  step.peepholes = weights_.peepholes_of(tile.direction);
  step.h = {h, padded, s_.hidden};
  step.next = h + scratch_.states;
  step.c = c;
  step.spare = c + scratch_.states;
  step.x.stride = (s_.spec.batch_first ? s_.steps : 1) * s_.inputs;
  step.x.depth = s_.inputs;
  float* const y = output_or_null<float>(args, 0);
  for (std::int64_t i = 0; i < tile.length; ++i) {
    const std::int64_t t = s_.time_of(i, tile.direction, tile.length);
    step.x.at = args.in<float>(Rec::kX) + s_.x_at(t, tile.begin);
    if (ahead_ && i % kStepsAtOnce == 0) multiply_ahead(tile, i, args, products);
    step.products = ahead_ ? products + i % kStepsAtOnce * row : nullptr;
    step.products_stride = kStepsAtOnce * row;
    recurrent_step(step);
    if (y != nullptr) store_step(tile, t, step.next, y);
    float* const before = const_cast<float*>(step.h.at);
    step.h.at = std::exchange(step.next, before);
  }
  store_states(tile, step.h.at, output_or_null<float>(args, 1));
  store_states(tile, c, output_or_null<float>(args, 2));
  for (std::int64_t t = tile.length; y != nullptr && t < s_.steps; ++t)
    for (std::int64_t b = tile.begin; b < tile.end; ++b)
      std::fill_n(y + s_.y_at(t, tile.direction, b), s_.hidden, 0.0F);
}

}  // namespace

Result<std::unique_ptr<Kernel>> cpu_recurrent(const KernelRequest& request) {
  PX_ASSIGN(const RecurrentShape s, recurrent_shape(request));
  if (s.steps == 0 || s.batch == 0 || s.inputs == 0 || s.hidden == 0) return not_covered();
  PX_ASSIGN(auto weights, recurrent_weights(request, s));
  if (!weights) return not_covered();
  auto kernel = std::make_unique<Recurrent>(s, *std::move(weights), request.has(Rec::kLengths));
  if (!kernel->fits()) return not_covered();
  return kernel;
}

}  // namespace parallax
