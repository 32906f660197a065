#include "planning/graph_version.h"

#include "planning/graph_stamp.h"

namespace parallax {

std::string graph_version() { return kGraphStamp; }

}  // namespace parallax
