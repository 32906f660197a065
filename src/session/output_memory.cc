#include "session/output_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "base/user_call.h"

namespace parallax {
namespace {

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && std::less<>{}(a.data(), b.data() + b.size()) &&
         std::less<>{}(b.data(), a.data() + a.size());
}

const std::string& name_of(const Graph& graph, std::size_t output) {
  return graph.values[graph.outputs[output]].name;
}

/// Refuses memory for an output that is null or not aligned.
Status check_memory(std::string_view name, const MutableTensorView& view) {
  if (!view.bytes.empty() && view.bytes.data() == nullptr) {
    return refuse(
        ErrorCode::kInvalidInput,
        fmt::format("output '{}' is given {} bytes without memory", name, view.bytes.size()));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(view.bytes.data());
  if (address % static_cast<std::uintptr_t>(alignment_of(view.dtype)) == 0) return {};
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("the memory for output '{}' is not aligned to its element size", name));
}

/// Returns whether a tensor of `object`, or of its elements, has a byte of `bytes`.
bool overlap(std::span<const std::byte> bytes, const Object& object) {
  return overlap(bytes, object.tensor_view().bytes) ||
         std::ranges::any_of(object.elements(),
                             [bytes](const Object& each) { return overlap(bytes, each); });
}

bool overlaps_input(const MutableTensorView& view, std::span<const NamedInput> inputs) {
  return std::ranges::any_of(inputs, [&](const NamedInput& input) {
    return overlap(view.bytes, input.tensor.bytes) || overlap(view.bytes, input.object);
  });
}

tl::unexpected<Error> shared_memory(std::string_view name) {
  return refuse(ErrorCode::kInvalidInput,
                fmt::format("output '{}' overlaps an input or another output", name));
}

}  // namespace

Status check_outputs(const Graph& graph, std::span<const NamedInput> inputs,
                     std::span<const MutableTensorView> outputs) {
  if (outputs.size() != graph.outputs.size()) {
    return refuse(ErrorCode::kInvalidInput, fmt::format("the model has {} outputs, {} are given",
                                                        graph.outputs.size(), outputs.size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PX_RETURN_IF_ERROR(check_memory(name_of(graph, i), outputs[i]));
    const bool shared = overlaps_input(outputs[i], inputs) ||
                        std::ranges::any_of(outputs.first(i), [&](const MutableTensorView& other) {
                          return overlap(outputs[i].bytes, other.bytes);
                        });
    if (shared) return shared_memory(name_of(graph, i));
  }
  return {};
}

Result<std::byte*> bytes_of_view(const Graph& graph, int output, const MutableTensorView& view,
                                 DType dtype, const Dims& dims) {
  const auto bytes = static_cast<std::uint64_t>(bytes_of(dtype, dims).value_or(0));
  if (view.dtype == dtype && view.dims == dims && view.bytes.size() == bytes)
    return view.bytes.data();
  return refuse(
      ErrorCode::kInvalidInput,
      fmt::format("output '{}' is {} {}, the memory given is {} {} in {} bytes, dense it has {}",
                  name_of(graph, static_cast<std::size_t>(output)), to_string(dtype),
                  dims.to_string(), to_string(view.dtype), view.dims.to_string(), view.bytes.size(),
                  bytes));
}

Result<std::byte*> AllocatedOutputs::place(int output, DType dtype, const Dims& dims) {
  const auto index = static_cast<std::size_t>(output);
  Output& mine = outputs_[index];
  if (mine.placed && mine.view.dtype == dtype && mine.view.dims == dims)
    return mine.view.bytes.data();
  mine = {};
  MutableTensorView view{dtype, dims, {}};
  try {
    PX_ASSIGN(view.bytes, allocate_(output, dtype, dims));
  } catch (...) {
    Error error = caught(Stage::kSession);
    error.message =
        fmt::format("the allocator of output '{}': {}", name_of(graph_, index), error.message);
    return tl::unexpected(std::move(error));
  }
  PX_RETURN_IF_ERROR(bytes_of_view(graph_, output, view, dtype, dims));
  PX_RETURN_IF_ERROR(check_memory(name_of(graph_, index), view));
  const bool shared =
      overlaps_input(view, inputs_) || std::ranges::any_of(outputs_, [&](const Output& other) {
        return other.placed && overlap(view.bytes, other.view.bytes);
      });
  if (shared) return shared_memory(name_of(graph_, index));
  mine = {true, view};
  return view.bytes.data();
}

}  // namespace parallax
