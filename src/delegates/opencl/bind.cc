// Implements Region::bind: turns a region and sizes into launches and memory.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/status.h"
#include "delegates/opencl/emit/emitters.h"
#include "delegates/opencl/half.h"
#include "delegates/opencl/operators.h"
#include "delegates/opencl/region.h"
#include "kernels/reference/index_space.h"
#include "memory/memory.h"
#include "ops/op.h"

namespace parallax::opencl {
namespace {

/// Search steps of the memory planner: tens of milliseconds at most, as bindings are made while
/// somebody waits.
constexpr std::int64_t kBindEffort = 100'000;

/// Numbers as in DEFINE_ACTIVATE of kernels/common.cl.
ActivationArgument activation_argument(const Activation& a) {
  const auto number = [&]() -> std::int32_t {
    switch (a.op) {
      case OpKind::kRelu:
        return 1;
      case OpKind::kSigmoid:
        return 2;
      case OpKind::kSilu:
        return 3;
      case OpKind::kTanh:
        return 4;
      case OpKind::kGelu:
        return 5;
      case OpKind::kHardSwish:
        return 6;
      case OpKind::kClip:
        return 7;
      default:
        return 0;
    }
  };
  return {number(), a.alpha, a.low, a.high};
}

}  // namespace

class Binder final : public StepMemory {
 public:
  Binder(std::shared_ptr<const Region> region, std::span<const TensorDesc> values)
      : region_(*region),
        graph_(region->graph_),
        values_(values.begin(), values.end()),
        binding_(new Binding(std::move(region))),
        place_(graph_.values.size(), -1),
        root_(graph_.values.size()),
        arena_of_(graph_.values.size(), -1) {}

  Result<std::shared_ptr<Binding>> make() {
    PX_RETURN_IF_ERROR(take_sizes());
    find_roots();
    place_boundary();
    place_inside();
    for (const auto& [value, place] : narrowed_)
      PX_RETURN_IF_ERROR(emit_conversion(KernelId::narrow, desc_of(value).elements(), {place, 0, 4},
                                         argument_of(operand(value))));
    for (std::size_t i = 0; i < region_.steps_.size(); ++i) {
      now_ = static_cast<std::int32_t>(i);
      PX_RETURN_IF_ERROR(emit(region_.steps_[i], region_.chains_[i]));
    }
    now_ = static_cast<std::int32_t>(region_.steps_.size());
    PX_RETURN_IF_ERROR(emit_copies());
    PX_RETURN_IF_ERROR(allocate());
    return binding_;
  }

  std::int32_t table(std::span<const std::byte> bytes) override {
    const auto offset = static_cast<std::int64_t>(table_.size());
    table_.insert(table_.end(), bytes.begin(), bytes.end());
    table_.resize((table_.size() + 63) / 64 * 64);
    const std::int32_t place = add_place({Binding::PlaceKind::kBuffer, 0, nullptr, offset});
    tables_.push_back(place);
    return place;
  }
  std::int32_t scratch(std::int64_t bytes) override {
    const std::int32_t place = add_place({Binding::PlaceKind::kBuffer, 0, nullptr, 0});
    add_buffer(bytes, place);
    return place;
  }
  std::int32_t fault() override {
    if (fault_ < 0) fault_ = add_place({Binding::PlaceKind::kBuffer, 0, nullptr, 0});
    return fault_;
  }

 private:
  using Place = Binding::Place;
  using PlaceKind = Binding::PlaceKind;

  std::int32_t add_place(const Place& place) {
    binding_->places_.push_back(place);
    return static_cast<std::int32_t>(binding_->places_.size() - 1);
  }
  /// Memory of the arena from now on, for `place`; its index among the buffers.
  std::int32_t add_buffer(std::int64_t bytes, std::int32_t place) {
    problem_.buffers.push_back({bytes, {BranchId{0}, now_}, {}, {}});
    arena_places_.push_back(place);
    return static_cast<std::int32_t>(problem_.buffers.size() - 1);
  }

  Status take_sizes() {
    if (values_.size() != region_.value_count()) return bad_step("sizes of another region");
    for (const ValueId like : region_.like_) values_.push_back(desc_of(like));
    for (TensorDesc& desc : values_)
      if (region_.half_ && desc.dtype == DType::kF32) desc.dtype = DType::kF16;
    for (const ValueId id : graph_.values.ids()) {
      const TensorDesc& desc = values_[static_cast<std::size_t>(id.value)];
      const auto elements = desc.dims.checked_elements();
      if (elements && *elements <= kMaxElements) continue;
      return tl::unexpected(
          Error{Stage::kCompile,
                ErrorCode::kUnsupported,
                {},
                fmt::format("'{}' has {} elements, kernels count to {}", graph_.values[id].name,
                            desc.dims.to_string(), kMaxElements)});
    }
    return {};
  }

  /// Finds for each value the one whose bytes it shares.
  void find_roots() {
    for (const ValueId id : graph_.values.ids()) root_[id] = id;
    for (const Step& step : region_.steps_) {
      if (step.kind == StepKind::kView)
        root_[step.result] = root_[graph_.nodes[step.node].inputs[0]];
    }
  }

  void place_boundary() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const ValueId input = graph_.inputs[i];
      const std::int32_t place = add_place({PlaceKind::kInput, i, nullptr, 0});
      if (is_half(input)) {
        place_in_arena(input);
        narrowed_.emplace_back(input, place);
      } else {
        place_[input] = place;
      }
    }
    for (const ValueId id : graph_.values.ids()) {
      const ConstantPlace& constant = region_.constants_[id];
      if (constant.buffer != nullptr)
        place_[id] = add_place({PlaceKind::kBuffer, 0, constant.buffer, 0});
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const std::int32_t place = add_place({PlaceKind::kOutput, i, nullptr, 0});
      const ValueId root = root_[graph_.outputs[i]];
      if (place_[root] < 0 && graph_.values[root].kind == ValueKind::kResult && !is_half(root)) {
        place_[root] = place;
      } else {
        copies_.emplace_back(graph_.outputs[i], place);
      }
    }
  }

  /// Memory of what steps make for other steps, and how long it is read.
  void place_inside() {
    for (std::size_t i = 0; i < region_.steps_.size(); ++i) {
      const Step& step = region_.steps_[i];
      now_ = static_cast<std::int32_t>(i);
      for (const ValueId value : step.reads) note_read(value);
      if (step.kind == StepKind::kView) continue;
      for (const ValueId value : step.makes) {
        if (place_[value] < 0) place_in_arena(value);
      }
    }
    now_ = static_cast<std::int32_t>(region_.steps_.size());
    for (const auto& [value, place] : copies_) note_read(value);
  }
  void place_in_arena(ValueId value) {
    place_[value] = add_place({PlaceKind::kBuffer, 0, nullptr, 0});
    arena_of_[value] = add_buffer(desc_of(value).bytes(), place_[value]);
  }
  /// Floats that have 16 bits inside the region, but 32 as inputs or outputs of a run.
  bool is_half(ValueId value) const { return desc_of(value).dtype == DType::kF16; }
  void note_read(ValueId value) {
    const std::int32_t buffer = arena_of_[root_[value]];
    if (buffer >= 0)
      problem_.buffers[static_cast<std::size_t>(buffer)].reads.push_back({BranchId{0}, now_});
  }

  const TensorDesc& desc_of(ValueId value) const {
    return values_[static_cast<std::size_t>(value.value)];
  }
  Operand operand(ValueId value) {
    if (!value.valid()) return {};
    const ValueId root = root_[value];
    Operand result{desc_of(value), place_[root], region_.constants_[root].first};
    // The elements of a shape, which a node computes with.
    if (result.place < 0 && result.desc.data != nullptr && result.desc.bytes() > 0) {
      const bool half = is_half(value);
      const std::span known(result.desc.data,
                            static_cast<std::size_t>(result.desc.bytes()) * (half ? 2 : 1));
      result.place = place_[root] = half ? table(halves_of(known)) : table(known);
    }
    return result;
  }

  Status emit(const Step& step, const KernelSpec& chain) {
    if (step.kind == StepKind::kView) {
      if (desc_of(step.result).bytes() == desc_of(graph_.nodes[step.node].inputs[0]).bytes())
        return {};
      return bad_step("a view of another size");
    }
    if (step.kind == StepKind::kChain) {
      std::vector<Operand> operands;
      for (const ValueId value : step.chain.operands) operands.push_back(operand(value));
      Launch launch = chain_launch(chain, operands, operand(step.result));
      return launch.groups[0] == 0 ? Status{} : add_launch(std::move(launch));
    }
    return emit_node(step);
  }

  Status emit_node(const Step& step) {
    const Node& node = graph_.nodes[step.node];
    binding_->marks_.push_back(node.name);
    Emission emission{node,
                      {},
                      {},
                      {},
                      *this,
                      region_.specs_,
                      region_.local_memory_,
                      region_.half_,
                      static_cast<std::int32_t>(binding_->marks_.size())};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const bool parameter = input.valid() && op_def(node.op).decides_shape(i);
      emission.inputs.push_back(parameter ? Operand{desc_of(input), -1} : operand(input));
    }
    for (const ValueId output : node.outputs) emission.outputs.push_back(operand(output));
    emission.outputs[0] = operand(step.result);
    emission.finish = {step.scale, operand(step.added), activation_argument(step.activation)};
    if (auto emitted = operator_row(node.op)->emit(emission); !emitted) {
      Error error = emitted.error();
      error.node = node.name;
      return tl::unexpected(std::move(error));
    }
    for (Launch& launch : emission.launches) PX_RETURN_IF_ERROR(add_launch(std::move(launch)));
    return {};
  }

  Status emit_conversion(KernelId kernel, std::int64_t count, TensorArgument from,
                         TensorArgument to) {
    if (count == 0) return {};
    return add_launch({&region_.specs_[kernel],
                       {groups_of(count), 1, 1},
                       {static_cast<std::int32_t>(count), from, to}});
  }

  Status emit_copies() {
    for (const auto& [value, place] : copies_) {
      const Operand from = operand(value);
      if (is_half(value)) {
        PX_RETURN_IF_ERROR(emit_conversion(KernelId::widen, from.desc.elements(), argument_of(from),
                                           {place, 0, 4}));
        continue;
      }
      const Node none;
      Emission emission{none, {from}, {Operand{from.desc, place}}, {}, *this, region_.specs_};
      PX_RETURN_IF_ERROR(emit_view(emission));
      for (Launch& launch : emission.launches) PX_RETURN_IF_ERROR(add_launch(std::move(launch)));
    }
    return {};
  }

  /// Adds a launch, in parts if the device does not support the whole grid.
  Status add_launch(Launch launch) {
    const auto found = region_.kernels_.find(launch.kernel->name);
    if (found == region_.kernels_.end() || !fits(launch)) {
      return tl::unexpected(
          Error{Stage::kCompile,
                ErrorCode::kInternal,
                {},
                fmt::format("kernel {} is not ready for this", launch.kernel->name)});
    }
    const std::array<std::size_t, 3> whole = launch.groups;
    const std::size_t most = region_.most_groups_;
    for (std::size_t z = 0; z < whole[2]; z += most) {
      for (std::size_t y = 0; y < whole[1]; y += most) {
        launch.groups = {whole[0], std::min(most, whole[1] - y), std::min(most, whole[2] - z)};
        binding_->launches_.push_back({launch, found->second.kernel.get(), {0, y, z}});
      }
    }
    return {};
  }

  Status allocate() {
    ClContext& context = *region_.context_;
    if (!table_.empty()) {
      PX_ASSIGN(OwnedBuffer tables,
                context.buffer(static_cast<std::int64_t>(table_.size()), table_.data()));
      for (const std::int32_t place : tables_) place_at(place).buffer = tables.get();
      keep(std::move(tables), static_cast<std::int64_t>(table_.size()));
    }
    if (fault_ >= 0) {
      PX_ASSIGN(binding_->fault_, context.buffer(sizeof(cl_int)));
      place_at(fault_).buffer = binding_->fault_.get();
    }
    return region_.separate_buffers_ ? allocate_each() : allocate_arena();
  }
  Status allocate_arena() {
    if (problem_.buffers.empty()) return {};
    problem_.branch_length.push_back(static_cast<std::int32_t>(region_.steps_.size() + 1));
    const Offsets offsets = plan_steps(problem_, {{BranchId{0}}}, kBindEffort);
    if (offsets.bytes == kTooManyBytes)
      return tl::unexpected(
          Error{Stage::kCompile, ErrorCode::kOutOfMemory, {}, "tensors exceed 63 bits"});
    PX_ASSIGN(OwnedBuffer arena, region_.context_->buffer(offsets.bytes));
    for (std::size_t i = 0; i < arena_places_.size(); ++i) {
      place_at(arena_places_[i]).buffer = arena.get();
      place_at(arena_places_[i]).offset = offsets.offset[i];
    }
    keep(std::move(arena), offsets.bytes);
    return {};
  }
  Status allocate_each() {
    for (std::size_t i = 0; i < arena_places_.size(); ++i) {
      PX_ASSIGN(OwnedBuffer buffer, region_.context_->buffer(problem_.buffers[i].bytes));
      place_at(arena_places_[i]).buffer = buffer.get();
      keep(std::move(buffer), problem_.buffers[i].bytes);
    }
    return {};
  }
  void keep(OwnedBuffer buffer, std::int64_t bytes) {
    binding_->memory_.push_back(std::move(buffer));
    binding_->memory_bytes_ += bytes;
  }
  Place& place_at(std::int32_t place) { return binding_->places_[static_cast<std::size_t>(place)]; }

  const Region& region_;
  const Graph& graph_;
  std::vector<TensorDesc> values_;
  std::shared_ptr<Binding> binding_;
  IdVector<ValueId, std::int32_t> place_;                   ///< index in the binding's places; -1:
                                                            ///< no place
  IdVector<ValueId, ValueId> root_;                         ///< the value whose bytes it has
  IdVector<ValueId, std::int32_t> arena_of_;                ///< its buffer in the arena; -1: it has
                                                            ///< no buffer
  std::vector<std::pair<ValueId, std::int32_t>> copies_;    ///< to outputs, at the end
  std::vector<std::pair<ValueId, std::int32_t>> narrowed_;  ///< from inputs, at the beginning
  MemoryProblem problem_;
  std::vector<std::int32_t> arena_places_;  ///< place of each buffer
  std::vector<std::byte> table_;
  std::vector<std::int32_t> tables_;  ///< places in it
  std::int32_t fault_ = -1;
  std::int32_t now_ = 0;  ///< the step
};

Result<std::shared_ptr<Binding>> Region::bind(const std::shared_ptr<const Region>& region,
                                              std::span<const TensorDesc> values) {
  return Binder(region, values).make();
}

}  // namespace parallax::opencl
