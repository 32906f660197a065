// For tests of kernels: runs one node through one kernel library on small tensors. Output shapes
// come from ops/ exactly as the executor infers them while running. Not thread-safe.
//
//     KernelRun run{OpKind::kAdd,
//                   test_inputs(test_tensor<float>({2}, {1, 2}), test_tensor<float>({1}, {3}))};
//     const auto outputs = run_kernel(run, KernelLibrary::kReference);
//     EXPECT_EQ(test_values<float>(outputs->at(0)), (std::vector<float>{4, 5}));
#pragma once

#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/builder.h"
#include "kernels/registry.h"
#include "kernels/widened.h"
#include "ops/infer.h"

namespace parallax {

/// A tensor of the given row-major elements; there must be as many as `dims` say.
template <class T>
Tensor test_tensor(const Dims& dims, const std::vector<T>& elements) {
  Tensor tensor = std::move(Tensor::allocate(dtype_of<T>(), dims)).value();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T element = elements[i];
    std::memcpy(tensor.mutable_view().bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return tensor;
}

/// Elements of a tensor, row-major. REQUIRES: its dtype is that of T.
template <class T>
std::vector<T> test_values(const Tensor& tensor) {
  const T* data = tensor.view().as<T>();
  return std::vector<T>(data, data + tensor.dims().elements());
}

/// One input after the other, std::nullopt for those left out.
template <class... T>
std::vector<std::optional<Tensor>> test_inputs(T&&... tensors) {
  std::vector<std::optional<Tensor>> inputs;
  (inputs.emplace_back(std::forward<T>(tensors)), ...);
  return inputs;
}

inline Attributes test_attributes(
    std::initializer_list<std::pair<std::string, AttributeValue>> named) {
  Attributes attributes;
  for (const auto& [name, value] : named) attributes.set(name, value);
  return attributes;
}

/// One node and what it reads.
struct KernelRun {
  OpKind op = OpKind::kIdentity;
  std::vector<std::optional<Tensor>> inputs;
  Attributes attributes = {};
  int outputs = 1;
  /// Bit i: input i is a constant, known when the kernel is made, and unaligned as in a file.
  std::uint32_t constants = 0;
  Epilogue epilogue = {};
};

/// The epilogue that applies the operator of that name, Clip to [-1, 2]; none for "".
inline Epilogue then(std::string_view op) {
  if (op.empty()) return {};
  if (op == "Clip") return {{.op = OpKind::kClip, .low = -1, .high = 2}};
  if (op == "LeakyRelu") return {{.op = OpKind::kLeakyRelu, .alpha = 0.01F}};
  return {{.op = op_from_string(op).value()}};
}

/// Outputs of a node that ran, and the number of its tiles.
struct KernelOutcome {
  std::vector<Tensor> outputs;
  std::int64_t tiles = 0;
};

namespace test_detail {

class HeapOutputs final : public DynamicOutputs {
 public:
  HeapOutputs(std::vector<DType> dtypes, std::vector<Tensor>& tensors)
      : dtypes_(std::move(dtypes)), tensors_(tensors) {}
  Result<std::byte*> allocate(int output, const Dims& dims) override {
    const auto i = static_cast<std::size_t>(output);
    PX_ASSIGN(tensors_[i], Tensor::allocate(dtypes_[i], dims));
    return tensors_[i].mutable_view().bytes.data();
  }

 private:
  std::vector<DType> dtypes_;
  std::vector<Tensor>& tensors_;
};

/// The bytes of a tensor at an address that is a multiple of nothing.
struct Misaligned {
  std::unique_ptr<std::byte[]> memory;
  explicit Misaligned(std::span<const std::byte> bytes)
      : memory(std::make_unique<std::byte[]>(bytes.size() + 1)) {
    if (!bytes.empty()) std::memcpy(memory.get() + 1, bytes.data(), bytes.size());
  }
  const std::byte* data() const { return memory.get() + 1; }
};

/// Bytes at an address that is a multiple of the element size and of nothing more, as callers may
/// give for inputs and outputs.
struct AtElement {
  AlignedBytes memory;
  std::int64_t offset = 0, size = 0;
  std::byte* data() const { return memory.data() + offset; }
  static Result<AtElement> make(DType dtype, std::int64_t bytes) {
    PX_ASSIGN(AlignedBytes memory, AlignedBytes::allocate(bytes + size_of(dtype)));
    return AtElement{std::move(memory), size_of(dtype), bytes};
  }
  static Result<AtElement> copy(DType dtype, std::span<const std::byte> bytes) {
    PX_ASSIGN(AtElement result, make(dtype, static_cast<std::int64_t>(bytes.size())));
    if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
};

/// A graph of the one node, its inputs constants, inferred.
inline Result<Graph> one_node_graph(const KernelRun& run) {
  Graph graph;
  GraphBuilder builder(graph);
  std::vector<ValueId> ids;
  for (const auto& input : run.inputs) {
    const std::string name = "input_" + std::to_string(ids.size());
    ids.push_back(!input ? ValueId{}
                         : builder.constant(name, make_constant(input->dtype(), input->dims(),
                                                                input->view().bytes)));
  }
  const NodeId node = builder.node(run.op, ids, run.attributes, "node", run.outputs);
  graph.nodes[node].epilogue = run.epilogue;
  PX_RETURN_IF_ERROR(check_node(graph.nodes[node], NodeOrigin::kPass));
  LoadQuota quota;
  PX_RETURN_IF_ERROR(Inference(graph, quota).infer(node));
  return graph;
}

inline Result<MadeKernel> of_rows(const KernelRequest& request, KernelLibrary library) {
  for (const KernelRow& row : kernel_rows()) {
    if (!takes(row, request) || library_of(row) != library) continue;
    PX_ASSIGN(std::unique_ptr<Kernel> kernel, row.make(request));
    if (kernel != nullptr) return MadeKernel{std::move(kernel), &row};
  }
  return MadeKernel{};
}

inline Result<MadeKernel> made_of(const KernelRequest& request, KernelLibrary library) {
  const auto make = [&](const KernelRequest& of) { return of_rows(of, library); };
  PX_ASSIGN(MadeKernel made, make(request));
  if (made.kernel == nullptr) {
    PX_ASSIGN(made, make_widened_kernel(request, make));
  }
  if (made.kernel != nullptr) return made;
  return tl::unexpected(Error{Stage::kCompile, ErrorCode::kUnsupported, request.node.name,
                              "no kernel of the library takes the node"});
}
inline Result<std::unique_ptr<Kernel>> make_of(const KernelRequest& request,
                                               KernelLibrary library) {
  PX_ASSIGN(MadeKernel made, made_of(request, library));
  return std::move(made.kernel);
}

/// Inputs of a run as the kernel and shape inference receive them.
struct KernelInputs {
  std::vector<RuntimeInput> runtime;
  std::vector<TensorDesc> descs;
  std::vector<Misaligned> misaligned;
  std::vector<AtElement> places;
};

inline Result<KernelInputs> inputs_of(const KernelRun& run) {
  KernelInputs result;
  auto& [runtime, inputs, misaligned, places] = result;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const auto& input = run.inputs[i];
    misaligned.emplace_back(input ? input->view().bytes : std::span<const std::byte>());
    PX_ASSIGN(places.emplace_back(),
              AtElement::copy(input ? input->dtype() : DType::kF32,
                              input ? input->view().bytes : std::span<std::byte>()));
    runtime.push_back(
        !input ? RuntimeInput{}
               : RuntimeInput{true, input->dtype(), input->dims(), places.back().data()});
    const bool known = ((run.constants >> i) & 1U) != 0;
    inputs.push_back(!input ? TensorDesc{}
                            : TensorDesc{true, input->dtype(), input->dims(),
                                         known ? misaligned[i].data() : nullptr});
  }
  return result;
}

/// The bytes of each input as the kernel says that it reads them; null if it reads none.
inline std::vector<const std::byte*> read_by(const Kernel& kernel, const KernelInputs& given) {
  std::vector<const std::byte*> bytes;
  for (std::size_t i = 0; i < given.descs.size(); ++i) {
    const bool readable = given.descs[i].present && given.descs[i].elements() > 0;
    const InputUse use = kernel.input_use(i);
    bytes.push_back(!readable || use == InputUse::kNone ? nullptr
                    : use == InputUse::kBytes           ? given.misaligned[i].data()
                                                        : given.runtime[i].bytes);
  }
  return bytes;
}

/// Outputs as the kernel receives them: memory filled with garbage.
struct KernelOutputs {
  std::vector<Tensor> tensors;
  std::vector<TensorDesc> descs;
  std::vector<std::byte*> bytes;  ///< null where the kernel alone knows the size
  std::vector<DType> dtypes;
  std::vector<AtElement> places;
};

inline Result<KernelOutputs> outputs_of(const Graph& graph, const Node& node,
                                        std::span<const std::optional<Dims>> dims) {
  KernelOutputs result;
  auto& [tensors, descs, bytes, dtypes, places] = result;
  tensors.resize(node.outputs.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    dtypes.push_back(graph.values[node.outputs[i]].dtype);
    descs.push_back({true, dtypes[i], dims[i].value_or(Dims{}), nullptr});
    bytes.push_back(nullptr);
    if (!dims[i]) continue;
    PX_ASSIGN(tensors[i], Tensor::allocate(dtypes[i], *dims[i]));
    const auto size = tensors[i].mutable_view().bytes.size();
    PX_ASSIGN(places.emplace_back(), AtElement::make(dtypes[i], static_cast<std::int64_t>(size)));
    if (size > 0) std::memset(places.back().data(), 0xA5, size);
    bytes[i] = places.back().data();
  }
  return result;
}

/// Checks that output 0 has the same elements when it shares the memory of an input that it may
/// overwrite.
template <class RunTiles>
Status check_in_place(const Node& node, std::span<const TensorDesc> inputs,
                      const TensorDesc& output, std::span<const std::byte> expected,
                      std::span<const std::byte*> input_bytes, std::byte*& output_bytes,
                      const Kernel& kernel, const RunTiles& run_tiles) {
  for (std::size_t i = 0; i < inputs.size() && !expected.empty(); ++i) {
    const bool like = kernel.overwrites(i) && inputs[i].present && inputs[i].dims == output.dims &&
                      size_of(inputs[i].dtype) == size_of(output.dtype);
    if (!like || inputs[i].data != nullptr || input_bytes[i] == nullptr) continue;
    PX_ASSIGN(const AlignedBytes place, AlignedBytes::allocate(inputs[i].bytes()));
    std::memcpy(place.data(), input_bytes[i], expected.size());
    const std::byte* const before = std::exchange(input_bytes[i], place.data());
    std::byte* const elsewhere = std::exchange(output_bytes, place.data());
    PX_RETURN_IF_ERROR(run_tiles());
    input_bytes[i] = before;
    output_bytes = elsewhere;
    if (std::memcmp(place.data(), expected.data(), expected.size()) != 0) {
      return tl::unexpected(Error{Stage::kRun, ErrorCode::kInternal, node.name,
                                  "other bits over input " + std::to_string(i)});
    }
  }
  return {};
}

}  // namespace test_detail

/// Makes a kernel of a node; a null pointer if it does not take it.
using KernelMaker = std::function<Result<std::unique_ptr<Kernel>>(const KernelRequest&)>;

/// Bytes behind a tile's scratch that it must leave as they are.
inline constexpr std::int64_t kPastScratch = 8192;

/// Infers the output shapes, makes the kernel and runs all its tiles, last one first, over outputs
/// and scratch filled with garbage; then, where `in_place` is true by then, over each input that it
/// may be. Errors: kInternal where that gives other bits, or a tile writes past its scratch; of
/// inference or the kernel;
/// kUnsupported where `make` does not take the node.
inline Result<KernelOutcome> run_kernel_tiles(const KernelRun& run, const KernelMaker& make,
                                              const bool& in_place = false) {
  PX_ASSIGN(const Graph graph, test_detail::one_node_graph(run));
  const Node& node = graph.nodes[NodeId{0}];
  PX_ASSIGN(const test_detail::KernelInputs given, test_detail::inputs_of(run));
  PX_ASSIGN(const std::vector<std::optional<Dims>> dims, infer_runtime(node, given.runtime));

  PX_ASSIGN(test_detail::KernelOutputs made, test_detail::outputs_of(graph, node, dims));
  const std::vector<TensorDesc>& outputs = made.descs;
  std::vector<std::byte*>& output_bytes = made.bytes;
  KernelOutcome outcome;
  outcome.outputs = std::move(made.tensors);

  // Packed late, as models are: nothing that packing reads may be gone by then.
  PackedWeights blocks;
  PackingList packings;
  PackedWeights packed(blocks, packings);
  PX_ASSIGN(const std::unique_ptr<Kernel> kernel, make({node, given.descs, outputs, packed}));
  PX_RETURN_IF_ERROR(blocks.allocate(packings));
  PX_RETURN_IF_ERROR(blocks.fill(packings));
  if (kernel == nullptr) {
    return tl::unexpected(
        Error{Stage::kCompile, ErrorCode::kUnsupported, node.name, "the node is not taken"});
  }
  std::vector<const std::byte*> input_bytes = test_detail::read_by(*kernel, given);
  const std::int64_t scratch_bytes = kernel->scratch_bytes();
  PX_ASSIGN(const AlignedBytes scratch, AlignedBytes::allocate(scratch_bytes + kPastScratch));
  test_detail::HeapOutputs dynamic(made.dtypes, outcome.outputs);
  outcome.tiles = kernel->tiles();
  const auto run_tiles = [&]() -> Status {
    for (std::int64_t tile = outcome.tiles - 1; tile >= 0; --tile) {
      std::memset(scratch.data(), 0xA5, static_cast<std::size_t>(scratch.size()));
      const KernelArgs args{input_bytes,
                            output_bytes,
                            {scratch.data(), static_cast<std::size_t>(scratch_bytes)},
                            kernel->dynamic_outputs() ? &dynamic : nullptr};
      PX_RETURN_IF_ERROR(kernel->run_tile(tile, args));
      if (!std::all_of(scratch.data() + scratch_bytes, scratch.data() + scratch.size(),
                       [](std::byte byte) { return byte == std::byte{0xA5}; }))
        return tl::unexpected(
            Error{Stage::kRun, ErrorCode::kInternal, node.name, "a tile writes past its scratch"});
    }
    return {};
  };
  PX_RETURN_IF_ERROR(run_tiles());
  for (std::size_t i = 0; i < output_bytes.size(); ++i) {
    const auto bytes = outcome.outputs[i].mutable_view().bytes;
    if (dims[i] && !bytes.empty()) std::memcpy(bytes.data(), output_bytes[i], bytes.size());
  }
  if (in_place) {
    PX_RETURN_IF_ERROR(test_detail::check_in_place(node, given.descs, outputs[0],
                                                   outcome.outputs[0].view().bytes, input_bytes,
                                                   output_bytes[0], *kernel, run_tiles));
  }
  return outcome;
}

/// The same with the first kernel of `library` that takes the node.
inline Result<KernelOutcome> run_kernel_tiles(const KernelRun& run, KernelLibrary library) {
  bool in_place = false;
  const auto make = [&](const KernelRequest& request) -> Result<std::unique_ptr<Kernel>> {
    PX_ASSIGN(MadeKernel made, test_detail::made_of(request, library));
    in_place = made.row->in_place;
    return std::move(made.kernel);
  };
  return run_kernel_tiles(run, make, in_place);
}

/// The outputs of run_kernel_tiles.
inline Result<std::vector<Tensor>> run_kernel(const KernelRun& run, KernelLibrary library) {
  PX_ASSIGN(KernelOutcome outcome, run_kernel_tiles(run, library));
  return std::move(outcome.outputs);
}

}  // namespace parallax
