// Declares the kernels of kernels.def. Look them up with object_kernel(): only its table and the
// kernels' own files include this. Errors: as ObjectKernel's.
#pragma once

#include "kernels/objects/object_kernel.h"

namespace parallax {

/// Kernel of all operators that move elements of strings without changing them (moves_strings()).
Status move_strings(const ObjectCall& call);
// One function per row; several operators may share one.
#define PX_OBJECT_KERNEL(op, function) Status function(const ObjectCall& call);
#include "kernels/objects/kernels.def"
#undef PX_OBJECT_KERNEL

}  // namespace parallax
