// Attributes of Scan (since operator set 9). ops/control_flow.h reads them; If and Loop have no
// attributes beyond their bodies, which Node::bodies holds.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// A list has an element for each scan input or output, or is empty; another length is refused
/// (kInvalidModel). There may be very many scans: find_param() reads a list without copying it.
struct ScanParams {
  /// ONNX `num_scan_inputs`, required: the last inputs before the captures, which are cut into
  /// slices. The others are carried from trip to trip.
  std::int64_t num_scan_inputs = 0;
  /// ONNX `scan_input_axes` and `scan_output_axes`: the axis along which the body reads or gives
  /// slices; negative: counted from the last. The axis of an output is one of the whole tensor.
  /// Empty: 0.
  std::vector<std::int64_t> input_axes, output_axes;
  /// ONNX `scan_input_directions` and `scan_output_directions`: 1 reads or writes slices from the
  /// end, 0 from the beginning; another number is refused. Empty: 0.
  std::vector<std::int64_t> input_directions, output_directions;

  template <class Visitor>
  void visit(Visitor& v) {
    v("num_scan_inputs", num_scan_inputs);
    v("scan_input_axes", input_axes);
    v("scan_input_directions", input_directions);
    v("scan_output_axes", output_axes);
    v("scan_output_directions", output_directions);
  }
};

}  // namespace parallax
