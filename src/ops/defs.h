// Declares the definition of every operator: op_def_Abs(), op_def_Add(), ... One per row of
// ir/op_kinds.def, defined in the family files of ops/. Only ops/ includes this.
#pragma once

#include "ops/op.h"

namespace parallax {

#define PX_OP(name) const OpDef& op_def_##name();
#include "ir/op_kinds.def"
#undef PX_OP

}  // namespace parallax
