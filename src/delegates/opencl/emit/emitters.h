// The emitters that operators.def names: each emits the launches of its operators. Called while a
// region is bound (bind.cc), concurrently only with different Emissions. REQUIRES:
// check_node_covered() has accepted the node, so its first input and output are present, and types
// and ranks match its row of operators.def. Emitters check attributes and sizes themselves.
// There is one exception: to copy an output, Binder calls emit_view() with an empty node, which no
// check has accepted.
#pragma once

#include "base/status.h"
#include "delegates/opencl/emit/emit.h"

namespace parallax::opencl {

#define PX_CL_OP(op, types, most_dimensions, emitter, ...) Status emitter(Emission& e);
#include "delegates/opencl/operators.def"

/// Emits a matrix product, for all operators that contain one. `p` and `r` describe the layout of
/// the operands. If `r.has_c` is 0, `c` is not read and may have no place. Launches the kernel
/// through local memory or the one without (e.through_local_memory); the latter may need scratch
/// memory for a `b` whose columns are not contiguous. REQUIRES: the result is not empty.
void emit_product(Emission& e, ProductArgument p, const ResultArgument& r, TensorArgument a,
                  TensorArgument b, TensorArgument c, TensorArgument y);

}  // namespace parallax::opencl
