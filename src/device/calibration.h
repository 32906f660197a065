// Measurements of a device, and estimates for other work that follow from them. Units: seconds,
// bytes, multiply-accumulates (MAC). Thread-safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/work_kind.h"

namespace parallax {

/// Work per second of one operator: MACs, or bytes read and written for an operator without MACs
/// (data movement, which costs nothing under `exact`). Both > 0.
struct OpRate {
  double delegate = 0, cpu = 0;
};

/// Times of a piece of work that was measured on both sides, all > 0.
struct WorkSample {
  WorkKind kind = WorkKind::kElementwise;
  double predicted = 0;  ///< on one core, by the rates of its kernels (cost/kernel_seconds.h)
  double cpu = 0;        ///< on all threads of a run
  double delegate = 0;   ///< without launch and copies
};

/// The measured time of a region, copies included.
struct RegionSample {
  std::uint64_t key = 0;  ///< region_key()
  std::string node;       ///< its first node, for people
  double predicted = 0;   ///< predicted from the rates alone
  double seconds = 0;     ///< the median of the last runs
};

/// The measured time of a graph whose rows are divided between CPU and device (co_execution.h).
struct SplitSample {
  std::uint64_t key = 0;  ///< region_key() of all nodes of the graph before the split
  int share = 0;          ///< rows on the device, in 1 / kShares
  double seconds = 0;     ///< the median of the last runs; kRefused: such a split is impossible
  static constexpr double kRefused = 1e3;
};
/// Number of steps in which the share of rows is chosen.
inline constexpr int kShares = 32;

/// All measurements of a device; the profile's constants apply if a value is missing.
struct Calibration {
  std::optional<double> launch_seconds, bytes_per_second;
  std::map<OpKind, OpRate> rates;  ///< ignored if there are samples
  std::vector<WorkSample> samples;
  std::vector<RegionSample> regions;
  std::vector<SplitSample> splits;

  /// Returns whether there is a sample of this kind.
  bool has_samples_of(WorkKind kind) const;
};

/// Estimates the time of work from samples of its kind, or of any kind if its kind has no sample.
class WorkRates {
 public:
  explicit WorkRates(const Calibration& calibration);

  /// Return the estimated seconds of work that needs `predicted` seconds on one core by the rates
  /// of its kernels: interpolated between samples of the kind; without any, scaled by the mean
  /// ratio of all samples; 1:1 without samples.
  double cpu(WorkKind kind, double predicted) const;
  double delegate(WorkKind kind, double predicted) const;

 private:
  struct Point {
    double predicted = 0, measured = 0;
  };
  using Points = std::vector<Point>;  ///< ascending
  static double at(const Points& points, double predicted, double otherwise);

  std::vector<Points> cpu_, delegate_;         ///< indexed by WorkKind
  double cpu_scale_ = 1, delegate_scale_ = 1;  ///< measured / predicted of all kinds
};

/// Returns how much longer regions took than the rates predict: the median ratio, limited to [1/4,
/// 4]; 1 without measurements.
double region_factor(const Calibration& calibration);

/// Returns the share for the next plan of the graph `key`: an untimed neighbour of the best timed
/// share, or else the best one; nullopt if no share was timed.
std::optional<int> next_share(const Calibration& calibration, std::uint64_t key);
/// Returns the share with the shortest runs; nullopt if no share was timed.
std::optional<int> best_share(const Calibration& calibration, std::uint64_t key);

}  // namespace parallax
