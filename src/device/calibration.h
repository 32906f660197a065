// What was timed on a device, and what follows from it for other work. Units: seconds, bytes,
// multiply-accumulates (MAC). Thread-safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/work_kind.h"

namespace parallax {

/// Work per second of one operator: MACs, or bytes read and written for an operator that counts no
/// MACs (data movement, which costs nothing under `exact`). Both > 0.
struct OpRate {
  double delegate = 0, cpu = 0;
};

/// A piece of work that was timed on both sides, all > 0.
struct WorkSample {
  WorkKind kind = WorkKind::kElementwise;
  double predicted = 0;  ///< of one core, by the rates of its kernels (cost/kernel_seconds.h)
  double cpu = 0;        ///< of all threads that a run has
  double delegate = 0;   ///< without launch and copies
};

/// What runs of a region took, copies included.
struct RegionSample {
  std::uint64_t key = 0;  ///< region_key()
  std::string node;       ///< the first of it, for people
  double predicted = 0;   ///< by the rates alone
  double seconds = 0;     ///< the median of the last runs
};

/// What runs of a whole graph took whose rows were split (co_execution.h).
struct SplitSample {
  std::uint64_t key = 0;  ///< region_key() of all nodes of the graph before
  int share = 0;          ///< of the rows on the device, in 1 / kShares
  double seconds = 0;     ///< the median of the last runs; kRefused: there is no such split
  static constexpr double kRefused = 1e3;
};
/// Steps in which the share of rows is chosen.
inline constexpr int kShares = 32;

/// What was measured on a device; where it has no figure, the profile's constants hold.
struct Calibration {
  std::optional<double> launch_seconds, bytes_per_second;
  std::map<OpKind, OpRate> rates;  ///< of no use where there are samples
  std::vector<WorkSample> samples;
  std::vector<RegionSample> regions;
  std::vector<SplitSample> splits;

  bool has_samples_of(WorkKind kind) const;
};

/// What the samples say of other work of their kind, or, where there is none of it, of any kind.
class WorkRates {
 public:
  explicit WorkRates(const Calibration& calibration);

  /// Of work that one core is predicted to take `predicted` for.
  double cpu(WorkKind kind, double predicted) const;
  double delegate(WorkKind kind, double predicted) const;

 private:
  struct Point {
    double predicted = 0, measured = 0;
  };
  using Points = std::vector<Point>;  ///< ascending
  static double at(const Points& points, double predicted, double otherwise);

  std::vector<Points> cpu_, delegate_;         ///< by kind
  double cpu_scale_ = 1, delegate_scale_ = 1;  ///< measured / predicted of all kinds
};

/// How much longer regions took than the rates said: the median, between 1/4 and 4; 1 of none.
double region_factor(const Calibration& calibration);

/// The share that the next plan of the graph `key` should have: beside the best of those that runs
/// were timed with one that was not, else the best. Nothing where none was.
std::optional<int> next_share(const Calibration& calibration, std::uint64_t key);
/// The one with which runs took least. Nothing where none was timed.
std::optional<int> best_share(const Calibration& calibration, std::uint64_t key);

}  // namespace parallax
