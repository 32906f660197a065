// Declares the kernels of kernels.def.
#pragma once

#include "kernels/objects/object_kernel.h"

namespace parallax {

Status move_strings(const ObjectCall& call);
#define PX_OBJECT_KERNEL(op, function) Status function(const ObjectCall& call);
#include "kernels/objects/kernels.def"
#undef PX_OBJECT_KERNEL

}  // namespace parallax
