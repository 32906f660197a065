#include "parallax/runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/caught.h"
#include "base/machine/cpu.h"
#include "base/machine/fork.h"
#include "base/mutex.h"
#include "base/status.h"
#include "session/memory_account.h"
#include "session/model_impl.h"
#include "session/runtime_impl.h"

namespace parallax {
namespace {

std::shared_ptr<Runtime::Impl> make(const RuntimeOptions& options) {
  const int threads = options.threads > 0 ? options.threads : usable_cpus();
  return {new Runtime::Impl(options, threads), [](const Runtime::Impl* old) {
            const Call call;
            // After an unsafe fork its locks may be held for ever.
            if (!forked_during_call()) delete old;
          }};
}

std::shared_ptr<Runtime::Impl> shared_impl() {
  static Mutex mutex{LockOrder::kRuntime};
  static std::weak_ptr<Runtime::Impl> shared PX_GUARDED_BY(mutex);
  const MutexLock lock(mutex);
  std::shared_ptr<Runtime::Impl> impl = shared.lock();
  if (impl == nullptr) shared = impl = make({});
  return impl;
}

}  // namespace

Result<Runtime> Runtime::create(const RuntimeOptions& options) {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    if (options.threads < 0 || options.threads > kMaxThreads) {
      return tl::unexpected(Error{
          Stage::kSession,
          ErrorCode::kInvalidInput,
          {},
          fmt::format("threads must be 0 (all CPUs) to {}, not {}", kMaxThreads, options.threads)});
    }
    return Runtime(make(options));
  } catch (...) {
    return tl::unexpected(caught(Stage::kSession));
  }
}

Result<Runtime> Runtime::shared() {
  const Call call;
  try {
    PX_RETURN_IF_ERROR(check_fork());
    return Runtime(shared_impl());
  } catch (...) {
    return tl::unexpected(caught(Stage::kSession));
  }
}

int Runtime::threads() const { return impl_->workers.most_threads(); }

std::vector<DelegateReport> Runtime::delegates() const {
  const Call call;
  if (forked_during_call()) return {};
  try {
    return impl_->delegates.list();
  } catch (...) {
    return {};
  }
}

std::vector<std::string> Runtime::built_in_delegates() {
  std::vector<std::string> names;
  for (const px_delegate* const table : parallax::built_in_delegates())
    names.emplace_back(table->name);
  return names;
}

void Runtime::trim() {
  const Call call;
  if (forked_during_call()) return;
  try {
    impl_->trim();
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a list: the rest is kept
  }
}

void Runtime::Impl::add(const std::shared_ptr<MemoryAccount>& account) {
  const MutexLock lock(mutex_);
  std::erase_if(accounts_, [&](const auto& other) {
    return other.expired() || (!other.owner_before(account) && !account.owner_before(other));
  });
  accounts_.push_back(account);
}

void Runtime::Impl::trim() {
  std::vector<std::shared_ptr<MemoryAccount>> accounts;
  {
    const MutexLock lock(mutex_);
    accounts.reserve(accounts_.size());
    for (const auto& account : accounts_)
      if (auto held = account.lock()) accounts.push_back(std::move(held));
  }
  for (const auto& account : accounts) account->trim();
}

int Runtime::Impl::start(int threads) {
  const int started = workers.start(threads), wanted = std::min(threads, workers.most_threads());
  if (started < wanted)
    log.warn(fmt::format("the system provides only {} of {} threads", started, wanted));
  async.keep_within(async_threads());
  return started;
}

Result<Runtime> runtime_for(const SessionOptions& options, const Model& model) {
  std::optional<Runtime> runtime = impl_of(model).runtime;
  if (!runtime) {
    PX_ASSIGN(runtime, Runtime::shared());
  }
  if (options.threads <= runtime->threads()) return *runtime;
  RuntimeOptions own = impl_of(*runtime).options;
  impl_of(*runtime).log.info(
      fmt::format("a session of {} threads has a runtime of its own: its model's has {} threads",
                  options.threads, runtime->threads()));
  own.threads = options.threads;
  return Runtime::create(own);
}

}  // namespace parallax
