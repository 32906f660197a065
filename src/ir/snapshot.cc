#include "ir/snapshot.h"

#include <limits>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "ir/expr/expr_bytes.h"

namespace parallax {
namespace {

/// Ids are written plus one: 0 is the invalid one.
constexpr std::uint64_t kIds = std::numeric_limits<std::int32_t>::max();
constexpr auto kObjectTypes = static_cast<std::uint64_t>(ObjectType::kMap) + 1;

class SnapshotWriter {
 public:
  void graph(const Graph& graph) {
    out_.text(graph.name);
    out_.number(graph.symbols.size());
    for (const Symbol& symbol : graph.symbols) {
      out_.text(symbol.name);
      out_.number(static_cast<std::uint64_t>(symbol.kind));
      id(symbol.outer);
    }
    out_.number(graph.values.size());
    for (const Value& one : graph.values) value(one);
    out_.number(graph.nodes.size());
    for (const Node& one : graph.nodes) node(one);
    ids(graph.inputs);
    ids(graph.outputs);
    out_.number(graph.states.size());
    for (const auto& first : graph.states) {
      out_.number(first ? 1 : 0);
      if (first) attribute(*first);
    }
  }

  GraphSnapshot take() { return {out_.take(), std::move(constants_)}; }

 private:
  template <class Tag>
  void id(Id<Tag> x) {
    out_.number(static_cast<std::uint64_t>(x.value + std::int64_t{1}));
  }
  void ids(const std::vector<ValueId>& list) {
    out_.number(list.size());
    for (const ValueId x : list) id(x);
  }
  void exprs(const std::vector<Expr>& list) {
    out_.number(list.size());
    for (const Expr& e : list) exprs_.write(e);
  }

  void value(const Value& value) {
    out_.text(value.name);
    out_.number(static_cast<std::uint64_t>(value.kind));
    out_.number(static_cast<std::uint64_t>(value.dtype));
    exprs(value.shape);
    container(value.container);
    out_.number(value.content ? 1 : 0);
    if (value.content) exprs(*value.content);
    // Its dimensions and dtype are those of the value; the verifier has seen to it.
    if (value.constant) constant(*value.constant);
  }

  /// How many types are around a tensor; 0: none.
  void container(const ContainerType& container) {
    out_.number(container == nullptr ? 0 : container->types.size());
    if (container == nullptr) return;
    for (const ObjectType type : container->types) out_.number(static_cast<std::uint64_t>(type));
    out_.number(static_cast<std::uint64_t>(container->key));
    out_.number(container->filled ? 1 : 0);
    out_.number(container->dims ? 1 : 0);
    if (container->dims) attribute(*container->dims);
  }

  /// Writes a constant. The size of strings is written too, since dimensions do not determine it.
  void constant(const Constant& constant) {
    if (constant.dtype == DType::kString) out_.number(constant.bytes.size());
    if (constant.dtype == DType::kF32) narrow_form(constant);
    constants_.push_back(&constant);
  }

  void narrow_form(const Constant& constant) {
    out_.number(constant.is_half ? 1 : 0);
    out_.number(constant.units == nullptr ? 0 : constant.units->size());
    if (constant.units == nullptr) return;
    for (const float unit : *constant.units) out_.raw(unit);
  }

  void node(const Node& node) {
    out_.text(node.name);
    out_.number(static_cast<std::uint64_t>(node.op));
    out_.number(
        static_cast<std::uint64_t>(std::distance(node.attributes.begin(), node.attributes.end())));
    for (const auto& [key, value] : node.attributes) {
      out_.text(key);
      out_.number(value.index());
      std::visit([this](const auto& x) { attribute(x); }, value);
    }
    out_.number(static_cast<std::uint64_t>(node.epilogue.activation.op));
    for_each_parameter(node.epilogue.activation,
                       [&](std::string_view, float value) { out_.raw(value); });
    ids(node.inputs);
    ids(node.outputs);
    out_.number(node.captures);
    out_.number(node.bodies.size());
    for (const auto& body : node.bodies) graph(*body);
  }

  void attribute(std::int64_t x) { out_.integer(x); }
  void attribute(float x) { out_.raw(x); }
  void attribute(const std::string& x) { out_.text(x); }
  void attribute(const std::vector<std::int64_t>& x) {
    out_.number(x.size());
    for (const std::int64_t one : x) out_.integer(one);
  }
  void attribute(const std::vector<float>& x) {
    out_.number(x.size());
    for (const float one : x) out_.raw(one);
  }
  void attribute(const std::vector<std::string>& x) {
    out_.number(x.size());
    for (const std::string& one : x) out_.text(one);
  }
  void attribute(const Constant& x) {
    out_.number(static_cast<std::uint64_t>(x.dtype));
    out_.number(static_cast<std::uint64_t>(x.dims.rank()));
    for (const std::int64_t dim : x.dims) out_.integer(dim);
    constant(x);
  }

  ByteWriter out_;
  ExprWriter exprs_{out_};
  std::vector<const Constant*> constants_;
};

/// Reads a graph. If `in` fails, the result is meaningless but safe to destroy.
class SnapshotReader {
 public:
  SnapshotReader(std::span<const std::byte> bytes, const NextConstant& next)
      : in_(bytes), next_(next) {}

  Graph graph(int depth) {
    Graph graph;
    graph.name = in_.text();
    repeat([&] {
      Symbol symbol{std::string(in_.text()), static_cast<SymbolKind>(in_.below(2)), {}};
      symbol.outer = id<SymbolId>();
      graph.symbols.push_back(std::move(symbol));
    });
    repeat([&] { graph.values.push_back(value()); });
    repeat([&] {
      const NodeId at{static_cast<std::int32_t>(graph.nodes.size())};
      graph.nodes.push_back(node(depth));
      for (const ValueId output : graph.nodes[at].outputs)
        if (graph.values.contains(output)) graph.values[output].producer = at;
    });
    graph.inputs = ids();
    graph.outputs = ids();
    repeat([&] {
      auto& first = graph.states.emplace_back();
      if (in_.below(2) == 1) first = typed_constant();
    });
    return graph;
  }
  /// Whether all was there and nothing is left.
  bool done() const { return in_.ok() && in_.rest().empty(); }

 private:
  template <class Function>
  void repeat(Function function) {
    const std::size_t count = in_.count();
    if (count >= kIds) in_.fail();
    for (std::size_t i = 0; i < count && in_.ok(); ++i) function();
  }

  template <class I>
  I id() {
    return I{static_cast<std::int32_t>(static_cast<std::int64_t>(in_.below(kIds)) - 1)};
  }
  std::vector<ValueId> ids() {
    std::vector<ValueId> list;
    repeat([&] { list.push_back(id<ValueId>()); });
    return list;
  }
  std::vector<Expr> exprs() {
    std::vector<Expr> list;
    repeat([&] { list.push_back(exprs_.read()); });
    return list;
  }
  DType dtype() {
    const auto dtype = static_cast<DType>(in_.below(kDTypes.size()));
    if (!contains(kSizedTypes, dtype) && dtype != DType::kString) in_.fail();
    return dtype;
  }

  Value value() {
    Value value;
    value.name = in_.text();
    value.kind = static_cast<ValueKind>(in_.below(static_cast<int>(ValueKind::kResult) + 1));
    value.dtype = dtype();
    value.shape = exprs();
    value.container = container();
    if (in_.below(2) == 1) value.content = exprs();
    if (value.kind != ValueKind::kConstant) return value;
    Dims dims;
    for (const Expr& dim : value.shape) {
      const auto n = dim.constant();
      if (!n || dims.rank() == Dims::kMaxRank) in_.fail();
      if (!in_.ok()) return value;
      dims.push_back(*n);
    }
    value.constant = constant(value.dtype, dims);
    return value;
  }

  ContainerType container() {
    const auto count = static_cast<std::size_t>(in_.below(kMaxContainers + 1));
    if (count == 0) return nullptr;
    auto container = std::make_shared<Container>();
    for (std::size_t i = 0; i < count; ++i)
      container->types.push_back(static_cast<ObjectType>(in_.below(kObjectTypes)));
    container->key = dtype();
    container->filled = in_.below(2) == 1;
    if (in_.below(2) == 1) container->dims = integers();
    return container;
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> list;
    repeat([&] { list.push_back(in_.integer()); });
    return list;
  }

  std::optional<std::int64_t> size_of_constant(DType dtype, const Dims& dims) {
    if (dtype != DType::kString) return bytes_of(dtype, dims);
    const std::uint64_t bytes = in_.number();
    if (bytes > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
  }

  void read_narrow_form(Constant& constant) {
    constant.is_half = in_.number() != 0;
    std::vector<float> units;
    repeat([&] { units.push_back(in_.raw<float>()); });
    if (!units.empty())
      constant.units = std::make_shared<const std::vector<float>>(std::move(units));
  }

  Constant constant(DType dtype, const Dims& dims) {
    bool good = in_.ok();
    for (const std::int64_t dim : dims) good = good && dim >= 0;
    const std::int64_t bytes = good ? size_of_constant(dtype, dims).value_or(-1) : -1;
    Constant constant{dtype, dims, {}, nullptr};
    if (dtype == DType::kF32) read_narrow_form(constant);
    const auto found = bytes < 0 ? std::nullopt : next_(bytes);
    if (!found || std::ssize(found->bytes) != bytes) {
      in_.fail();
      return {};
    }
    constant.bytes = found->bytes;
    constant.owner = found->owner;
    return constant;
  }

  Node node(int depth) {
    Node node;
    node.name = in_.text();
    node.op = static_cast<OpKind>(in_.below(kOpCount));
    repeat([&] {
      std::string key(in_.text());
      node.attributes.set(std::move(key), attribute());
    });
    Activation& activation = node.epilogue.activation;
    activation.op = static_cast<OpKind>(in_.below(kOpCount));
    if (activation && !is_activation(activation.op)) in_.fail();
    for_each_parameter(activation,
                       [&](std::string_view, float& value) { value = in_.raw<float>(); });
    node.inputs = ids();
    node.outputs = ids();
    node.captures = in_.number();
    repeat([&] {
      if (depth >= kMaxNesting) return in_.fail();
      node.bodies.push_back(std::make_shared<const Graph>(graph(depth + 1)));
    });
    return node;
  }

  AttributeValue attribute() {
    switch (in_.below(std::variant_size_v<AttributeValue>)) {
      case 0:
        return in_.integer();
      case 1:
        return in_.raw<float>();
      case 2:
        return std::string(in_.text());
      case 3:
        return integers();
      case 4: {
        std::vector<float> list;
        repeat([&] { list.push_back(in_.raw<float>()); });
        return list;
      }
      case 6: {
        std::vector<std::string> list;
        repeat([&] { list.emplace_back(in_.text()); });
        return list;
      }
      default:
        break;
    }
    return typed_constant();
  }

  Constant typed_constant() {
    const DType type = dtype();
    Dims dims;
    repeat([&] {
      if (dims.rank() == Dims::kMaxRank) return in_.fail();
      dims.push_back(in_.integer());
    });
    return constant(type, dims);
  }

  ByteReader in_;
  ExprReader exprs_{in_};
  const NextConstant& next_;
};

static_assert(
    std::is_same_v<AttributeValue,
                   std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                std::vector<float>, Constant, std::vector<std::string>>>,
    "SnapshotReader::attribute knows these by number");

}  // namespace

GraphSnapshot snapshot_of(const Graph& graph) {
  SnapshotWriter writer;
  writer.graph(graph);
  return writer.take();
}

Result<Graph> graph_of(std::span<const std::byte> snapshot, const NextConstant& next) {
  SnapshotReader reader(snapshot, next);
  Graph graph = reader.graph(0);
  if (reader.done()) return graph;
  return tl::unexpected(
      Error{Stage::kLoad, ErrorCode::kInvalidInput, {}, "these bytes are not a graph"});
}

}  // namespace parallax
