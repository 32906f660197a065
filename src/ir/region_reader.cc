#include "ir/region_reader.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "base/c_types.h"
#include "base/status.h"

namespace parallax {
namespace {

tl::unexpected<Error> refuse_region(std::string message,
                                    ErrorCode code = ErrorCode::kInvalidInput) {
  return tl::unexpected(Error{Stage::kCompile, code, {}, std::move(message)});
}

/// Returns a constant whose bytes may be at any address, or be left out.
Result<Constant> constant_of(const px_tensor* tensor) {
  PX_ASSIGN(const px_tensor given, of_this_version(tensor));
  Constant constant;
  PX_ASSIGN(constant.dtype, dtype_from(given.dtype));
  if (given.rank < 0 || given.rank > Dims::kMaxRank || (given.rank > 0 && given.dims == nullptr))
    return refuse_region("a tensor without dimensions");
  for (std::int32_t i = 0; i < given.rank; ++i) {
    if (given.dims[i] < 0) return refuse_region("a negative dimension");
    constant.dims.push_back(given.dims[i]);
  }
  if (given.data == nullptr) return constant;
  const auto bytes = bytes_of(constant.dtype, constant.dims);
  if (!bytes || static_cast<std::uint64_t>(*bytes) != given.bytes)
    return refuse_region("a tensor with bytes of another size");
  constant.bytes = {static_cast<const std::byte*>(given.data), given.bytes};
  return constant;
}

class GraphReader {
 public:
  explicit GraphReader(const px_region& region) : region_(region) {}

  Result<Graph> read() {
    for (std::size_t i = 0; i < region_.value_count; ++i)
      PX_RETURN_IF_ERROR(read_value(region_.values[i]));
    PX_RETURN_IF_ERROR(read_ids(region_.input_count, region_.inputs, false, graph_.inputs));
    PX_RETURN_IF_ERROR(read_ids(region_.output_count, region_.outputs, false, graph_.outputs));
    for (const ValueId input : graph_.inputs) {
      if (graph_.values[input].kind != ValueKind::kResult)
        return refuse_region("an input that is known before");
      graph_.values[input].kind = ValueKind::kInput;
    }
    for (std::size_t i = 0; i < region_.node_count; ++i)
      PX_RETURN_IF_ERROR(read_node(region_.nodes[i]));
    for (const ValueId output : graph_.outputs) PX_RETURN_IF_ERROR(check_made(output));
    return std::move(graph_);
  }

 private:
  Status read_value(const px_value* value) {
    PX_ASSIGN(const px_value given, of_this_version(value));
    Value made;
    made.name = given.name == nullptr ? "" : given.name;
    PX_ASSIGN(const TensorInfo type, type_from(given.type));
    made.dtype = type.dtype;
    for (const Dimension& dim : type.shape) made.shape.push_back(dimension(dim));
    if (given.constant != nullptr) {
      made.kind = ValueKind::kConstant;
      PX_ASSIGN(made.constant, constant_of(given.constant));
      if (made.constant->dtype != made.dtype ||
          static_cast<std::size_t>(made.constant->dims.rank()) != made.shape.size())
        return refuse_region("a constant of another type");
      const auto bytes = bytes_of(made.constant->dtype, made.constant->dims);
      if (!bytes || static_cast<std::size_t>(*bytes) != made.constant->bytes.size())
        return refuse_region("a constant without bytes");
    } else if (given.known_when_bound == 1) {
      made.kind = ValueKind::kSymbolic;
    }
    graph_.values.push_back(std::move(made));
    return {};
  }

  /// Equal texts are equal sizes; what has no text equals nothing.
  Expr dimension(const Dimension& dim) {
    if (dim.value >= 0) return Expr(dim.value);
    const std::string name =
        dim.symbol.empty() ? fmt::format("?{}", graph_.symbols.size()) : dim.symbol;
    return Expr::symbol(graph_.symbol(name, SymbolKind::kInput));
  }

  Status read_ids(std::size_t count, const std::int32_t* ids, bool may_lack,
                  std::vector<ValueId>& to) const {
    if (count > 0 && ids == nullptr) return refuse_region("a list without values");
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId id{ids[i]};
      if (!graph_.values.contains(id) && !(may_lack && ids[i] == -1))
        return refuse_region("a value that is not there");
      to.push_back(graph_.values.contains(id) ? id : ValueId{});
    }
    return {};
  }

  Status check_made(ValueId value) const {
    const Value& read = graph_.values[value];
    if (read.kind == ValueKind::kResult && !read.producer.valid())
      return refuse_region(fmt::format("'{}' is read before it is made", read.name));
    return {};
  }

  Status read_node(const px_node* node) {
    PX_ASSIGN(const px_node given, of_this_version(node));
    const auto op = op_from_string(given.op == nullptr ? "" : given.op);
    if (!op)
      return refuse_region(fmt::format("no operator '{}'", given.op == nullptr ? "" : given.op),
                           ErrorCode::kUnsupported);
    Node made;
    made.op = *op;
    made.name = given.name == nullptr ? "" : given.name;
    PX_RETURN_IF_ERROR(read_ids(given.input_count, given.inputs, true, made.inputs));
    PX_RETURN_IF_ERROR(read_ids(given.output_count, given.outputs, true, made.outputs));
    for (const ValueId input : made.inputs)
      if (input.valid()) PX_RETURN_IF_ERROR(check_made(input));
    for (std::size_t i = 0; i < given.attribute_count; ++i)
      PX_RETURN_IF_ERROR(read_attribute(given.attributes[i], made.attributes));
    const NodeId id = graph_.nodes.push_back(made);
    for (const ValueId output : made.outputs) {
      if (!output.valid()) continue;
      Value& value = graph_.values[output];
      if (value.kind != ValueKind::kResult || value.producer.valid())
        return refuse_region(fmt::format("'{}' is made twice", value.name));
      value.producer = id;
    }
    return {};
  }

  static Status read_attribute(const px_attribute* attribute, Attributes& to) {
    PX_ASSIGN(const px_attribute given, of_this_version(attribute));
    const std::string name = given.name == nullptr ? "" : given.name;
    const bool list = given.kind == PX_ATTRIBUTE_INTS || given.kind == PX_ATTRIBUTE_FLOATS;
    const std::size_t count = list ? given.count : 1;
    const bool ints = given.kind == PX_ATTRIBUTE_INT || given.kind == PX_ATTRIBUTE_INTS;
    const bool floats = given.kind == PX_ATTRIBUTE_FLOAT || given.kind == PX_ATTRIBUTE_FLOATS;
    if ((ints && count > 0 && given.integers == nullptr) ||
        (floats && count > 0 && given.floats == nullptr))
      return refuse_region(fmt::format("attribute '{}' without elements", name));
    if (given.kind == PX_ATTRIBUTE_INT) {
      to.set(name, given.integers[0]);
    } else if (given.kind == PX_ATTRIBUTE_FLOAT) {
      to.set(name, given.floats[0]);
    } else if (given.kind == PX_ATTRIBUTE_STRING) {
      to.set(name, std::string(given.text == nullptr ? "" : given.text));
    } else if (ints) {
      to.set(name, std::vector<std::int64_t>(given.integers, given.integers + count));
    } else if (floats) {
      to.set(name, std::vector<float>(given.floats, given.floats + count));
    } else if (given.kind == PX_ATTRIBUTE_TENSOR) {
      PX_ASSIGN(const Constant constant, constant_of(given.tensor));
      to.set(name, make_constant(constant.dtype, constant.dims, constant.bytes));
    } else {
      return refuse_region(fmt::format("attribute '{}' of kind {}", name, given.kind),
                           ErrorCode::kUnsupported);
    }
    return {};
  }

  const px_region& region_;
  Graph graph_;
};

}  // namespace

Result<Graph> read_region(const px_region* region) {
  PX_ASSIGN(const px_region given, of_this_version(region));
  return GraphReader(given).read();
}

Result<std::vector<Constant>> read_sizes(const Graph& graph, std::size_t count,
                                         const px_sizes* sizes) {
  PX_ASSIGN(const px_sizes given, of_this_version(sizes));
  if (given.value_count != count || count > graph.values.size() || given.values == nullptr)
    return refuse_region("sizes of another region");
  std::vector<Constant> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const Value& value = graph.values[ValueId{static_cast<std::int32_t>(i)}];
    PX_ASSIGN(Constant tensor, constant_of(given.values[i]));
    if (tensor.dtype != value.dtype ||
        static_cast<std::size_t>(tensor.dims.rank()) != value.shape.size())
      return refuse_region(fmt::format("'{}' has changed its type", value.name));
    if (value.kind == ValueKind::kConstant) {
      if (tensor.dims != value.constant->dims)
        return refuse_region(fmt::format("'{}' has changed its size", value.name));
      tensor.bytes = value.constant->bytes;
    } else if (value.kind != ValueKind::kSymbolic) {
      tensor.bytes = {};
    } else if (tensor.bytes.empty() && bytes_of(tensor.dtype, tensor.dims).value_or(1) > 0) {
      return refuse_region(fmt::format("'{}' is not known", value.name));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<Graph> with_sizes(const Graph& region, const px_sizes* sizes) {
  PX_ASSIGN(const std::vector<Constant> tensors, read_sizes(region, region.values.size(), sizes));
  Graph graph = region;
  graph.symbols = {};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Value& value = graph.values[ValueId{static_cast<std::int32_t>(i)}];
    value.shape = {tensors[i].dims.begin(), tensors[i].dims.end()};
    if (value.kind != ValueKind::kSymbolic) continue;
    value.kind = ValueKind::kConstant;
    value.constant = make_constant(tensors[i].dtype, tensors[i].dims, tensors[i].bytes);
  }
  return graph;
}

}  // namespace parallax
