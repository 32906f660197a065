// The emitters that operators.def names: each emits the launches of its operators. Thread-safety:
// as EmitFunction.
#pragma once

#include "base/status.h"
#include "delegates/opencl/emit/emit.h"

namespace parallax::opencl {

#define PX_CL_OP(op, types, most_dimensions, emitter, ...) Status emitter(Emission& e);
#include "delegates/opencl/operators.def"

/// Emits a matrix product, for all operators that contain one. `p` and `r` describe the layout of
/// the operands.
void emit_product(Emission& e, ProductArgument p, const ResultArgument& r, TensorArgument a,
                  TensorArgument b, TensorArgument c, TensorArgument y);

}  // namespace parallax::opencl
