// Pinned plans: the placement that a session always uses (SessionOptions::pinned_plan), in a file
// that grows by one entry for each new combination of sizes.
//
// Thread-safe; sessions and processes may share a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/files/locked_file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "ir/graph.h"
#include "partition/pin_file.h"

namespace parallax {

/// The pinned plans of one model and delegate.
class PlanPin {
 public:
  /// Opens the plans of a delegate and the model with this canonical graph. Reads `file` if it
  /// exists. Errors: kIo; kInvalidInput for a file that is no pinned plan, or that belongs to
  /// another model or delegate.
  static Result<std::shared_ptr<PlanPin>> open(const std::filesystem::path& file,
                                               const std::string& delegate, const Graph& canonical);

  /// Returns the regions under `binding`; nullopt if no plan is pinned for it. Errors: those of
  /// concrete_shapes().
  Result<std::optional<PinnedPlans::Regions>> find(const Graph& canonical,
                                                   const Binding& binding) const;
  /// Pins the regions of a plan for `binding`, unless some are pinned already, and adds them to the
  /// file unless another process has. A full file is not changed, which is logged once. Errors:
  /// kIo; kInvalidInput for a name that the file cannot hold and as open(). Nothing is pinned then.
  Status keep(const Graph& canonical, const Binding& binding, PinnedPlans::Regions regions,
              const Logger& log);
  const std::filesystem::path& file() const { return file_; }

 private:
  PlanPin(std::filesystem::path file, PinnedPlans plans)
      : file_(std::move(file)), plans_(std::move(plans)) {}
  Result<bool> add(std::uint64_t sizes, PinnedPlans::Regions regions);
  Status read(const LockedFile& file) PX_REQUIRES(mutex_);

  const std::filesystem::path file_;
  mutable Mutex mutex_;
  PinnedPlans plans_ PX_GUARDED_BY(mutex_);
  std::size_t bytes_ PX_GUARDED_BY(mutex_) = 0;  // size of the file when last read or written
  bool full_ PX_GUARDED_BY(mutex_) = false;
};

}  // namespace parallax
