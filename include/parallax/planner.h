// The planner of a session, for research and tools: plans without runs, predictions for other
// devices, and figures on the plans that the session keeps. A program that only runs models does
// not need it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "parallax/model.h"
#include "parallax/options.h"
#include "parallax/report.h"
#include "parallax/result.h"
#include "parallax/session.h"

namespace parallax {

/// Refers to a session, which must outlive it; moving the session keeps it valid. Thread-safe, also
/// while the session runs. Cheap to make and to copy.
class Planner {
 public:
  explicit Planner(Session& session);

  /// Plans without running, with the session's delegates unless `options` names a profile. `dims`
  /// gives a value to each of the model's symbols, once. Errors: kUnboundSymbol for a symbol
  /// without a value; kInvalidInput for an unknown or repeated name or a negative value;
  /// kBudgetExceeded; kOutOfMemory; with a profile also kIo and kInvalidInput for its file, and
  /// kInvalidInput if it describes no delegate.
  Result<PlanReport> plan(std::span<const DimValue> dims, const PlanOptions& options = {});
  /// Replays that plan on the fastest cores, Session::threads() of them, of the device profile in
  /// the file `profile` (`parallax calibrate` writes one for this machine; profiles/ has phones).
  /// The delegate of `options.profile` runs its regions next to these cores, in the time that the
  /// cost model predicts. Errors: as plan(); kIo and kInvalidInput for the file, and kInvalidInput
  /// if it has fewer cores.
  Result<Prediction> predict(std::span<const DimValue> dims, const std::filesystem::path& profile,
                             const PlanOptions& options = {});
  /// Returns the number of cores of the device of a profile. Errors: kIo, kInvalidInput.
  static Result<int> profile_cores(const std::filesystem::path& profile);

  /// Bytes of the plans that the session keeps, the latest one included: an estimate.
  std::int64_t cache_bytes() const;
  /// Milliseconds that the session has spent on planning and packing so far.
  PlanTimes times() const;

 private:
  Session::Impl* session_;
};

}  // namespace parallax
