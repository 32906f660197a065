// Properties of DFT and STFT for inference and kernels. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parallax {

/// Inputs of DFT, and of STFT.
inline constexpr std::size_t kDftLength = 1, kDftAxis = 2;
inline constexpr std::size_t kStftStep = 1, kStftWindow = 2, kStftLength = 3;

}  // namespace parallax
