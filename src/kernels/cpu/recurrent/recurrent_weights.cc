#include "kernels/cpu/recurrent/recurrent_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/saturating.h"
#include "base/status.h"
#include "kernels/cpu/tiles.h"

namespace parallax {
namespace {

using Rec = RecurrentInput;

/// Gates that peepholes see: iof.
constexpr std::int64_t kPeepholeGates = 3;

float number_at(const std::byte* bytes, std::int64_t i) {
  float value = 0;
  std::memcpy(&value, bytes + i * kFloatBytes, sizeof value);
  return value;
}

/// Sizes of the weights that packing reads and writes.
struct Packing {
  std::int64_t directions = 1, gates = 1, hidden = 0, depth = 0, blocks = 0, lanes = 1;
  bool apart = false;  ///< keeps the last gate's bias of the state separate

  std::int64_t rows() const { return gates * hidden; }
};

float unit_of(const std::vector<float>& units, std::int64_t direction) {
  if (units.empty()) return 1;
  return units.size() == 1 ? units[0] : units[to_size(direction)];
}

/// The number that is packed of an f32: itself, or how many units it has.
template <class W>
W packed_number(float x, double units_in_one) {
  if constexpr (std::is_same_v<W, float>) return x;
  const double number = static_cast<double>(x) * units_in_one;
  if (!(number > -128.5 && number < 127.5)) return 0;  // not what Constant::units says
  return static_cast<W>(number < 0 ? number - 0.5 : number + 0.5);
}

/// Packs [directions, gates * hidden, depth] as [directions, blocks, depth, gates, lanes].
template <class W>
void pack_recurrent(const Packing& p, const std::vector<float>& units, const std::byte* from,
                    W* to) {
  const std::int64_t step = p.gates * p.lanes;
  for (std::int64_t direction = 0; direction < p.directions; ++direction) {
    const double units_in_one = 1 / static_cast<double>(unit_of(units, direction));
    for (std::int64_t block = 0; block < p.blocks; ++block) {
      for (std::int64_t at = 0; at < step; ++at) {
        const std::int64_t j = block * p.lanes + at % p.lanes;
        const std::int64_t row = direction * p.rows() + at / p.lanes * p.hidden + j;
        for (std::int64_t k = 0; k < p.depth; ++k) {
          const float x = j < p.hidden ? number_at(from, row * p.depth + k) : 0;
          to[k * step + at] = packed_number<W>(x, units_in_one);
        }
      }
      to += step * p.depth;
    }
  }
}

/// Packs the bytes that weights [directions, gates * hidden, depth] are made of; padding stays 0.
void pack_stored_bytes(const Packing& p, const StoredForm& from, std::int8_t* to) {
  // Without their sign bit, bytes around 128 are those around 0.
  const int flip = from.source.dtype == DType::kU8 ? 0x80 : 0;
  const std::int64_t step = p.gates * p.lanes, stride = from.stride(1);
  for (std::int64_t block = 0; block < p.directions * p.blocks; ++block, to += step * p.depth) {
    const std::int64_t direction = block / p.blocks, first = block % p.blocks * p.lanes;
    const std::int64_t count = std::min(p.lanes, p.hidden - first);
    for (std::int64_t at = 0; at < p.depth * p.gates; ++at) {
      const std::int64_t k = at / p.gates, row = at % p.gates * p.hidden + first;
      const std::byte* const x =
          from.source.bytes.data() + direction * from.stride(0) + row * stride + k * from.stride(2);
      for (std::int64_t j = 0; j < count; ++j)
        to[at * p.lanes + j] = static_cast<std::int8_t>(std::to_integer<int>(x[j * stride]) ^ flip);
    }
  }
}

/// Returns the sum of the biases of gate `gate` for element j.
float gate_bias(const Packing& p, const std::byte* bias, std::int64_t direction, std::int64_t gate,
                std::int64_t j) {
  const std::int64_t row = direction * 2 * p.rows() + gate * p.hidden + j;
  const float of_x = number_at(bias, row);
  return p.apart && gate + 1 == p.gates ? of_x : of_x + number_at(bias, row + p.rows());
}

/// Writes for each direction the biases of all gates [blocks, gates, lanes], then the separate ones
/// [blocks, lanes]. Null: zeros.
void pack_biases(const Packing& p, const std::byte* bias, float* to) {
  const std::int64_t padded = p.blocks * p.lanes, count = padded * (p.gates + 1);
  std::fill_n(to, p.directions * count, 0.0F);
  for (std::int64_t direction = 0; bias != nullptr && direction < p.directions; ++direction) {
    for (std::int64_t j = 0; j < p.hidden; ++j) {
      const std::int64_t at = j / p.lanes * p.gates * p.lanes + j % p.lanes;
      for (std::int64_t gate = 0; gate < p.gates; ++gate)
        to[at + gate * p.lanes] = gate_bias(p, bias, direction, gate, j);
      if (p.apart)
        to[padded * p.gates + j] = number_at(bias, (direction * 2 + 2) * p.rows() - p.hidden + j);
    }
    to += count;
  }
}

/// Packs [directions, 3 * hidden] as [directions, blocks, 3, lanes].
void pack_peepholes(const Packing& p, const std::byte* peepholes, float* to) {
  const std::int64_t count = p.blocks * p.lanes * kPeepholeGates;
  std::fill_n(to, p.directions * count, 0.0F);
  for (std::int64_t row = 0; row < p.directions * kPeepholeGates; ++row) {
    float* const gate = to + row / kPeepholeGates * count + row % kPeepholeGates * p.lanes;
    for (std::int64_t j = 0; j < p.hidden; ++j)
      gate[j / p.lanes * kPeepholeGates * p.lanes + j % p.lanes] =
          number_at(peepholes, row * p.hidden + j);
  }
}

bool is_constant(const TensorDesc& tensor) {
  return tensor.dtype == DType::kF32 && tensor.data != nullptr;
}
bool constant_or_absent(const KernelRequest& request, std::size_t i) {
  return !request.has(i) || is_constant(request.inputs[i]);
}
/// Whether the weights of an LSTM are bytes, each times a unit of its direction.
bool are_bytes(const TensorDesc& w, const TensorDesc& r, const Packing& p) {
  const auto has_units = [&](const TensorDesc& tensor) {
    return tensor.units != nullptr &&
           (tensor.units->size() == 1 || std::ssize(*tensor.units) == p.directions);
  };
  return p.gates == 4 && has_units(w) && has_units(r);
}
/// Whether the bytes that weights of an LSTM are made of are known.
bool has_stored_bytes(const TensorDesc& tensor) {
  return tensor.stored != nullptr && tensor.dims.rank() == 3 &&
         (tensor.stored->source.dtype == DType::kI8 || tensor.stored->source.dtype == DType::kU8);
}
/// Returns the bytes of f32 in `blocks` blocks for every direction; nullopt if 63 bits do not hold
/// it.
std::optional<std::int64_t> recurrent_bytes(const Packing& p, std::int64_t in_block) {
  auto size = checked_mul(p.blocks * p.directions, p.lanes);
  if (size) size = checked_mul(*size, in_block);
  return size ? checked_mul(*size, kFloatBytes) : size;
}

/// Packs W or R, whose packing has `bytes` bytes of f32.
Result<std::shared_ptr<const AlignedBytes>> pack_recurrent_weights(
    PackedWeights& packed, const std::string& name, const Packing& p, const TensorDesc& from,
    bool as_bytes, std::int64_t bytes) {
  const std::string layout = fmt::format("{} depth {}", name, p.depth);
  if (!as_bytes)
    return packed.get(from.data, layout, bytes, [p, data = from.data](std::byte* to) {
      pack_recurrent(p, {}, data, reinterpret_cast<float*>(to));
    });
  const std::string of_bytes = layout + " bytes";
  if (!has_stored_bytes(from))
    return packed.get(from.data, of_bytes, bytes / kFloatBytes,
                      [p, units = *from.units, data = from.data](std::byte* to) {
                        pack_recurrent(p, units, data, reinterpret_cast<std::int8_t*>(to));
                      });
  return packed.get(
      from.data, of_bytes, bytes / kFloatBytes,
      [p, form = from.stored](std::byte* to) {
        pack_stored_bytes(p, *form, reinterpret_cast<std::int8_t*>(to));
      },
      from.stored->source.bytes);
}

/// Returns the matrix of a direction, which has `size` elements.
RecurrentMatrix matrix_of(const AlignedBytes& packed, const std::vector<float>& units,
                          std::int64_t direction, std::int64_t size) {
  const bool bytes = !units.empty();
  const std::int64_t element = bytes ? 1 : kFloatBytes;
  return {packed.data() + direction * size * element, bytes, unit_of(units, direction)};
}

const float* floats_of(const std::shared_ptr<const AlignedBytes>& bytes) {
  return reinterpret_cast<const float*>(bytes->data());
}

}  // namespace

RecurrentMatrix RecurrentWeights::w_of(const RecurrentShape& s, std::int64_t direction) const {
  return matrix_of(*w, w_units, direction, padded() * s.spec.gates * s.inputs);
}
RecurrentMatrix RecurrentWeights::r_of(const RecurrentShape& s, std::int64_t direction) const {
  return matrix_of(*r, r_units, direction, padded() * s.spec.gates * s.hidden);
}
const float* RecurrentWeights::bias_of(const RecurrentShape& s, std::int64_t direction) const {
  return floats_of(bias) + direction * padded() * (s.spec.gates + 1);
}
const float* RecurrentWeights::candidate_bias_of(const RecurrentShape& s,
                                                 std::int64_t direction) const {
  return bias_of(s, direction) + padded() * s.spec.gates;
}
const float* RecurrentWeights::peepholes_of(std::int64_t direction) const {
  return peepholes == nullptr ? nullptr
                              : floats_of(peepholes) + direction * padded() * kPeepholeGates;
}

Result<std::optional<RecurrentWeights>> recurrent_weights(const KernelRequest& request,
                                                          const RecurrentShape& s) {
  const TensorDesc& w = request.inputs[Rec::kW];
  const TensorDesc& r = request.inputs[Rec::kR];
  if (!is_constant(w) || !is_constant(r) || !constant_or_absent(request, Rec::kB) ||
      !constant_or_absent(request, Rec::kPeepholes))
    return std::optional<RecurrentWeights>();
  RecurrentWeights weights;
  weights.lanes = recurrent_block();
  weights.blocks = tile_count(s.hidden, weights.lanes);
  Packing p{s.directions(),
            s.spec.gates,
            s.hidden,
            s.inputs,
            weights.blocks,
            weights.lanes,
            s.spec.linear_before_reset};
  const auto w_bytes = recurrent_bytes(p, saturating_mul(s.inputs, p.gates));
  const auto r_bytes = recurrent_bytes(p, saturating_mul(s.hidden, p.gates));
  const auto bias_bytes = recurrent_bytes(p, p.gates + 1);
  const auto peephole_bytes = recurrent_bytes(p, kPeepholeGates);
  if (!w_bytes || !r_bytes || !bias_bytes || !peephole_bytes)
    return std::optional<RecurrentWeights>();
  const std::string name =
      fmt::format("recurrent {} of {}x{} in {}", p.directions, p.gates, p.hidden, p.lanes);
  const bool as_bytes = are_bytes(w, r, p);
  if (as_bytes) {
    weights.w_units = *w.units;
    weights.r_units = *r.units;
  }
  PX_ASSIGN(weights.w, pack_recurrent_weights(request.packed, name, p, w, as_bytes, *w_bytes));
  Packing of_state = p;
  of_state.depth = s.hidden;
  PX_ASSIGN(weights.r,
            pack_recurrent_weights(request.packed, name, of_state, r, as_bytes, *r_bytes));
  const std::byte* const bias = request.has(Rec::kB) ? request.inputs[Rec::kB].data : nullptr;
  PX_ASSIGN(weights.bias,
            request.packed.get(bias == nullptr ? r.data : bias,
                               fmt::format("{} {}{}", name, bias == nullptr ? "zeros" : "biases",
                                           p.apart ? " apart" : ""),
                               *bias_bytes, [p, bias](std::byte* to) {
                                 pack_biases(p, bias, reinterpret_cast<float*>(to));
                               }));
  if (!request.has(Rec::kPeepholes)) return std::optional<RecurrentWeights>(std::move(weights));
  const std::byte* const peepholes = request.inputs[Rec::kPeepholes].data;
  PX_ASSIGN(weights.peepholes, request.packed.get(peepholes, name + " peepholes", *peephole_bytes,
                                                  [p, peepholes](std::byte* to) {
                                                    pack_peepholes(p, peepholes,
                                                                   reinterpret_cast<float*>(to));
                                                  }));
  return std::optional<RecurrentWeights>(std::move(weights));
}

}  // namespace parallax
