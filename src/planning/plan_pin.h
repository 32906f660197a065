// The placement that a session keeps from run to run (SessionOptions::pinned_plan), in a file that
// grows by one entry for each new size.
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

class PlanPin {
 public:
  /// For a delegate and the model with this canonical graph. Reads `file` if it is there. Errors:
  /// kIo; kInvalidInput for a file that has no plans, or those of another model or delegate.
  static Result<std::shared_ptr<PlanPin>> open(const std::filesystem::path& file,
                                               const std::string& delegate, const Graph& canonical);

  /// The regions under `binding`; nullopt if none are kept. Errors: of concrete_shapes().
  Result<std::optional<PinnedPlans::Regions>> find(const Graph& canonical,
                                                   const Binding& binding) const;
  /// Keeps those of a plan for `binding`, unless some are kept, and adds them to the file unless
  /// another process has. A full file is left as it is, which `log` is told once. Errors: kIo;
  /// kInvalidInput for a name that the file cannot hold and as open(). Nothing is kept then.
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
  std::size_t bytes_ PX_GUARDED_BY(mutex_) = 0;  // of the file, as it was read or written last
  bool full_ PX_GUARDED_BY(mutex_) = false;
};

}  // namespace parallax
