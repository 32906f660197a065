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

/// The types of attributes in files, in the order of AttributeValue's alternatives (ir/graph.h). An
/// attribute of another type than its spec's is refused by check_node().
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

/// An attribute that an operator reads. attributes_of() of ops/params/params.h makes them of a
/// struct.
struct AttributeSpec {
  /// The name in files; a view of a literal.
  std::string_view name;
  AttributeType type = AttributeType::kInt;
  /// The first origin that may set it: a node of an earlier one that carries it is refused.
  NodeOrigin from = NodeOrigin::kFile;
};

/// One input as inference sees it. Pointers are valid during the call.
struct InferInput {
  /// False: left out; the other members then have their defaults.
  bool present = false;
  DType dtype = DType::kF32;
  Shape shape;
  const Container* container = nullptr;  ///< null: a tensor
  /// Elements if they are known as expressions (i64, i32, bool; at most kMaxContent of them),
  /// else null. Not a copy: a node may read one value very often.
  const std::vector<Expr>* content = nullptr;
  /// The constant that it is; null if it is computed.
  const Constant* constant = nullptr;
};

/// One output as inference says it. `content`, if it is known, has an element for each of the
/// shape's; infer_checked() drops others.
struct InferOutput {
  DType dtype = DType::kF32;
  Shape shape;
  Content content;
  ContainerType container = nullptr;
};

/// Everything an inference function may look at.
struct InferContext {
  /// The node, whose attributes were checked for names and types but not for values.
  const Node& node;
  /// An element for each input of the node, captures included; Cast's inference of a CastLike sees
  /// the first alone. has() may be asked for any number.
  std::span<const InferInput> inputs;
  /// Makes a symbol of kind kData for a dimension that only running can tell. While running, the
  /// executor infers once more with real shapes and real contents; an operator that then still asks
  /// for a fresh symbol (NonZero, NonMaxSuppression) has a data-dependent output, which its kernel
  /// sizes.
  std::function<Expr(std::string_view hint)> fresh_symbol;
  /// Names of the symbols, for messages; may be null.
  const IdVector<SymbolId, Symbol>* symbols = nullptr;

  /// Returns whether input i exists (i may exceed the number of inputs).
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  /// Returns the elements of input i as known integers: from a constant (i64, i32, bool) or from
  /// content without symbols; nullopt if one is not known, the input is left out, or there are more
  /// than kMaxContent (or the node's outputs, if these are more).
  std::optional<std::vector<std::int64_t>> known_ints(std::size_t i) const;
  /// Returns the elements of input i as expressions: content, or the constant's integers; nullopt
  /// as known_ints(). Copies the list.
  Content exprs(std::size_t i) const;
  /// Returns an Error of stage kLoad, with the node's name and `message` plus the shapes of the
  /// first 16 inputs.
  Error error(std::string message, ErrorCode code = ErrorCode::kInvalidModel) const;
};

using InferResult = Result<std::vector<InferOutput>>;

/// Which output lies where its first input lies.
enum class Aliasing : std::uint8_t {
  kNone,
  kView,  ///< output 0 has the bytes of input 0: Reshape, Squeeze, Unsqueeze, Flatten, Identity
};

/// The definition of one operator, made on first use and constant from then on. Definitions set
/// what differs from the defaults; `infer` and `macs` have to be set.
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
  /// If, Loop, Scan: the node has bodies and no kernel; the executor runs the bodies' plans. Counts
  /// of inputs and outputs are checked by infer_bodies().
  bool control_flow = false;
  /// Takes or gives objects: the node has no kernel for tensors but one of kernels/objects.
  bool objects = false;
  Aliasing aliasing = Aliasing::kNone;
  /// Same-shape or broadcasting function of one element per input.
  bool elementwise = false;
  /// Kernels apply Node::epilogue.
  bool epilogue = false;
  /// Inputs whose *values* decide the output's shape (Reshape's shape, Slice's starts...): bit i =
  /// input i. infer_runtime() needs their bytes.
  std::uint32_t shape_inputs = 0;
  /// Returns whether input `input`, of any number, is one of them.
  bool decides_shape(std::size_t input) const {
    return input < 32 && (shape_inputs >> input & 1U) != 0;
  }
};

/// Returns the definition of `kind`; every row has one. Valid for the whole program. Thread-safe:
/// the table is made by the first call.
const OpDef& op_def(OpKind kind);

/// Returns whether the operator accepts strings as it accepts numbers: it moves elements or
/// compares them. Its kernels for strings are those of kernels/objects.
bool moves_strings(OpKind kind);
/// Returns whether a node runs on objects, not on tensors: for itself, or because of what it reads
/// or makes. False for If, Loop and Scan.
bool runs_on_objects(const Graph& graph, const Node& node);

/// Checks count of inputs/outputs and that each attribute is one the operator reads, of the right
/// type; internal operators, inputs and attributes must be a pass's (or a loader's, as their spec
/// says). Bodies and an epilogue are refused on operators that do not have them. Values of
/// attributes are left to inference. Errors name the node: stage kLoad, kInvalidModel, or
/// kUnsupported for internal operators and unknown attributes.
Status check_node(const Node& node, NodeOrigin origin);

/// Returns the shape that two symbolic shapes broadcast to, as numpy has it. Dimensions not known
/// to be equal or 1 give an expression (ir/expr/expr_broadcast.h), or a fresh symbol if that gets
/// too large. A symbol and a number give the number; whether they go together is checked when sizes
/// are bound. Errors: kInvalidModel for two different numbers other than 1.
Result<Shape> broadcast(const Shape& a, const Shape& b, const InferContext& context);
/// Returns the same for concrete shapes; nullopt if they do not broadcast.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
/// Returns `axis` in [-rank, rank) made non-negative; nullopt for others. REQUIRES: rank >= 0.
std::optional<int> normalize_axis(std::int64_t axis, int rank);

}  // namespace parallax
