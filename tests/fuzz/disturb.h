// What Noise (interpret.h) does to results. Thread-safety: pure functions.
#pragma once

#include <span>

#include "interpret.h"

namespace parallax::fuzz {

/// Operators whose results every kernel gives to the bit, besides those that move data.
bool is_exact(OpKind op);

/// Whether a small result may be what is left of larger elements.
bool cancels(OpKind op);

/// Whether it adds up many terms, so that kernels may leave different remainders of 0.
bool sums(OpKind op);

/// Whether a fast kernel may give NaN beside the elements that an infinity or NaN among the inputs
/// reaches (docs/decisions/kernels-and-tiles.md: 3x3 convolutions). Null inputs are left out.
bool spreads_nan(const CaseNode& node, std::span<const Constant* const> inputs);

/// NaN in the place of every float.
Constant all_nan(const Constant& tensor);

float largest_magnitude(const Constant& tensor);

/// `largest`: the magnitude below whose `noise.size` elements may be flushed.
Constant disturbed(const Constant& tensor, const Noise& noise, float largest);

}  // namespace parallax::fuzz
