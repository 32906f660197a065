#include "rates/delegate_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/caught.h"
#include "base/status.h"
#include "base/stopwatch.h"
#include "kernels/packing_version.h"
#include "rates/rate_file.h"

namespace parallax {
namespace {

/// The times of a region vary by as much from run to run.
constexpr double kNews = 0.05;

/// "AMD EPYC 9R14", or empty.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return {};
}

/// Adds what is not known in `to`.
void add_rates(const Calibration& found, Calibration& to) {
  if (!to.launch_seconds) to.launch_seconds = found.launch_seconds;
  if (!to.bytes_per_second) to.bytes_per_second = found.bytes_per_second;
  to.samples.insert(to.samples.end(), found.samples.begin(), found.samples.end());
}

}  // namespace

DelegateRates::DelegateRates(std::string key, std::filesystem::path file, int threads,
                             const Logger& log, RateRules rules)
    : key_(std::move(key)),
      file_(std::move(file)),
      threads_(threads),
      log_(log),
      rules_(std::move(rules)),
      since_(rules_.now()) {
  std::error_code ignored;
  if (file_.empty() || !std::filesystem::exists(file_, ignored)) return;
  auto loaded = load_rates(file_, key_);
  if (loaded) {
    calibration_ = std::move(loaded->calibration);
    since_ = loaded->since;
    forget_old();
  } else {
    log_.info(fmt::format("the delegate is timed again: {}", loaded.error().to_string()));
  }
}

void DelegateRates::forget_old() {
  const std::chrono::sys_seconds now = rules_.now();
  // A date to come is one of a clock that was wrong.
  if (now - since_ <= kMaxAge && since_ - now <= std::chrono::days(1)) return;
  calibration_ = {};
  passing_ = {};
  tried_.clear();
  times_.clear();
  split_times_.clear();
  since_ = now;
}

void DelegateRates::measure(const std::shared_ptr<const OpenDelegate>& delegate,
                            const std::set<WorkKind>& kinds, const ProbeMemory& memory) {
  const MutexLock one(measuring_);
  Calibration found;
  Measuring measuring{kinds, threads_, &found, memory};
  {
    const MutexLock lock(mutex_);
    forget_old();
    std::erase_if(measuring.wanted, [&](WorkKind kind) PX_REQUIRES(mutex_) {
      return tried_.contains(kind) || calibration_.has_samples_of(kind);
    });
  }
  if (measuring.wanted.empty()) return;
  const std::set<WorkKind> wanted = measuring.wanted;
  Stopwatch watch;
  Status status;
  try {
    status = parallax::measure(delegate, measuring, rules_.limit);
  } catch (...) {
    status = tl::unexpected(caught(Stage::kPartition));
  }
  if (!status)
    log_.info(fmt::format("timing delegate '{}': {}", delegate->spec, status.error().to_string()));
  log_.info(fmt::format("timed {} pieces of work on delegate '{}' and the CPU in {:.0f} ms",
                        found.samples.size(), delegate->spec, watch.lap()));
  const bool busy = measuring.spread > rules_.most_spread;
  if (busy)
    log_.info(
        fmt::format("the machine is busy, repeated timings spread by {:.0f} %: these rates "
                    "are not kept",
                    measuring.spread * 100));
  {
    const MutexLock lock(mutex_);
    for (const WorkKind kind : wanted)
      if (!measuring.wanted.contains(kind)) tried_.insert(kind);
    add_rates(found, busy ? passing_ : calibration_);
    changed_ = changed_ || !busy;
  }
  save();
}

/// Takes over what runs took.
void DelegateRates::learn() const {
  for (const std::shared_ptr<RegionTimes>& times : times_) {
    const std::optional<double> seconds = times->median();
    if (!seconds) continue;
    auto& regions = calibration_.regions;
    const auto found = std::ranges::find(regions, times->key, &RegionSample::key);
    if (found == regions.end()) {
      regions.push_back({times->key, times->node, times->predicted, *seconds});
      changed_ = true;
    } else if (std::fabs(*seconds - found->seconds) > kNews * found->seconds) {
      *found = {times->key, times->node, times->predicted, *seconds};
      changed_ = true;
    }
    if (regions.size() > kMaxRegions) regions.erase(regions.begin());
  }
  for (const auto& [split, times] : split_times_)
    if (const auto seconds = times->median()) learn_split({split.first, split.second, *seconds});
}

void DelegateRates::learn_split(const SplitSample& sample) const {
  auto& splits = calibration_.splits;
  const auto found = std::ranges::find_if(splits, [&](const SplitSample& each) {
    return each.key == sample.key && each.share == sample.share;
  });
  if (found == splits.end()) {
    splits.push_back(sample);
  } else if (std::fabs(sample.seconds - found->seconds) > kNews * found->seconds) {
    *found = sample;
  } else {
    return;
  }
  changed_ = true;
  if (splits.size() > kMaxSplits) splits.erase(splits.begin());
}

Calibration DelegateRates::known() const {
  const MutexLock lock(mutex_);
  learn();
  Calibration all = calibration_;
  add_rates(passing_, all);
  return all;
}

std::shared_ptr<RegionTimes> DelegateRates::times(std::uint64_t region, const std::string& node,
                                                  double predicted) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(times_, region, [](const auto& each) { return each->key; });
  if (found != times_.end()) return *found;
  learn();
  if (times_.size() >= kMaxRegions) times_.erase(times_.begin());
  return times_.emplace_back(std::make_shared<RegionTimes>(region, node, predicted, running_));
}

std::shared_ptr<RegionTimes> DelegateRates::split_times(std::uint64_t key, int share) {
  const MutexLock lock(mutex_);
  learn();
  if (split_times_.size() >= kMaxSplits) split_times_.erase(split_times_.begin());
  std::shared_ptr<RegionTimes>& times = split_times_[{key, share}];
  if (times == nullptr) times = std::make_shared<RegionTimes>(key, "", 0, running_splits_);
  return times;
}

void DelegateRates::refuse_split(std::uint64_t key, int share) {
  const MutexLock lock(mutex_);
  learn_split({key, share, SplitSample::kRefused});
}

void DelegateRates::assume(Calibration calibration) {
  const MutexLock lock(mutex_);
  calibration_ = std::move(calibration);
  changed_ = true;
}

void DelegateRates::save() {
  KeptRates now;
  {
    const MutexLock lock(mutex_);
    learn();
    if (!std::exchange(changed_, false) || file_.empty()) return;
    now = {calibration_, since_};
  }
  if (Status status = save_rates(file_, key_, now); !status)
    log_.warn(fmt::format("the rates of a delegate are not kept: {}", status.error().to_string()));
}

void RateStore::set_rules(RateRules rules) {
  const MutexLock lock(mutex_);
  rules_ = std::move(rules);
}

std::shared_ptr<DelegateRates> RateStore::of(const OpenDelegate& delegate, int threads) {
  const std::string key =
      fmt::format("{} on {}, driver {}; {} threads of {}, {}", delegate.spec, delegate.device_name,
                  delegate.driver, threads, cpu_name(), packing_version());
  RateRules rules;
  {
    const MutexLock lock(mutex_);
    if (const auto found = rates_.find(key); found != rates_.end()) return found->second;
    rules = rules_;
  }
  // The mutex is not held: this reads a file and may log. The first of two threads wins.
  const std::filesystem::path file =
      folder_.empty() ? std::filesystem::path() : rate_file(folder_, key);
  auto made = std::make_shared<DelegateRates>(key, file, threads, log_, std::move(rules));
  const MutexLock lock(mutex_);
  return rates_.try_emplace(key, std::move(made)).first->second;
}

}  // namespace parallax
