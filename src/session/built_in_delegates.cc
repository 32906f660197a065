// The delegates that this build has: a line each.
#include "session/delegates.h"

namespace parallax {

std::vector<const px_delegate*> built_in_delegates() { return {}; }

}  // namespace parallax
