// Properties of DFT and STFT for inference and kernels. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Inputs of DFT behind the signal, and of STFT: each one number (i32 or i64), but for the window,
/// a vector as long as a frame. DFT's axis is -2 if it is left out.
inline constexpr std::size_t kDftLength = 1, kDftAxis = 2;
inline constexpr std::size_t kStftStep = 1, kStftWindow = 2, kStftLength = 3;

}  // namespace parallax
