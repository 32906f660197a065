// Attributes of operators that quantise, and of products of integers: y = saturate(round(x / scale)
// + zero point) and its reverse, x = (y - zero point) * scale, as the ONNX pages of QuantizeLinear
// and DequantizeLinear have them. Inputs of the products are in ops/quantised.h.
#pragma once

#include "ops/params/axis.h"
#include "ops/params/window.h"

namespace parallax {

/// The number of entries of ByteTableParams::table: one for each value of 8 bits.
inline constexpr std::int64_t kByteTableSize = 256;

/// QuantizeLinear of a tensor of 8 bits: element x becomes entry x of a tensor of 256, an x below
/// zero the entry that its bits as an unsigned number name. Also of ConvInteger and MatMulInteger,
/// after they quantised their results. Passes make tables of a chain of functions between two
/// quantised tensors (lower/cpu/integer_clusters.cc) and of a table behind a product
/// (fuse_byte_tables.cc); decompositions (lower/cpu/lower.cc) undo both.
struct ByteTableParams {
  /// kByteTableSize elements of i8 or u8, whose dtype is that of the result; otherwise inference
  /// refuses the node (kInvalidModel). Absent: results are not looked up.
  std::optional<Constant> table;

  template <class Visitor>
  void visit(Visitor& v) {
    v.internal("table", table);
  }
};
/// Returns the table of `node`, which shares its bytes; nullopt if it has none.
inline std::optional<Constant> byte_table(const Node& node) {
  return params_of<ByteTableParams>(node).table;
}
/// Returns whether `node` has a table, without a copy of it.
inline bool has_byte_table(const Node& node) {
  return node.attributes.find(param_name(&ByteTableParams::table)) != nullptr;
}

/// ConvInteger (since operator set 10): a convolution of integers of 8 bits. MatMulInteger has
/// ByteTableParams alone.
struct ConvIntegerParams : ConvParams, ByteTableParams {
  template <class Visitor>
  void visit(Visitor& v) {
    ConvParams::visit(v);
    ByteTableParams::visit(v);
  }
};

/// DequantizeLinear (since operator set 10). Scales along `axis`: one for each index, or for each
/// block of `block_size` neighbours if that is not 0. One scale for the whole tensor needs no axis,
/// which is then not checked. The zero point has the shape of the scales.
struct DequantizeLinearParams : AxisParams<1> {
  /// ONNX `block_size`, in [0, 2^31]. Above 0 the scales have the rank of the input, with size
  /// ceil(n / block_size) along the axis and the input's along others; a smaller last block is
  /// allowed.
  std::int64_t block_size = 0;
  /// ONNX `output_dtype`: ONNX's number of the result's type. 0: not stated; DequantizeLinear then
  /// gives the type of the scale (f32 if that is float8e8m0), QuantizeLinear that of the zero
  /// point, or u8. A type that the operator cannot give, or not that of the zero point:
  /// kInvalidModel.
  std::int64_t output_dtype = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("block_size", block_size);
    v("output_dtype", output_dtype);
  }
};

/// QuantizeLinear (since operator set 10): kQuantisedTypes of floats or i32.
struct QuantizeLinearParams : DequantizeLinearParams, ByteTableParams {
  /// ONNX `precision`: ONNX's number of the type of floats that the division is computed in; 0: not
  /// stated. Checked to be a type of floats, otherwise not read.
  std::int64_t precision = 0;
  /// ONNX `saturate`: as CastLikeParams::saturate, for results that are floats of 8 bits. Integers
  /// always saturate.
  bool saturate = true;

  template <class Visitor>
  void visit(Visitor& v) {
    DequantizeLinearParams::visit(v);
    v("precision", precision);
    v("saturate", saturate);
    ByteTableParams::visit(v);
  }
};

}  // namespace parallax
