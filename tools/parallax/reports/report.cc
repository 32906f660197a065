#include "reports/report.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "files/files.h"

namespace parallax::cli {

nlohmann::json arena_json(const ArenaBytes& bytes) {
  return {{"naive", bytes.naive},
          {"greedy", bytes.greedy},
          {"lower_bound", bytes.lower_bound},
          {"paper", bytes.paper},
          {"parallax", bytes.parallax}};
}

nlohmann::json threads_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const ThreadBytes& t : plan.thread_bytes) {
    list.push_back({{"threads", t.threads},
                    {"arena_bytes", t.arena_bytes},
                    {"scratch_bytes", t.scratch_bytes},
                    {"min_bytes", t.min_bytes},
                    {"max_branches", t.max_branches}});
  }
  return list;
}

nlohmann::json kernels_json(const PlanReport& plan) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelReport& k : plan.kernel_reports)
    list.push_back({{"operator", k.op}, {"kernel", k.kernel}, {"nodes", k.nodes}});
  return list;
}

std::string budget_text(const MemoryBudget& budget, const PlanReport& plan) {
  const bool automatic = budget.kind == MemoryBudget::Kind::kAuto;
  if (!plan.budget_bytes) return automatic ? "none (auto: free memory is not known)" : "none";
  return fmt::format("{}{}{}", format_bytes(*plan.budget_bytes), automatic ? " (auto)" : "",
                     plan.memory_stalled ? ", everything waits for memory" : "");
}

nlohmann::json budget_json(const MemoryBudget& budget, const PlanReport& plan) {
  constexpr const char* kNames[] = {"none", "bytes", "auto"};
  nlohmann::json bytes;  // null
  if (plan.budget_bytes) bytes = *plan.budget_bytes;
  return {{"kind", kNames[static_cast<std::size_t>(budget.kind)]},
          {"bytes", bytes},
          {"stalled", plan.memory_stalled}};
}

std::string_view precision_name(Precision precision) {
  return precision == Precision::kBf16 ? "bf16" : "f32";
}

nlohmann::json cache_json(const CacheReport& cache) {
  if (cache.file.empty()) return nullptr;
  return {{"file", cache.file.string()},
          {"hits", cache.hits},
          {"misses", cache.misses},
          {"bytes", cache.bytes},
          {"written_bytes", cache.written_bytes},
          {"problem", cache.problem}};
}

std::string_view scheduler_name(Scheduler scheduler) {
  for (const auto& [name, value] : kSchedulers)
    if (value == scheduler) return name;
  return "";
}

Status write_json(const std::string& path, const nlohmann::json& json) {
  const std::string text =
      json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (path != "-") return write_file(path, {text});
  fmt::print("{}", text);
  return {};
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_ns_(now_ns()) {}

void Progress::at(std::size_t done) {
  done_ = std::min(done, total_);
  if (!terminal_) return;
  constexpr std::int64_t kFirst = 1'000'000'000, kAgain = 50'000'000;
  const std::int64_t now = now_ns();
  if (now - start_ns_ < kFirst || now - drawn_ns_ < kAgain) return;
  drawn_ns_ = now;
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = total_ == 0 ? kWidth : kWidth * done_ / total_;
  fmt::print(stderr, "\r{} [{:<40}] {}/{}", what_, std::string(filled, '#'), done_, total_);
  std::fflush(stderr);
  drawn_ = true;
}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace parallax::cli
