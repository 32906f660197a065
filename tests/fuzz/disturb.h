// What Noise (interpret.h) does to results. Thread-safety: pure functions.
#pragma once

#include "interpret.h"

namespace parallax::fuzz {

/// Operators whose results every kernel gives to the bit, besides those that move data.
bool is_exact(OpKind op);

/// Whether a small result may be what is left of larger elements.
bool cancels(OpKind op);

/// Whether it adds up many terms, so that its kernels may leave another rest of 0.
bool sums(OpKind op);

float largest_magnitude(const Constant& tensor);

/// `largest`: the magnitude below whose `noise.size` elements may be flushed.
Constant disturbed(const Constant& tensor, const Noise& noise, float largest);

}  // namespace parallax::fuzz
