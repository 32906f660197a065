#include "base/machine/thread_affinity.h"

namespace parallax {

void ThreadAffinity::avoid_this_cpu() {
  const int cpu = ::sched_getcpu();
  if (avoids_ || cpu < 0 || cpu >= CPU_SETSIZE) return;
  if (::pthread_getaffinity_np(thread_, sizeof(all_), &all_) != 0) return;
  some_ = all_;
  CPU_CLR(static_cast<std::size_t>(cpu), &some_);
  if (CPU_COUNT(&some_) == 0 || CPU_EQUAL(&some_, &all_) != 0) return;
  avoids_ = ::pthread_setaffinity_np(thread_, sizeof(some_), &some_) == 0;
}

void ThreadAffinity::restore() {
  if (!avoids_) return;
  avoids_ = false;
  cpu_set_t now;
  if (::pthread_getaffinity_np(thread_, sizeof(now), &now) != 0) return;
  if (CPU_EQUAL(&now, &some_) != 0) (void)::pthread_setaffinity_np(thread_, sizeof(all_), &all_);
}

}  // namespace parallax
