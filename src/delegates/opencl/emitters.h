// The emitters that operators.def names: each emits the launches of its operators. Thread-safety:
// as EmitFunction.
#pragma once

#include "base/status.h"
#include "delegates/opencl/emit.h"

namespace parallax::opencl {

#define PX_CL_EMITTER(name) Status name(Emission& e);
PX_CL_EMITTER(emit_view)
PX_CL_EMITTER(emit_transpose)
PX_CL_EMITTER(emit_expand)
PX_CL_EMITTER(emit_slice)
PX_CL_EMITTER(emit_concat)
PX_CL_EMITTER(emit_split)
PX_CL_EMITTER(emit_tile)
PX_CL_EMITTER(emit_pad)
PX_CL_EMITTER(emit_range)
PX_CL_EMITTER(emit_gather)
PX_CL_EMITTER(emit_resize)
PX_CL_EMITTER(emit_softmax)
PX_CL_EMITTER(emit_normalization)
PX_CL_EMITTER(emit_lp_normalization)
PX_CL_EMITTER(emit_batch_normalization)
PX_CL_EMITTER(emit_reduce)
PX_CL_EMITTER(emit_arg_max)
PX_CL_EMITTER(emit_pool)
PX_CL_EMITTER(emit_global_pool)
PX_CL_EMITTER(emit_matmul)
PX_CL_EMITTER(emit_gemm)
PX_CL_EMITTER(emit_conv)
PX_CL_EMITTER(emit_attention)
#undef PX_CL_EMITTER

/// Emits a matrix product, for all operators that contain one. `p` and `r` describe the layout of
/// the operands.
void emit_product(Emission& e, ProductArgument p, const ResultArgument& r, TensorArgument a,
                  TensorArgument b, TensorArgument c, TensorArgument y);

}  // namespace parallax::opencl
