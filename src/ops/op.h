// Properties of each operator without its computation: attributes, how many inputs and outputs,
// symbolic shape (and shape-value) inference, multiply-accumulates, traits. One OpDef per row of
// ir/op_kinds.def; ops/<family>.cc defines them.
//
// Adding one: a row in ir/op_kinds.def, a `const OpDef& op_def_<Name>()` in a file of ops/, a
// reference kernel, a test. Thread-safety: OpDefs are immutable; inference functions are pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/traits.h"

namespace parallax {

enum class AttributeType : std::uint8_t {
  kInt,
  kFloat,
  kString,
  kInts,
  kFloats,
  kTensor,
  kStrings
};

/// Who made a node, and may thus set what others may not.
enum class NodeOrigin : std::uint8_t {
  kFile,    ///< a model file: the operators and attributes of the standard
  kLoader,  ///< a loader, which also chooses the layout of images
  kPass,    ///< a pass, which also makes internal operators
};

struct AttributeSpec {
  std::string_view name;
  AttributeType type = AttributeType::kInt;
  /// The first origin that may set it: a node of an earlier one that carries it is refused.
  NodeOrigin from = NodeOrigin::kFile;
};

/// One input as inference sees it.
struct InferInput {
  bool present = false;
  DType dtype = DType::kF32;
  Shape shape;
  const Container* container = nullptr;  ///< null: a tensor
  /// Elements where they are known as expressions (i64, i32, bool; at most kMaxContent of them),
  /// else null. Not a copy: a node may read one value very often.
  const std::vector<Expr>* content = nullptr;
  /// The constant that it is; null if it is computed.
  const Constant* constant = nullptr;
};

struct InferOutput {
  DType dtype = DType::kF32;
  Shape shape;
  Content content;
  ContainerType container = nullptr;
};

/// Everything an inference function may look at.
struct InferContext {
  const Node& node;
  std::span<const InferInput> inputs;
  /// Makes a symbol of kind kData for a dimension that only running can tell. While running, the
  /// executor infers once more with real shapes and real contents; an operator that then still asks
  /// for a fresh symbol (NonZero, NonMaxSuppression) has a data-dependent output, which its kernel
  /// sizes.
  std::function<Expr(std::string_view hint)> fresh_symbol;
  /// Names of the symbols, for messages; may be null.
  const IdVector<SymbolId, Symbol>* symbols = nullptr;

  /// True where input i exists (i may exceed the number of inputs).
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  /// Elements of input i as known integers: from a constant or from content without symbols.
  std::optional<std::vector<std::int64_t>> known_ints(std::size_t i) const;
  /// Elements of input i as expressions: content, or the constant's integers.
  Content exprs(std::size_t i) const;
  /// An Error of stage kLoad, code kInvalidModel, with the node's name and `message` plus the
  /// shapes of all inputs.
  Error error(std::string message, ErrorCode code = ErrorCode::kInvalidModel) const;
};

using InferResult = Result<std::vector<InferOutput>>;

/// Which output lies where its first input lies.
enum class Aliasing : std::uint8_t {
  kNone,
  kView,  ///< output 0 has the bytes of input 0: Reshape, Squeeze, Unsqueeze, Flatten, Identity
};

struct OpDef {
  OpDef(OpKind op, const OpTraits& its_traits) : kind(op), traits(its_traits) {}

  OpKind kind;
  OpTraits traits;
  int since = 1;  ///< the first operator set of ONNX that has it
  int min_inputs = 1;
  int max_inputs = 1;  ///< -1: any number
  /// Made by passes only: a model file that has it is refused.
  bool internal = false;
  int internal_inputs = 0;  ///< the last n of max_inputs are set by passes only (MatMul's bias)
  int min_outputs = 1;
  int max_outputs = 1;  ///< -1: any number
  std::vector<AttributeSpec> attributes;
  /// Checks ranks, dtypes and attributes, and gives one InferOutput per node output (also for
  /// outputs left out).
  InferResult (*infer)(const InferContext&) = nullptr;
  /// Multiply-accumulates for concrete shapes (absent inputs have rank 0); saturates. An
  /// elementwise operator counts one per output element, data movement none.
  std::int64_t (*macs)(const Node&, std::span<const Dims> inputs,
                       std::span<const Dims> outputs) = nullptr;
  /// Draws random numbers: two nodes that look the same give different results, so they are neither
  /// merged nor computed while loading.
  bool random = false;
  /// If, Loop, Scan: the node has bodies and no kernel; the executor runs the bodies' plans.
  bool control_flow = false;
  /// Takes or gives objects: the node has no kernel for tensors but one of kernels/objects.
  bool objects = false;
  Aliasing aliasing = Aliasing::kNone;
  /// Same-shape or broadcasting function of one element per input.
  bool elementwise = false;
  /// Kernels apply Node::epilogue.
  bool epilogue = false;
  /// Inputs whose *values* decide the output's shape (Reshape's shape, Slice's starts...): bit i =
  /// input i.
  std::uint32_t shape_inputs = 0;
  bool decides_shape(std::size_t input) const {
    return input < 32 && (shape_inputs >> input & 1U) != 0;
  }
};

/// The definition of `kind`; every row has one.
const OpDef& op_def(OpKind kind);

/// Operators that take strings as they take numbers: they move elements or compare them.
bool moves_strings(OpKind kind);
/// Whether a node runs on objects, not on tensors: for itself, or because of what it reads or
/// makes.
bool runs_on_objects(const Graph& graph, const Node& node);

/// Checks count of inputs/outputs and that each attribute is one the operator reads, of the right
/// type; internal operators and inputs must be a pass's. Errors name the node: stage kLoad,
/// kInvalidModel or kUnsupported.
Status check_node(const Node& node, NodeOrigin origin);

/// Numpy broadcasting of symbolic shapes. Dimensions not known to be equal or 1 give an expression
/// (ir/expr/expr_broadcast.h), or a fresh symbol where that gets too large. Of a symbol and a
/// number the result is the number; whether they go together is checked when sizes are bound.
Result<Shape> broadcast(const Shape& a, const Shape& b, const InferContext& context);
/// Numpy broadcasting of concrete shapes; nothing where they do not broadcast.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
/// `axis` in [-rank, rank) made non-negative, or nothing.
std::optional<int> normalize_axis(std::int64_t axis, int rank);

}  // namespace parallax
