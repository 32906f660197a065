// Reports as JSON and as tables.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "options/options.h"

namespace parallax::cli {

nlohmann::json arena_json(const ArenaBytes& bytes);
/// Bytes that 1, 2, 4 and 8 threads would need.
nlohmann::json threads_json(const PlanReport& plan);
nlohmann::json kernels_json(const PlanReport& plan);
/// "none", "64.0 MiB", "14.2 GiB (auto)": what was asked for and what that is at this moment.
std::string budget_text(const MemoryBudget& budget, const PlanReport& plan);
/// Returns it as {"kind": "auto", "bytes": N or null, "stalled": false}.
nlohmann::json budget_json(const MemoryBudget& budget, const PlanReport& plan);
/// {"hits": N, "misses": N, "bytes": N, "written_bytes": N, "file": ..., "problem": "" or why it
/// could not be used}; null without a cache.
nlohmann::json cache_json(const CacheReport& cache);
/// All schedulers by name, the default first.
inline constexpr std::pair<std::string_view, Scheduler> kSchedulers[] = {
    {"dataflow", Scheduler::kDataflow},
    {"layers", Scheduler::kLayers},
    {"sequential", Scheduler::kSequential}};
std::string_view scheduler_name(Scheduler scheduler);
std::string_view precision_name(Precision precision);
/// A list of {"name": ..., "device": ..., "problem": "" or why it did not open, "failures": ...}.
nlohmann::json delegates_json(const std::vector<DelegateReport>& delegates);
/// Writes `json` to `path` ("-": standard output). Errors: kIo.
Status write_json(const std::string& path, const nlohmann::json& json);

/// A bar on standard error for runs that take longer than a second; silent when standard error is
/// no terminal.
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void step() { at(done_ + 1); }
  /// `done` of the total are done.
  void at(std::size_t done);

 private:
  std::string what_;
  std::size_t total_, done_ = 0;
  bool terminal_, drawn_ = false;
  std::int64_t start_ns_, drawn_ns_ = 0;
};

std::int64_t now_ns();

}  // namespace parallax::cli
