// Attributes of operators that quantise, and of products of integers.
#pragma once

#include "ops/params/axis.h"
#include "ops/params/window.h"

namespace parallax {

/// The number of entries of ByteTableParams::table.
inline constexpr std::int64_t kByteTableSize = 256;

/// QuantizeLinear of a tensor of 8 bits: element x becomes entry x of a tensor of 256, an x below
/// zero the entry that its bits as an unsigned number name. Also of ConvInteger and MatMulInteger,
/// after they quantised their results.
struct ByteTableParams {
  std::optional<Constant> table;

  template <class Visitor>
  void visit(Visitor& v) {
    v.internal("table", table);
  }
};
inline std::optional<Constant> byte_table(const Node& node) {
  return params_of<ByteTableParams>(node).table;
}
/// The same without a copy of the table.
inline bool has_byte_table(const Node& node) {
  return node.attributes.find(param_name(&ByteTableParams::table)) != nullptr;
}

struct ConvIntegerParams : ConvParams, ByteTableParams {
  template <class Visitor>
  void visit(Visitor& v) {
    ConvParams::visit(v);
    ByteTableParams::visit(v);
  }
};

/// Scales along `axis`: one for each index, or for each block of `block_size` neighbours if that is
/// not 0.
struct DequantizeLinearParams : AxisParams<1> {
  std::int64_t block_size = 0;
  std::int64_t output_dtype = 0;  ///< ONNX's number; 0: not stated

  template <class Visitor>
  void visit(Visitor& v) {
    AxisParams::visit(v);
    v("block_size", block_size);
    v("output_dtype", output_dtype);
  }
};

struct QuantizeLinearParams : DequantizeLinearParams, ByteTableParams {
  std::int64_t precision = 0;  ///< ONNX's number; 0: not stated
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
