// Nodes that read or make objects. The memory of an object value holds an Object; its lifetime and
// its last reader are found as for tensors whose sizes only a run determines.
#include <cstring>
#include <utility>

#include "base/status.h"
#include "run/run.h"

namespace parallax {

/// Returns a value as an object; a tensor becomes a view of its bytes.
Result<Object> Run::object_of(ValueId id) const {
  const Value& value = graph().values[id];
  const std::byte* bytes = bytes_of(id);
  if (is_object(value)) return *reinterpret_cast<const Object*>(bytes);
  const Dims& dims = dims_of(id);
  if (const Constant* const constant = constant_of(compiled_, id)) {
    PX_ASSIGN(bytes, compiled_.context->constants.aligned(*constant));
  }
  const auto size = static_cast<std::size_t>(parallax::bytes_of(value.dtype, dims).value_or(0));
  return Object::view({value.dtype, dims, {bytes, size}});
}

void Run::know_object(ValueId id) {
  run_time_dims_[id] = reinterpret_cast<const Object*>(bytes_[id])->dims();
}

Status Run::store_object(NodeId node, ValueId id, Object object) {
  const Value& value = graph().values[id];
  const Dims dims = object.dims();
  PX_ASSIGN(std::byte* const place, make_output(node, id, dims));
  if (is_object(value)) {
    *reinterpret_cast<Object*>(place) = std::move(object);
    return {};
  }
  const TensorView tensor = object.tensor_view();
  const auto size = static_cast<std::size_t>(parallax::bytes_of(value.dtype, dims).value_or(0));
  if (object.type() != ObjectType::kTensor || tensor.dtype != value.dtype ||
      tensor.bytes.size() != size)
    return tl::unexpected(
        Error{Stage::kRun, ErrorCode::kInvalidInput, {}, "gives another type than the model says"});
  if (size > 0) std::memcpy(place, tensor.bytes.data(), size);
  return {};
}

Status Run::run_objects(NodeId id, Participant& self, Buffers& buffers) {
  const Node& node = graph().nodes[id];
  const ObjectKernel kernel = object_kernel(node.op);
  if (kernel == nullptr)
    return tl::unexpected(Error{Stage::kRun, ErrorCode::kUnsupported, node.name,
                                std::string(to_string(node.op)) + ": no kernel for objects"});
  const std::int64_t start = options_.trace == nullptr ? 0 : now();
  std::vector<Object> outputs(node.outputs.size());
  {
    std::vector<std::optional<Object>> inputs(node.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      PX_ASSIGN(inputs[i], object_of(node.inputs[i]));
    }
    std::vector<DType> types;
    for (const ValueId output : node.outputs)
      types.push_back(output.valid() ? graph().values[output].dtype : DType::kF32);
    PX_RETURN_IF_ERROR(kernel({node, inputs, types, *account_, outputs}));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (node.outputs[i].valid())
      PX_RETURN_IF_ERROR(store_object(id, node.outputs[i], std::move(outputs[i])));
  if (options_.trace != nullptr)
    buffers.events.push_back({id, nullptr, start, now(), self.index(), 1});
  release_unread_outputs(node);
  return {};
}

}  // namespace parallax
