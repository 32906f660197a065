// The placement that a session keeps from run to run (SessionOptions::pinned_plan). Internal to
// session/.
//
// Thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "ir/graph.h"
#include "partition/pin_file.h"

namespace parallax {

class PlanPin {
 public:
  /// Of a delegate for a model, whose canonical graph that is. Reads `file` where there is one.
  /// Errors: kIo; kInvalidInput for a file that is none of these, or of another model or delegate.
  static Result<std::shared_ptr<PlanPin>> open(const std::filesystem::path& file,
                                               const std::string& delegate, const Graph& canonical);

  /// The regions under `binding`; nothing where none is kept. Errors: of concrete_shapes().
  Result<std::optional<PinnedPlans::Regions>> find(const Graph& canonical,
                                                   const Binding& binding) const;
  /// Keeps those of a plan for `binding` and writes the file. The first of several plans counts.
  /// Errors: kIo.
  Status keep(const Graph& canonical, const Binding& binding, PinnedPlans::Regions regions);
  const std::filesystem::path& file() const { return file_; }

 private:
  explicit PlanPin(std::filesystem::path file) : file_(std::move(file)) {}

  const std::filesystem::path file_;
  mutable Mutex mutex_;
  PinnedPlans plans_ PX_GUARDED_BY(mutex_);
};

}  // namespace parallax
