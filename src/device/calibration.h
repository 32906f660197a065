// Measurements of a device, and estimates for other work that follow from them. Units: seconds,
// bytes, multiply-accumulates (MAC). Thread-safety: plain values and pure functions.
//
// rates/ measures them and keeps them in files (profile_toml.h has the format); partition/ and
// planning/ price nodes and regions with them. The functions here read neither a clock nor a file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/work_kind.h"

namespace parallax {

/// Work per second of one operator: MACs, or bytes read and written for an operator without MACs
/// (data movement, which costs nothing under `exact`). Both > 0. Files hold them under
/// [rates.NAME]; only the cost model `measured` uses them.
struct OpRate {
  double delegate = 0, cpu = 0;
};

/// Times of a piece of work that was measured on both sides, all > 0. Files accept 1e-12 to 1e6
/// seconds each.
struct WorkSample {
  WorkKind kind = WorkKind::kElementwise;
  double predicted = 0;  ///< on one core, by the rates of its kernels (cost/kernel_seconds.h)
  double cpu = 0;        ///< on all threads of a run
  double delegate = 0;   ///< without launch and copies
};

/// The measured time of a region, copies included.
struct RegionSample {
  /// region_key(). It hashes the operators, names, types and sizes of the nodes, so it holds for
  /// one binding of the shapes.
  std::uint64_t key = 0;
  /// Its first node, for people; `key` finds the sample.
  std::string node;
  /// Predicted from the rates alone. In seconds, > 0 if it counts in region_factor().
  double predicted = 0;
  double seconds = 0;  ///< the median of the last runs
};

/// The measured time of a graph whose rows are divided between CPU and device (co_execution.h).
struct SplitSample {
  std::uint64_t key = 0;  ///< region_key() of all nodes of the graph before the split
  /// Rows on the device, in 1 / kShares. 1 to kShares - 1: neither side gets everything.
  int share = 0;
  double seconds = 0;  ///< the median of the last runs; kRefused: such a split is impossible
  /// Longer than any run that is worth timing; samples of at least this many seconds are never the
  /// best share, but count as tried.
  static constexpr double kRefused = 1e3;
};
/// Number of steps in which the share of rows is chosen. A share of k gives the device k / 32 of
/// the rows.
inline constexpr int kShares = 32;

/// All measurements of a device; the profile's constants apply if a value is missing.
struct Calibration {
  /// Measured counterparts of Delegate::launch_seconds and Delegate::bytes_per_second: seconds from
  /// the call to the start, and bytes per second of copies to or from the device.
  std::optional<double> launch_seconds, bytes_per_second;
  std::map<OpKind, OpRate> rates;  ///< ignored if there are samples
  /// Any order, several for each kind.
  std::vector<WorkSample> samples;
  std::vector<RegionSample> regions;
  std::vector<SplitSample> splits;

  /// Returns whether there is a sample of this kind.
  bool has_samples_of(WorkKind kind) const;
};

/// Estimates the time of work from samples of its kind, or of any kind if its kind has no sample.
/// Immutable after construction; keeps no reference to the calibration. REQUIRES: times of samples
/// > 0.
class WorkRates {
 public:
  explicit WorkRates(const Calibration& calibration);

  /// Return the estimated seconds of work that needs `predicted` seconds on one core by the rates
  /// of its kernels: interpolated between samples of the kind; without any, scaled by the mean
  /// ratio of all samples; 1:1 without samples. Larger work than any sample has the rate of the
  /// largest; smaller work follows the line through the two smallest samples, within the rate of
  /// the smallest and its time. 0 for `predicted` <= 0. The mean of all kinds is geometric.
  double cpu(WorkKind kind, double predicted) const;
  double delegate(WorkKind kind, double predicted) const;

 private:
  struct Point {
    double predicted = 0, measured = 0;
  };
  using Points = std::vector<Point>;  ///< ascending
  /// `otherwise`: the factor if there are no points.
  static double at(const Points& points, double predicted, double otherwise);

  std::vector<Points> cpu_, delegate_;         ///< indexed by WorkKind
  double cpu_scale_ = 1, delegate_scale_ = 1;  ///< measured / predicted of all kinds
};

/// Returns how much longer regions took than the rates predict: the median ratio, limited to [1/4,
/// 4]; 1 without measurements. Regions without a prediction are ignored. The factor scales
/// predictions of regions that were not timed themselves.
double region_factor(const Calibration& calibration);

/// Returns the share for the next plan of the graph `key`: an untimed neighbour of the best timed
/// share, or else the best one; nullopt if no share was timed. Neighbours are one step away: first
/// one more for the device, then one less, both within 1 to kShares - 1. A share counts as timed if
/// a sample exists, also one of kRefused.
std::optional<int> next_share(const Calibration& calibration, std::uint64_t key);
/// Returns the share with the shortest runs; nullopt if no share was timed. Samples of kRefused do
/// not count; of equal times the first sample wins.
std::optional<int> best_share(const Calibration& calibration, std::uint64_t key);

}  // namespace parallax
