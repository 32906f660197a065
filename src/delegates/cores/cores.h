// The delegate "cores": its own threads run regions with the CPU's kernels, as big cores or an NPU
// would do in parallel with the cores of the runtime. It works in the host's memory, so nothing is
// copied, and its results are bit-identical to those of the CPU for the same nodes.
//
// Its options, after "cores:", are separated by commas: the number of threads (default 1), and a
// profile (a .toml file) whose operators, types, ranks and limits it claims; without a profile it
// claims all operators that have kernels. The rates are those of the core on which
// kernels were measured (kMeasuredCore), in both cases.
//
// Thread-safe, as delegate.h requires.
//
// Options that are no number from 1 to 256 and no profile that can be read make open fail with
// kInvalidInput or kIo. Compiling, packing and binding happen on the calling thread; runs on the
// threads of the device.
#pragma once

#include "parallax/delegate.h"

namespace parallax {

// Returns the delegate's table; it lives as long as the process.
const px_delegate* cores_delegate();

}  // namespace parallax
