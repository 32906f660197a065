// The emitters that operators.def names: each emits the launches of its operators. Thread-safety:
// as EmitFunction. check_node_covered() has accepted the node before, so its types, its rank and
// its first input and output are known to be right.
#pragma once

#include "base/status.h"
#include "delegates/opencl/emit/emit.h"

namespace parallax::opencl {

#define PX_CL_OP(op, types, most_dimensions, emitter, ...) Status emitter(Emission& e);
#include "delegates/opencl/operators.def"

/// Emits a matrix product, for all operators that contain one. `p` and `r` describe the layout of
/// the operands. `c` may be without a place if `r.has_c` is 0. Launches the kernel through local
/// memory or the one without, as `e` says; the latter may need scratch memory for a `b` whose
/// columns are not contiguous. REQUIRES: the result is not empty.
void emit_product(Emission& e, ProductArgument p, const ResultArgument& r, TensorArgument a,
                  TensorArgument b, TensorArgument c, TensorArgument y);

}  // namespace parallax::opencl
