// Properties of an operator that stages read, besides its shapes: partition, layouts, splits of
// nodes, calibrations and the conformance suite. Thread-safety: value types.
//
// An OpDef is made of them, and none has a default: a definition that leaves one out does not
// compile. The rules themselves are the stages'.
#pragma once

#include <cstdint>

namespace parallax {

/// Kinds of work whose nodes are faster or slower on a device than on the CPU by a similar factor,
/// so that a few measurements predict all of them. work_kind() (device/work_kind.h) tells a node's.
enum class WorkKind : std::uint8_t {
  kConvolution,  ///< several elements of the plane per window
  kPointwise,    ///< convolutions of 1x1; told by the weights of a kConvolution
  kDepthwise,    ///< a group for each channel; told by the weights of a kConvolution
  kProduct,      ///< with a constant matrix
  kAttention,    ///< products of two results, and the nodes fused with them
  kSoftmax,
  kNormalization,
  kPool,
  kReduction,
  kMovement,     ///< moves elements or makes them from sizes
  kFunction,     ///< function of each element: Exp, Erf, Sigmoid, ...
  kElementwise,  ///< arithmetic of each element, and what no other kind fits
};
inline constexpr int kWorkKinds = 12;

/// The paper's estimate of floating-point operations (partition/flops.h).
enum class PaperFlops : std::uint8_t {
  kNone,
  kOutputs,                ///< elements of output 0
  kInputs,                 ///< elements of input 0: output positions times the inputs of each
  kTwiceMacs,              ///< 2 OpDef::macs
  kConvolution,            ///< 2 Cin Hout Wout Kh Kw Cout
  kTransposedConvolution,  ///< 2 elements of the image, each with all filters of its group
  kProduct,                ///< 2 M K N
  kWindows,                ///< Hout Wout Kh Kw
  kPlane,                  ///< a window as large as the plane of input 0
};

/// Which part of a node turns when its images are NHWC (lower/patterns/nhwc_rules.h). "image" means
/// a tensor whose axis 1 is that of channels.
enum class NhwcRule : std::uint8_t {
  kNone,         ///< stays NCHW
  kWindow,       ///< attribute `layout`; input 0 is the image
  kElementwise,  ///< every input is an image or a constant
  kAxis,         ///< attribute `axis`, 0 by default; input 0 is the image
  kLastAxis,     ///< attribute `axis`, the last one by default; input 0 is the image
  kConcat,       ///< attribute `axis`; every input is an image
  kAxesInput,    ///< a constant input lists axes; input 0 is the image
  kPad,          ///< a constant input has two numbers per axis; input 0 is the image
};

/// Which rows of the inputs give some rows of the output (partition/split/split_rules.h, which
/// describes each rule): where a delegate or the CPU may compute a part of a node.
enum class RowRule : std::uint8_t {
  kNone,  ///< computed whole
  /// The same rows of each input that has as many; inputs that broadcast along the axis whole.
  kElementwise,
  /// Rows of the left operand for rows, columns of the right one for columns, both for batches.
  kMatMul,
  /// As kMatMul, with the attributes that transpose, and C as an elementwise input.
  kGemm,
  /// Batches, and windows over the rows behind batch and channels, which overlap (a halo).
  kWindow,
  /// The same rows along all axes but that of channels; none in training.
  kBatchNormalization,
  /// The same rows outside of attribute `axis` (LayerNormalization and RMSNormalization: before).
  kNormalization,
  /// The same rows along axes that are not reduced; these must be known.
  kReduction,
  /// The same rows along the axis that the permutation moves there.
  kTranspose,
  /// The same elements in row-major order: rows of the result are rows of the input.
  kView,
  /// The same rows of each input; along the joined axis moved by the sizes of those before it.
  kConcat,
  /// The same rows of the input outside of the axis that is cut.
  kSplit,
  /// Rows by step and start, which must be known.
  kSlice,
  /// Rows of the indices for the axes that they give, of the data for others.
  kGather,
  /// Rows moved by the pads before them: constants, known, not negative, without input `axes`.
  kPad,
  /// Nearest by a whole factor: granules of that many rows, each from one.
  kResize,
  /// As kElementwise; the shape is read whole.
  kExpand,
};

/// How tools/conformance makes nodes of an operator, or why it makes none.
enum class ConformanceForm : std::uint8_t {
  kOwn,  ///< a row of its own in tools/conformance/forms_*.h
  kUnary,
  kUnaryOfPositive,  ///< elements above 0
  kUnaryOfNonZero,
  kBinary,
  kDivision,    ///< the right operand is not 0
  kComparison,  ///< elements that are often equal
  kReduction,
  kReductionOfPositive,
  kBodies,          ///< none: the host runs the bodies
  kSizedByRunning,  ///< none: only running tells the size of the result
  kOfTheCpu,        ///< none: only the CPU's graph has it
  kFolded,          ///< none: the sizes tell the result, so the host computes it
  kObjects,         ///< none: takes or gives objects, which no delegate has
};

/// A member that an initializer cannot leave out.
template <class T>
class Stated {
 public:
  Stated() = delete;
  constexpr Stated(T value) : value_(value) {}     // NOLINT(google-explicit-constructor)
  constexpr operator T() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  T value_;
};

/// The traits of one operator, by designated initializers.
struct OpTraits {
  Stated<WorkKind> work;
  Stated<PaperFlops> flops;
  Stated<NhwcRule> nhwc;
  Stated<RowRule> rows;
  Stated<ConformanceForm> form;
};

/// Traits of an operator that runs whole, in the layout of the file, and for which the paper states
/// no operations.
constexpr OpTraits whole_tensors(WorkKind work, ConformanceForm form) {
  return {.work = work,
          .flops = PaperFlops::kNone,
          .nhwc = NhwcRule::kNone,
          .rows = RowRule::kNone,
          .form = form};
}

/// Traits that differ among functions of elements of one place.
struct ElementwiseTraits {
  Stated<WorkKind> work;
  Stated<ConformanceForm> form;

  constexpr operator OpTraits() const {  // NOLINT(google-explicit-constructor)
    return {.work = work,
            .flops = PaperFlops::kOutputs,
            .nhwc = NhwcRule::kElementwise,
            .rows = RowRule::kElementwise,
            .form = form};
  }
};

}  // namespace parallax
