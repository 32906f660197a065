// A scope in which this thread's arithmetic treats denormal f32 (below 1.2e-38) as zero. Kernels of
// products and convolutions open one in each tile: weights of trained channels that never fire are
// often denormal, and each multiplication by one takes an x86 CPU some hundred cycles. Other
// operators keep denormals, of which Log or a quotient may make ordinary numbers.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace parallax {

/// The constructor changes the mode of the calling thread and the destructor restores the one
/// before, so scopes may nest; they must end on the thread that they began on.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kOperands | kResults); }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  // 64-bit Arm CPUs compute with denormals at full speed.
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  /// Bits of MXCSR. kOperands (denormals are zeros) treats operands as zeros, kResults (flush to
  /// zero) rounds results to zero.
  static constexpr unsigned kOperands = 1U << 6, kResults = 1U << 15;
  /// MXCSR as the constructor found it.
  unsigned before_;
#endif
};

}  // namespace parallax
