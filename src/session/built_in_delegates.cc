// The delegates that this build contains, one line each.
#include "delegates/cores/cores.h"
#include "delegates/opencl/opencl_delegate.h"
#include "session/delegates.h"

namespace parallax {

std::vector<const px_delegate*> built_in_delegates() {
  return {cores_delegate(), px_opencl_delegate()};
}

}  // namespace parallax
