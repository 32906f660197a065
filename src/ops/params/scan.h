// Attributes of Scan.
#pragma once

#include "ops/params/params.h"

namespace parallax {

/// A list has an element for each scan input or output, or is empty. There may be very many scans:
/// find_param() reads a list without copying it.
struct ScanParams {
  std::int64_t num_scan_inputs = 0;
  std::vector<std::int64_t> input_axes, output_axes;              ///< default: 0
  std::vector<std::int64_t> input_directions, output_directions;  ///< 1: from the end; default: 0

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
