#include "delegate_host/c_region.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/status.h"
#include "ops/deferred.h"

namespace parallax {
namespace {

/// Returns the type of a value, without a name. `symbols`: names, filled in when first needed.
TensorInfo type_of(const Graph& graph, ValueId id, std::vector<std::string>& symbols) {
  const Value& value = graph.values[id];
  TensorInfo info{{}, value.dtype, {}};
  for (const Expr& expr : value.shape) {
    const auto fixed = expr.constant();
    if (!fixed && symbols.empty()) symbols = graph.symbol_names();
    info.shape.push_back(fixed ? Dimension{*fixed, {}} : Dimension{-1, expr.to_string(symbols)});
  }
  return info;
}

/// Includes the length: text that follows cannot be taken for a part of it.
std::string key_of(const std::string& text) { return fmt::format("{}:{}", text.size(), text); }

/// Identifies a constant by the address of its bytes, which the region keeps alive.
std::string key_of(const Constant& constant) {
  return fmt::format("{} {} {}", static_cast<int>(constant.dtype),
                     fmt::join(constant.dims.begin(), constant.dims.end(), ","),
                     static_cast<const void*>(constant.bytes.data()));
}

std::string key_of(const TensorInfo& type) {
  std::string key = std::to_string(static_cast<int>(type.dtype));
  for (const Dimension& dim : type.shape)
    key += dim.value >= 0 ? fmt::format(" {}", dim.value) : " " + key_of(dim.symbol);
  return key;
}

std::string key_of(const AttributeValue& value) {
  std::string key = std::to_string(value.index());
  if (const auto* integer = std::get_if<std::int64_t>(&value)) key += fmt::format(" {}", *integer);
  if (const auto* number = std::get_if<float>(&value)) key += fmt::format(" {}", *number);
  if (const auto* text = std::get_if<std::string>(&value)) key += " " + key_of(*text);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    key += fmt::format(" {}", fmt::join(*list, ","));
  if (const auto* list = std::get_if<std::vector<float>>(&value))
    key += fmt::format(" {}", fmt::join(*list, ","));
  if (const auto* constant = std::get_if<Constant>(&value)) key += " " + key_of(*constant);
  if (const auto* list = std::get_if<std::vector<std::string>>(&value))
    for (const std::string& text : *list) key += " " + key_of(text);
  return key;
}

bool in_region(const Compiled& compiled, NodeId node, BranchId branch) {
  return node.valid() && compiled.context->branches.branch_of[node] == branch;
}

/// Returns whether a run provides or makes the elements: they follow from nothing else.
bool is_given_by_runs(const Value& value) {
  return value.kind == ValueKind::kResult || value.kind == ValueKind::kInput;
}

BranchId branch_of(const Compiled& compiled, RegionId region) {
  const auto& regions = compiled.context->branches.region;
  for (const BranchId branch : regions.ids())
    if (regions[branch] == region) return branch;
  return {};
}

}  // namespace

Result<std::shared_ptr<const CRegion>> CRegion::make(const Compiled& compiled, RegionId region) {
  const BranchId branch = branch_of(compiled, region);
  if (!branch.valid())
    return tl::unexpected(Error{Stage::kCompile, ErrorCode::kInternal, {}, "no such region"});
  const std::vector<NodeId>& nodes = compiled.context->branches.branches[branch];
  const Graph& graph = compiled.graph();
  const std::shared_ptr<CRegion> result(new CRegion);
  result->computes_ = true;
  result->key_ = key_of(compiled.context->delegation.body) + "\n";  // names are a body's own
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.nodes[id].inputs) {
      const bool constant = input.valid() && graph.values[input].constant.has_value();
      if (constant) PX_RETURN_IF_ERROR(compute_for_good(*graph.values[input].constant));
    }
    result->add_node(graph, graph.nodes[id]);
  }
  result->find_boundary(compiled, nodes);
  result->finish(graph.nodes[nodes.front()].name);
  return result;
}

std::shared_ptr<const CRegion> CRegion::of_node(const Graph& graph, NodeId id) {
  const std::shared_ptr<CRegion> result(new CRegion);
  result->add_node(graph, graph.nodes[id]);
  for (const ValueId value : result->values) {
    const bool made = graph.values[value].producer == id;
    if (!made && !is_given_by_runs(graph.values[value])) continue;
    (made ? result->outputs : result->inputs).push_back(value);
    (made ? result->output_list_ : result->input_list_).push_back(result->index_.at(value));
  }
  result->finish(graph.nodes[id].name);
  return result;
}

std::int32_t CRegion::index_of(const Graph& graph, ValueId id) {
  if (!id.valid()) return -1;
  const auto [found, is_new] = index_.emplace(id, static_cast<std::int32_t>(values.size()));
  const std::int32_t index = found->second;
  if (!is_new) return index;
  const Value& value = graph.values[id];
  values.push_back(id);
  const TensorInfo info = type_of(graph, id, symbols_);
  const CType& type = types_.emplace_back(info);
  px_value given{};
  given.size = sizeof given;
  given.name = names_.emplace_back(value.name).c_str();
  given.type = &type.get();
  given.constant = value.constant ? tensor(*value.constant) : nullptr;
  given.known_when_bound = value.kind == ValueKind::kSymbolic ? 1 : 0;
  key_ += fmt::format("{} {} {} {}\n", key_of(value.name), key_of(info), given.known_when_bound,
                      value.constant ? key_of(*value.constant) : "");
  values_.push_back(given);
  return index;
}

const px_tensor* CRegion::tensor(const Constant& constant) {
  // A copy holds the bytes.
  const Constant& kept = constants_.emplace_back(constant);
  const auto& dims = integers_.emplace_back(kept.dims.begin(), kept.dims.end());
  std::byte* const data =
      computes_ || deferred_depth(kept) == 0 ? const_cast<std::byte*>(kept.bytes.data()) : nullptr;
  return &tensors_.emplace_back(px_tensor{sizeof(px_tensor), to_c(kept.dtype), kept.dims.rank(),
                                          dims.data(), data, kept.bytes.size()});
}

px_attribute CRegion::attribute(const std::string& name, const AttributeValue& value) {
  px_attribute result{};
  result.size = sizeof result;
  result.name = names_.emplace_back(name).c_str();
  const auto integers = [&](std::vector<std::int64_t> list) {
    result.count = list.size();
    result.integers = integers_.emplace_back(std::move(list)).data();
  };
  const auto numbers = [&](std::vector<float> list) {
    result.count = list.size();
    result.floats = floats_.emplace_back(std::move(list)).data();
  };
  // Kinds have the order of the alternatives of AttributeValue.
  result.kind = static_cast<px_attribute_kind>(value.index()) + 1;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) integers({*integer});
  if (const auto* number = std::get_if<float>(&value)) numbers({*number});
  if (const auto* text = std::get_if<std::string>(&value))
    result.text = names_.emplace_back(*text).c_str();
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) integers(*list);
  if (const auto* list = std::get_if<std::vector<float>>(&value)) numbers(*list);
  if (const auto* constant = std::get_if<Constant>(&value)) result.tensor = tensor(*constant);
  return result;
}

void CRegion::add_node(const Graph& graph, const Node& node) {
  const auto indices = [&](const std::vector<ValueId>& ids) -> const std::vector<std::int32_t>& {
    std::vector<std::int32_t> list;
    for (const ValueId id : ids) list.push_back(index_of(graph, id));
    return indices_.emplace_back(std::move(list));
  };
  const auto& inputs_of = indices(node.inputs);
  const auto& outputs_of = indices(node.outputs);
  std::vector<const px_attribute*> list;
  for (const auto& [name, value] : node.attributes)
    list.push_back(&attributes_.emplace_back(attribute(name, value)));
  const auto& attributes_of = lists_.emplace_back(std::move(list));
  px_node given{};
  given.size = sizeof given;
  given.op = names_.emplace_back(to_string(node.op)).c_str();
  given.name = names_.emplace_back(node.name).c_str();
  given.attribute_count = attributes_of.size();
  given.attributes = attributes_of.data();
  given.input_count = inputs_of.size();
  given.inputs = inputs_of.data();
  given.output_count = outputs_of.size();
  given.outputs = outputs_of.data();
  nodes_.push_back(given);
  key_ += fmt::format("{} {} {} > {}\n", given.op, key_of(node.name), fmt::join(inputs_of, ","),
                      fmt::join(outputs_of, ","));
  for (const auto& [name, value] : node.attributes)
    key_ += fmt::format("{} {}\n", name, key_of(value));
}

/// Finds the inputs of a run, each once, and its outputs: values that others read, each represented
/// by the value whose bytes it shares.
void CRegion::find_boundary(const Compiled& compiled, const std::vector<NodeId>& nodes) {
  const Graph& graph = compiled.graph();
  const BranchId branch = compiled.context->branches.branch_of[nodes.front()];
  for (const ValueId id : values) {
    const Value& value = graph.values[id];
    if (!is_given_by_runs(value)) continue;
    if (!in_region(compiled, value.producer, branch)) {
      inputs.push_back(id);
      input_list_.push_back(index_.at(id));
    } else if (compiled.root[id] == id && !compiled.is_internal(id)) {
      outputs.push_back(id);
      output_list_.push_back(index_.at(id));
    }
  }
}

void CRegion::finish(std::string name) {
  for (const px_value& value : values_) value_list_.push_back(&value);
  for (const px_node& node : nodes_) node_list_.push_back(&node);
  for (const std::int32_t output : output_list_) key_ += fmt::format("> {}\n", output);
  region_ = {sizeof region_,      names_.emplace_back(std::move(name)).c_str(),
             value_list_.size(),  value_list_.data(),
             node_list_.size(),   node_list_.data(),
             input_list_.size(),  input_list_.data(),
             output_list_.size(), output_list_.data(),
             PX_FLOAT32};
}

Result<std::unique_ptr<CSizes>> CSizes::make(const Compiled& compiled, const CRegion& region,
                                             std::span<const ValueDims> told) {
  const auto dims_of = [&](ValueId id) -> const Dims* {
    if (const auto& known = compiled.dims[id]) return &*known;
    const auto found = std::ranges::find(told, id, &ValueDims::value);
    return found == told.end() ? nullptr : &found->dims;
  };
  const auto refuse_size = [&](ValueId id, const char* why) {
    return tl::unexpected(Error{Stage::kCompile,
                                ErrorCode::kUnsupported,
                                {},
                                fmt::format("'{}' {}", compiled.graph().values[id].name, why)});
  };
  std::unique_ptr<CSizes> result(new CSizes);
  result->tensors_.reserve(region.values.size());
  for (const ValueId id : region.values) {
    const Dims* const known = dims_of(id);
    if (known == nullptr) return refuse_size(id, "has a size that only running tells");
    const Dims& dims = *known;
    const DType dtype = compiled.graph().values[id].dtype;
    const std::byte* const bytes = compiled.fixed[id];
    const std::int64_t size = bytes_of(dtype, dims).value_or(0);
    result->tensors_.push_back({sizeof(px_tensor), to_c(dtype), dims.rank(), dims.begin(),
                                const_cast<std::byte*>(bytes), static_cast<std::size_t>(size)});
    result->list_.push_back(&result->tensors_.back());
  }
  for (const auto* ids : {&region.inputs, &region.outputs})
    for (const ValueId id : *ids)
      if (dims_of(id)->elements() == 0) return refuse_size(id, "has no elements");
  result->sizes_ = {sizeof(px_sizes), result->list_.size(), result->list_.data()};
  return result;
}

std::unique_ptr<CSizes> CSizes::of_node(const Graph& graph, const ConcreteShapes& shapes,
                                        const CRegion& region) {
  std::unique_ptr<CSizes> result(new CSizes);
  result->tensors_.reserve(region.values.size());
  for (const ValueId id : region.values) {
    const DType dtype = graph.values[id].dtype;
    if (!shapes[id]) {
      result->list_.push_back(nullptr);
      continue;
    }
    const Dims& dims = *shapes[id];
    const std::int64_t size = bytes_of(dtype, dims).value_or(0);
    result->tensors_.push_back({sizeof(px_tensor), to_c(dtype), dims.rank(), dims.begin(), nullptr,
                                static_cast<std::size_t>(size)});
    result->list_.push_back(&result->tensors_.back());
  }
  result->sizes_ = {sizeof(px_sizes), result->list_.size(), result->list_.data()};
  return result;
}

}  // namespace parallax
