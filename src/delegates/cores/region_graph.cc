#include "delegates/cores/region_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/c_types.h"
#include "base/status.h"
#include "ops/infer.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse_region(ErrorCode code, std::string message) {
  return tl::unexpected(Error{Stage::kCompile, code, {}, std::move(message)});
}

/// Returns a constant of the tensor's bytes, which may be at any address.
Result<Constant> constant_at(const px_tensor& tensor, bool copy) {
  PX_ASSIGN(const DType dtype, dtype_from(tensor.dtype));
  if (tensor.rank < 0 || tensor.rank > Dims::kMaxRank ||
      (tensor.rank > 0 && tensor.dims == nullptr))
    return refuse_region(ErrorCode::kInvalidInput, "a constant of no rank");
  const Dims dims(std::span(tensor.dims, static_cast<std::size_t>(tensor.rank)));
  const std::span bytes(static_cast<const std::byte*>(tensor.data), tensor.bytes);
  if (bytes_of(dtype, dims) != static_cast<std::int64_t>(bytes.size()))
    return refuse_region(ErrorCode::kInvalidInput, "a constant of other bytes than its dims say");
  if (copy) return make_constant(dtype, dims, bytes);
  return Constant{dtype, dims, bytes, std::make_shared<int>()};
}

Result<AttributeValue> value_of(const px_attribute& attribute) {
  const std::span integers(attribute.integers, attribute.integers == nullptr ? 0 : attribute.count);
  const std::span floats(attribute.floats, attribute.floats == nullptr ? 0 : attribute.count);
  switch (attribute.kind) {
    case PX_ATTRIBUTE_INT:
      if (!integers.empty()) return AttributeValue(integers[0]);
      break;
    case PX_ATTRIBUTE_FLOAT:
      if (!floats.empty()) return AttributeValue(floats[0]);
      break;
    case PX_ATTRIBUTE_STRING:
      if (attribute.text != nullptr) return AttributeValue(std::string(attribute.text));
      break;
    case PX_ATTRIBUTE_INTS:
      return AttributeValue(std::vector<std::int64_t>(integers.begin(), integers.end()));
    case PX_ATTRIBUTE_FLOATS:
      return AttributeValue(std::vector<float>(floats.begin(), floats.end()));
    case PX_ATTRIBUTE_TENSOR:
      if (attribute.tensor != nullptr) {
        PX_ASSIGN(Constant constant, constant_at(*attribute.tensor, true));
        return AttributeValue(std::move(constant));
      }
      break;
    default:
      break;
  }
  return refuse_region(ErrorCode::kUnsupported,
                       fmt::format("an attribute of kind {}", attribute.kind));
}

Result<RegionOutline::Step> step_of(const px_node& node) {
  RegionOutline::Step step;
  const auto op = op_from_string(node.op);
  if (!op) return refuse_region(ErrorCode::kUnsupported, fmt::format("no operator '{}'", node.op));
  step.op = *op;
  step.name = node.name;
  for (const px_attribute* const attribute : std::span(node.attributes, node.attribute_count)) {
    PX_ASSIGN(AttributeValue value, value_of(*attribute));
    step.attributes.set(attribute->name, std::move(value));
  }
  step.inputs.assign(node.inputs, node.inputs + node.input_count);
  step.outputs.assign(node.outputs, node.outputs + node.output_count);
  return step;
}

Status check_indices(const RegionOutline& outline) {
  const auto count = static_cast<std::int32_t>(outline.values.size());
  const auto in_range = [&](const std::vector<std::int32_t>& list) {
    return std::ranges::all_of(list, [&](std::int32_t i) { return i >= -1 && i < count; });
  };
  const bool right = in_range(outline.inputs) && in_range(outline.outputs) &&
                     std::ranges::all_of(outline.steps, [&](const RegionOutline::Step& step) {
                       return in_range(step.inputs) && in_range(step.outputs);
                     });
  if (right) return {};
  return refuse_region(ErrorCode::kInvalidInput, "an index that no value has");
}

Shape shape_of(const px_tensor& sizes) {
  Shape shape;
  for (const std::int64_t dim : std::span(sizes.dims, static_cast<std::size_t>(sizes.rank)))
    shape.emplace_back(dim);
  return shape;
}

std::vector<ValueId> ids_of(const std::vector<std::int32_t>& indices) {
  std::vector<ValueId> ids;
  for (const std::int32_t index : indices) ids.push_back(index < 0 ? ValueId{} : ValueId{index});
  return ids;
}

}  // namespace

Result<RegionOutline> outline_of(const px_region& region) {
  RegionOutline outline;
  for (const px_value* const value : std::span(region.values, region.value_count)) {
    RegionOutline::Given& given = outline.values.emplace_back();
    given.name = value->name;
    PX_ASSIGN(given.dtype, dtype_from(value->type->dtype));
    given.known_when_bound = value->known_when_bound != 0;
    if (value->constant == nullptr) continue;
    PX_ASSIGN(given.constant, constant_at(*value->constant, false));
  }
  for (const px_node* const node : std::span(region.nodes, region.node_count)) {
    PX_ASSIGN(auto step, step_of(*node));
    outline.steps.push_back(std::move(step));
  }
  outline.inputs.assign(region.inputs, region.inputs + region.input_count);
  outline.outputs.assign(region.outputs, region.outputs + region.output_count);
  PX_RETURN_IF_ERROR(check_indices(outline));
  return outline;
}

Result<Graph> graph_of(const RegionOutline& outline, const px_sizes& sizes) {
  Graph graph;
  graph.name = "region";
  if (sizes.value_count != outline.values.size())
    return refuse_region(ErrorCode::kInvalidInput, "sizes of another region");
  for (std::size_t i = 0; i < outline.values.size(); ++i) {
    const RegionOutline::Given& given = outline.values[i];
    Value value{given.name, ValueKind::kResult, given.dtype, shape_of(*sizes.values[i]), {}, {}, {},
                {}};
    value.constant = given.constant;
    if (given.known_when_bound && sizes.values[i]->data != nullptr) {
      PX_ASSIGN(value.constant, constant_at(*sizes.values[i], true));
    }
    if (value.constant) value.kind = ValueKind::kConstant;
    graph.values.push_back(std::move(value));
  }
  graph.inputs = ids_of(outline.inputs);
  graph.outputs = ids_of(outline.outputs);
  for (const ValueId input : graph.inputs) graph.values[input].kind = ValueKind::kInput;
  for (const RegionOutline::Step& step : outline.steps) {
    Node node;
    node.name = step.name;
    node.op = step.op;
    node.attributes = step.attributes;
    node.inputs = ids_of(step.inputs);
    node.outputs = ids_of(step.outputs);
    const NodeId id = graph.nodes.push_back(std::move(node));
    for (const ValueId output : graph.nodes[id].outputs)
      if (output.valid()) graph.values[output].producer = id;
  }
  PX_RETURN_IF_ERROR(verify(graph, Stage::kCompile));
  PX_RETURN_IF_ERROR(infer_graph(graph));
  for (const ValueId id : graph.values.ids())
    if (graph.values[id].shape != shape_of(*sizes.values[static_cast<std::size_t>(id.value)]))
      return refuse_region(ErrorCode::kInvalidInput,
                           fmt::format("'{}' has another shape", graph.values[id].name));
  return graph;
}

}  // namespace parallax
