// Helpers for tests that limit the address space.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace parallax {

/// Returns false if the system accepts a limit on the address space but does not keep it, as
/// qemu-user does.
inline bool keeps_address_limits() {
  rlimit before{}, after{};
  if (::getrlimit(RLIMIT_AS, &before) != 0) return false;
  if (before.rlim_cur != RLIM_INFINITY) return true;
  rlimit limit = before;
  limit.rlim_cur = rlim_t{1} << 60;
  const bool kept = ::setrlimit(RLIMIT_AS, &limit) == 0 && ::getrlimit(RLIMIT_AS, &after) == 0 &&
                    after.rlim_cur == limit.rlim_cur;
  return ::setrlimit(RLIMIT_AS, &before) == 0 && kept;
}

inline constexpr const char* kNoAddressLimits =
    "this system keeps no limit of the address space: qemu-user";

}  // namespace parallax
