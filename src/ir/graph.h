// The graph of a model, in no file format's terms: nodes in topological order, values, symbols.
// Loaders make it, passes rewrite it, all later stages read it.
//
// A value is one of
//   input     given by the user at each run
//   constant  bytes that are known at load (weights, mapped from the file)
//   symbolic  a small integer tensor whose elements are expressions of the symbols: known once
//             these are bound
//   result    computed by a node
// and has a dtype and a symbolic shape of known rank. Dimensions that depend on *values* (NonZero)
// are symbols of kind kData: nothing binds them before the node has run.
//
// Sequences, optionals and maps have a Container, and no shape. They and tensors of strings are
// objects: they have no place in a plan and no content.
//
// Thread-safety: value types; a const Graph may be read from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/boxed.h"
#include "base/id.h"
#include "ir/container.h"
#include "ir/epilogue.h"
#include "ir/expr.h"
#include "ir/op_kind.h"
#include "parallax/tensor.h"

namespace parallax {

/// Bytes known at load. They may lie anywhere in a mapped file, so `bytes.data()` has NO alignment:
/// read with memcpy or copy first. `owner` keeps them alive. bytes.size() == bytes_of(dtype, dims),
/// checked by the code that makes one. Strings lie as ir/strings.h says.
struct Constant {
  DType dtype = DType::kF32;
  Dims dims;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool is_half = false;  ///< elements are f32, each known to have the value of an f16
  /// Not null: elements are f32, each known to be a whole number in [-128, 127] times the unit of
  /// its index on the first axis; one unit is for all.
  std::shared_ptr<const std::vector<float>> units = nullptr;
};
/// A constant that owns a copy of `bytes`, aligned to kAlignment.
Constant make_constant(DType dtype, const Dims& dims, std::span<const std::byte> bytes);
/// A one-dimensional i64 constant (shapes, axes).
Constant make_i64(std::span<const std::int64_t> elements);
/// Returns the elements of an i64, i32 or bool constant as integers (0 and 1 for bools); nullopt
/// for other dtypes or more than `limit` elements. Constants of these types are never deferred
/// (ops/deferred.h), so that their bytes can always be read.
std::optional<std::vector<std::int64_t>> integers(const Constant& constant,
                                                  std::size_t limit = 1U << 20);

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                    std::vector<float>, Constant, std::vector<std::string>>;

/// Attributes of a node by name. Which names and types an operator reads is written in its OpDef
/// (ops/op.h); the verifier of ops refuses any other.
class Attributes {
 public:
  /// Sets an attribute, whatever it was. Code that knows the operator calls set_param() of
  /// ops/params/params.h.
  void set(std::string name, AttributeValue value);
  /// Makes an attribute absent, which it may be.
  void erase(std::string_view name);
  /// Returns the value, valid until the attributes change; null if the attribute is absent.
  const AttributeValue* find(std::string_view name) const;
  /// The value, or `fallback` if it is absent or of another type (types were checked when the
  /// graph was made).
  template <class T>
  T get(std::string_view name, T fallback) const {
    const AttributeValue* value = find(name);
    const T* typed = value == nullptr ? nullptr : std::get_if<T>(value);
    return typed == nullptr ? std::move(fallback) : *typed;
  }
  std::int64_t get_int(std::string_view name, std::int64_t fallback) const {
    return get<std::int64_t>(name, fallback);
  }
  float get_float(std::string_view name, float fallback) const {
    return get<float>(name, fallback);
  }
  std::vector<std::int64_t> get_ints(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name, {});
  }
  std::string get_string(std::string_view name, std::string fallback) const {
    return get<std::string>(name, std::move(fallback));
  }
  auto begin() const { return values().begin(); }
  auto end() const { return values().end(); }
  bool empty() const { return values().empty(); }

 private:
  using Values = std::map<std::string, AttributeValue, std::less<>>;
  const Values& values() const;

  Boxed<Values> values_;  ///< empty if there are none
};

struct Graph;

/// If, Loop and Scan hold the graphs that they run, their bodies. A body is a graph of its own that
/// sees nothing of the graph around it: what it reads from there are captures, further inputs of
/// the node, which are also the last inputs of every body, in the same order. So all edges of a
/// graph are in its nodes. Constants are not captured: a body has its own copy of the few bytes
/// that say where they lie.
struct Node {
  std::string name;  ///< the model's name for it, or "Op_17" if it has none; unique
  OpKind op = OpKind::kIdentity;
  Attributes attributes;
  std::vector<ValueId> inputs;   ///< invalid id = optional input left out
  std::vector<ValueId> outputs;  ///< invalid id = output left out
  /// If: then, else. Loop and Scan: the body. Shared by copies of the graph, replaced as a whole.
  std::vector<std::shared_ptr<const Graph>> bodies = {};
  std::size_t captures = 0;  ///< the last inputs that are captures
  Epilogue epilogue = {};    ///< set by passes only
};

/// Elements of a small integer tensor as expressions, row-major; null if they are not known.
using Content = Boxed<std::vector<Expr>>;

enum class ValueKind : std::uint8_t { kInput, kConstant, kSymbolic, kResult };

struct Value {
  std::string name;
  ValueKind kind = ValueKind::kResult;
  DType dtype = DType::kF32;  ///< element type; for a container, that of its tensors
  Shape shape;
  ContainerType container = nullptr;  ///< null: a tensor
  NodeId producer;                    ///< kResult only
  Boxed<Constant> constant;           ///< kConstant only
  /// Elements as expressions, row-major, for integer and bool tensors of at most kMaxContent
  /// elements if they are known: always for kSymbolic, and for a kResult whose node a pass will
  /// remove.
  Content content;
};
inline constexpr std::size_t kMaxContent = 1024;

/// Makes a value that no node computes, with the type and shape of `constant`.
Value constant_value(std::string name, Constant constant);

/// Whether the value is more than a tensor of numbers.
inline bool is_object(const Value& value) {
  return value.container != nullptr || value.dtype == DType::kString;
}

enum class SymbolKind : std::uint8_t {
  kInput,  ///< a free dimension of an input: bound by the input's shape
  kData,   ///< depends on values; bound while running
};
/// A dimension that is not known before a run, or before sizes are bound. Its values are >= 0.
struct Symbol {
  std::string name;  ///< unique, e.g. "batch"
  SymbolKind kind = SymbolKind::kInput;
  /// In a body: the symbol of the same kind of the graph around it that this one stands for. All
  /// kInput symbols of a body stand for one; a kData symbol without one is the body's own.
  SymbolId outer = {};
};

/// Bodies inside bodies: more than any model has, few enough to recurse.
inline constexpr int kMaxNesting = 64;

struct Graph {
  std::string name;
  IdVector<SymbolId, Symbol> symbols;
  IdVector<ValueId, Value> values;
  IdVector<NodeId, Node> nodes;  ///< in topological order
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;  ///< may repeat a value, and may name an input or a constant
  /// State that runs keep: the last inputs are what the run before left in the last outputs, in the
  /// same order. Each element is the value before the first run; nullopt: zeros. Empty in bodies.
  std::vector<std::optional<Constant>> states = {};

  /// Returns symbol names indexed by SymbolId, for Expr::to_string. Copies all of them.
  std::vector<std::string> symbol_names() const;
  /// Returns the symbol of that name, of any kind, appended with `kind` if it is missing.
  /// O(symbols).
  SymbolId symbol(std::string_view name, SymbolKind kind);
};

/// Returns for each value the nodes that read it, ascending, each once; captures count as reads,
/// outputs of the graph do not. O(V+E).
IdVector<ValueId, std::vector<NodeId>> consumers(const Graph& graph);

/// Returns `e` with every symbol replaced. Expr::overflow() if the result is too large or complex;
/// an expression that overflows stays as it is.
Expr substitute(const Expr& e, const std::function<Expr(SymbolId)>& replacement);

/// Checks every invariant of this header, in bodies too: ids in range, topological order, one
/// producer each, unique names, known ranks, content and constants that agree with their shapes.
/// The first violation is an Error of `stage`, code kInternal unless the caller maps it.
Status verify(const Graph& graph, Stage stage);

/// "1x3xheightxwidth" for a symbolic shape, "scalar" for rank 0.
std::string to_string(const Shape& shape, std::span<const std::string> names);

/// Concrete sizes of one binding of the symbols.
struct Binding {
  /// Indexed by SymbolId; nullopt for kData symbols.
  std::vector<std::optional<std::int64_t>> symbols;
  friend bool operator==(const Binding&, const Binding&) = default;
};
/// Returns the binding of the symbols of `body` that follows from `around`, the binding of the
/// graph that contains it.
Binding binding_of_body(const Graph& body, const Binding& around);
/// Returns the concrete dimensions of each value under `binding`; nullopt if they depend on a kData
/// symbol, and for objects.
/// Errors, with stage kSchedule: kUnboundSymbol for a kInput symbol without a value; kInvalidInput
/// if a dimension comes out negative or has no value (sizes that do not broadcast, a division by
/// 0), or if the bytes of a tensor do not fit 63 bits. O(V+E).
Result<IdVector<ValueId, std::optional<Dims>>> concrete_shapes(const Graph& graph,
                                                               const Binding& binding);

}  // namespace parallax
