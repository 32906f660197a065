#include "session/graph_version.h"

#include "session/graph_stamp.h"

namespace parallax {

std::string graph_version() { return kGraphStamp; }

}  // namespace parallax
