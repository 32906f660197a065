#include "kernels/widened.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/status.h"
#include "ops/op.h"
#include "parallax/elements.h"

namespace parallax {
namespace {

/// Elements of one tile of an elementwise operator, few enough to stay in caches. A multiple of 8,
/// so that no two tiles write the same byte.
constexpr std::int64_t kChunk = 8192;
/// Limit of the outputs of operators that size them while running.
constexpr std::size_t kMaxDynamic = 8;

/// Kernels of unsigned integers alone have one wide type.
DType wide_type(DType dtype, bool keep_sign) {
  if (keep_sign && (dtype == DType::kU16 || dtype == DType::kU32)) return DType::kU64;
  return widened(dtype);
}

/// An input or output of the inner kernel.
struct Port {
  DType narrow = DType::kF32, wide = DType::kF32;
  std::int64_t elements = 0;  ///< in one tile
  std::int64_t offset = -1;   ///< bytes to its wide elements in scratch; -1: used in place
  bool moves = false;         ///< the tile decides which elements they are

  std::int64_t first(std::int64_t tile) const { return moves ? tile * kChunk : 0; }
  std::int64_t byte(std::int64_t tile) const { return first(tile) * size_of(narrow); }
};

template <class Visit>
void visit_wide(DType wide, Visit visit) {
  constexpr DTypeSet kWide = kNativeTypes & ~dtype_bit(DType::kBool);
  dispatch<kWide>(wide, visit);
}

void widen(const Port& port, std::int64_t first, std::int64_t count, const std::byte* from,
           std::byte* to) {
  visit_wide(port.wide, [&](auto type) {
    using T = typename decltype(type)::type;
    read_elements(port.narrow, from, first,
                  std::span<T>(reinterpret_cast<T*>(to), static_cast<std::size_t>(count)));
  });
}

/// Infinities stay ones: operators whose results are widened floats of 8 bits only move elements.
void narrow(const Port& port, std::int64_t first, std::int64_t count, const std::byte* from,
            std::byte* to) {
  visit_wide(port.wide, [&](auto type) {
    using T = typename decltype(type)::type;
    write_elements(
        port.narrow,
        std::span<const T>(reinterpret_cast<const T*>(from), static_cast<std::size_t>(count)), to,
        first, {.saturate = false});
  });
}

/// Allocates the outputs of the outer kernel, and hands the inner kernel scratch for those that are
/// narrowed afterwards, with room for as many elements as their ports state.
class WideOutputs final : public DynamicOutputs {
 public:
  WideOutputs(DynamicOutputs* outer, std::span<const Port> ports, std::byte* scratch)
      : outer_(outer), ports_(ports), scratch_(scratch) {}

  Result<std::byte*> allocate(int output, const Dims& dims) override {
    const auto i = static_cast<std::size_t>(output);
    PX_ASSIGN(std::byte* const memory, outer_->allocate(output, dims));
    if (ports_[i].offset < 0) return memory;
    const std::int64_t count = dims.elements();
    if (count > ports_[i].elements) {
      return tl::unexpected(Error{
          Stage::kRun, ErrorCode::kUnsupported, {}, "an output has more elements than all inputs"});
    }
    given_[i] = {memory, count};
    return scratch_ + ports_[i].offset;
  }

  void narrow_all() const {
    for (std::size_t i = 0; i < ports_.size(); ++i)
      if (given_[i].count > 0)
        narrow(ports_[i], 0, given_[i].count, scratch_ + ports_[i].offset, given_[i].memory);
  }

 private:
  struct Given {
    std::byte* memory = nullptr;
    std::int64_t count = 0;
  };
  DynamicOutputs* outer_;
  std::span<const Port> ports_;
  std::byte* scratch_;
  std::array<Given, kMaxDynamic> given_{};
};

/// An inner kernel with its inputs and outputs. Its scratch holds the pointers of these, their wide
/// elements, and the inner kernel's own scratch.
struct Part {
  std::unique_ptr<Kernel> kernel;
  std::vector<Port> inputs, outputs;
  std::int64_t own_scratch = 0;  ///< bytes to the inner kernel's own scratch
  std::int64_t scratch_bytes = 0;
};

class WidenedKernel final : public Kernel {
 public:
  /// `parts` has one element, or two: for whole tiles, and for the last tile.
  WidenedKernel(std::vector<Part> parts, std::int64_t tiles)
      : parts_(std::move(parts)), tiles_(tiles) {}

  std::int64_t tiles() const override { return tiles_; }
  std::int64_t scratch_bytes() const override {
    return std::max(parts_.front().scratch_bytes, parts_.back().scratch_bytes);
  }
  InputUse input_use(std::size_t i) const override {
    const InputUse inner = parts_.front().kernel->input_use(i);
    const auto& inputs = parts_.front().inputs;
    return inner == InputUse::kAligned && i < inputs.size() && inputs[i].offset >= 0
               ? InputUse::kBytes
               : inner;
  }
  bool overwrites(std::size_t i) const override {
    return parts_.front().kernel->overwrites(i) && parts_.back().kernel->overwrites(i);
  }
  std::int64_t table_bytes() const override {
    std::int64_t bytes = 0;
    for (const Part& part : parts_)
      bytes += part.kernel->table_bytes() +
               static_cast<std::int64_t>((part.inputs.size() + part.outputs.size()) * sizeof(Port));
    return bytes;
  }
  bool dynamic_outputs() const override { return parts_.front().kernel->dynamic_outputs(); }

  Status run_tile(std::int64_t tile, const KernelArgs& args) const override {
    const Part& part = tile + 1 == tiles_ ? parts_.back() : parts_.front();
    std::byte* const scratch = args.scratch.data();
    auto** const inputs = reinterpret_cast<const std::byte**>(scratch);
    auto** const outputs = reinterpret_cast<std::byte**>(scratch) + part.inputs.size();
    for (std::size_t i = 0; i < part.inputs.size(); ++i) {
      const Port& port = part.inputs[i];
      inputs[i] = args.inputs[i];
      if (inputs[i] == nullptr) continue;
      if (port.offset < 0) {
        inputs[i] += port.byte(tile);
      } else {
        widen(port, port.first(tile), port.elements, args.inputs[i], scratch + port.offset);
        inputs[i] = scratch + port.offset;
      }
    }
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      const Port& port = part.outputs[i];
      outputs[i] = i < args.outputs.size() ? args.outputs[i] : nullptr;
      if (outputs[i] == nullptr) continue;
      outputs[i] = port.offset < 0 ? outputs[i] + port.byte(tile) : scratch + port.offset;
    }
    WideOutputs dynamic(args.dynamic, part.outputs, scratch);
    KernelArgs inner{{inputs, part.inputs.size()},
                     {outputs, part.outputs.size()},
                     args.scratch.subspan(static_cast<std::size_t>(part.own_scratch))};
    if (args.dynamic != nullptr) inner.dynamic = &dynamic;
    for (std::int64_t i = 0; i < part.kernel->tiles(); ++i)
      PX_RETURN_IF_ERROR(part.kernel->run_tile(i, inner));
    if (args.dynamic != nullptr) {
      dynamic.narrow_all();
      return {};
    }
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      const Port& port = part.outputs[i];
      if (port.offset >= 0 && outputs[i] != nullptr)
        narrow(port, port.first(tile), port.elements, scratch + port.offset, args.outputs[i]);
    }
    return {};
  }

 private:
  std::vector<Part> parts_;
  std::int64_t tiles_;
};

bool is_native(const TensorDesc& tensor) {
  return !tensor.present || contains(kNativeTypes, tensor.dtype);
}

/// Returns whether each output element depends only on the inputs' elements at its own position and
/// on inputs of one element.
bool cuts_into_tiles(const KernelRequest& request) {
  if (!op_def(request.node.op).elementwise) return false;
  const Dims& dims = request.outputs[0].dims;
  const auto fits = [&](const TensorDesc& tensor) {
    return !tensor.present || tensor.dims == dims || tensor.elements() == 1;
  };
  return dims.elements() > kChunk && std::ranges::all_of(request.inputs, fits) &&
         std::ranges::all_of(request.outputs, fits);
}

/// The request in native types, for `count` elements; count < 0: for all.
struct WideRequest {
  std::vector<TensorDesc> inputs, outputs;

  WideRequest(const KernelRequest& request, std::int64_t count, bool keep_sign) {
    for (const TensorDesc& tensor : request.inputs) inputs.push_back(tensor);
    for (const TensorDesc& tensor : request.outputs) outputs.push_back(tensor);
    for (std::vector<TensorDesc>* side : {&inputs, &outputs}) {
      for (TensorDesc& tensor : *side) {
        const bool moves = count >= 0 && tensor.dims == request.outputs[0].dims;
        if (moves || !is_native(tensor)) tensor.data = nullptr;
        if (count >= 0) tensor.dims = moves ? Dims{count} : Dims{};
        if (tensor.present) tensor.dtype = wide_type(tensor.dtype, keep_sign);
      }
    }
  }
};

/// Assigns offsets in scratch, one behind the other. bytes() is nullopt if the size exceeds 63
/// bits.
class Scratch {
 public:
  std::int64_t take(std::optional<std::int64_t> bytes) {
    const std::int64_t at = end_.value_or(0);
    const auto whole = bytes ? checked_align(*bytes, kAlignment) : std::nullopt;
    end_ = whole && end_ ? checked_add(*end_, *whole) : std::nullopt;
    return at;
  }
  std::optional<std::int64_t> bytes() const { return end_; }

 private:
  std::optional<std::int64_t> end_ = 0;
};

std::vector<Port> ports_of(std::span<const TensorDesc> narrow, std::span<const TensorDesc> wide,
                           const Dims* moving, std::int64_t room, Scratch& scratch) {
  std::vector<Port> ports;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    Port port;
    port.narrow = narrow[i].dtype;
    port.wide = wide[i].dtype;
    port.elements = room >= 0 ? room : wide[i].elements();
    port.moves = moving != nullptr && narrow[i].dims == *moving;
    if (!is_native(narrow[i])) port.offset = scratch.take(bytes_of(port.wide, port.elements));
    ports.push_back(port);
  }
  return ports;
}

/// Makes the part for `count` elements of a request, or for all of it if count < 0. It has no
/// kernel if `make` returns none.
Result<Part> make_part(const KernelRequest& request, std::int64_t count, bool keep_sign,
                       const MakeOfRows& make, MadeKernel& made) {
  const WideRequest wide(request, count, keep_sign);
  KernelRequest inner = {request.node,   wide.inputs,       wide.outputs,
                         request.packed, request.precision, request.machine};
  PX_ASSIGN(made, make(inner));
  Part part;
  if (made.kernel == nullptr) return part;
  const bool dynamic = made.kernel->dynamic_outputs();
  if (dynamic && request.outputs.size() > kMaxDynamic) return part;
  std::int64_t room = -1;
  if (dynamic)
    for (const TensorDesc& input : request.inputs) room = std::max(room, input.elements());
  Scratch scratch;
  const Dims* const moving = count >= 0 ? &request.outputs[0].dims : nullptr;
  scratch.take(static_cast<std::int64_t>((request.inputs.size() + request.outputs.size()) *
                                         sizeof(std::byte*)));
  part.inputs = ports_of(request.inputs, wide.inputs, moving, -1, scratch);
  part.outputs = ports_of(request.outputs, wide.outputs, moving, room, scratch);
  part.own_scratch = scratch.take(made.kernel->scratch_bytes());
  if (!scratch.bytes()) {
    return tl::unexpected(Error{Stage::kCompile, ErrorCode::kInvalidInput, request.node.name,
                                "tensors are too large to be widened"});
  }
  part.scratch_bytes = *scratch.bytes();
  part.kernel = std::move(made.kernel);
  return part;
}

Result<MadeKernel> make_wide(const KernelRequest& request, bool keep_sign, const MakeOfRows& make) {
  const bool cuts = cuts_into_tiles(request);
  const std::int64_t elements = cuts ? request.outputs[0].dims.elements() : 0;
  const std::int64_t tiles = tile_count(elements, kChunk);
  MadeKernel made;
  std::vector<Part> parts;
  PX_ASSIGN(parts.emplace_back(), make_part(request, cuts ? kChunk : -1, keep_sign, make, made));
  if (parts.back().kernel == nullptr) return MadeKernel{};
  if (!cuts) {
    const std::int64_t one = parts.back().kernel->tiles() == 0 ? 0 : 1;
    return MadeKernel{std::make_unique<WidenedKernel>(std::move(parts), one), made.row};
  }
  const std::int64_t rest = elements - (tiles - 1) * kChunk;
  PX_ASSIGN(parts.emplace_back(), make_part(request, rest, keep_sign, make, made));
  if (parts.back().kernel == nullptr) return MadeKernel{};
  return MadeKernel{std::make_unique<WidenedKernel>(std::move(parts), tiles), made.row};
}

}  // namespace

DType widened(DType dtype) {
  if (contains(kNativeTypes, dtype)) return dtype;
  const DTypeInfo& info = info_of(dtype);
  if (info.kind == DTypeClass::kFloat) return DType::kF32;
  if (info.bits < 8) return info.kind == DTypeClass::kSigned ? DType::kI8 : DType::kU8;
  return info.bits == 16 ? DType::kI32 : DType::kI64;
}

Result<MadeKernel> make_widened_kernel(const KernelRequest& request, const MakeOfRows& make) {
  if (std::ranges::all_of(request.inputs, is_native) &&
      std::ranges::all_of(request.outputs, is_native))
    return MadeKernel{};
  PX_ASSIGN(MadeKernel made, make_wide(request, false, make));
  if (made.kernel != nullptr) return made;
  return make_wide(request, true, make);
}

}  // namespace parallax
