#include "session/delegates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/status.h"

namespace parallax {

namespace {

std::string origin(const DelegateTable& table) {
  return table.file.empty() ? "one that is built in" : fmt::format("the one of '{}'", table.file);
}

Error same_name(const DelegateTable& first, const DelegateTable& second) {
  return {
      Stage::kPartition,
      ErrorCode::kInvalidInput,
      {},
      fmt::format("'{}': delegate '{}' has the name of {}; build it with another name, or leave "
                  "this library out",
                  second.file, second.name, origin(first))};
}

}  // namespace

const std::vector<Delegates::Known>& Delegates::known() {
  if (known_) return *known_;
  std::vector<Known> all;
  for (const px_delegate* const table : built_in_delegates()) {
    auto checked = check_table(table, "");
    all.push_back({checked ? checked->name : "", "", std::move(checked)});
  }
  for (const std::filesystem::path& library : libraries_) {
    const std::string file = library.string();
    if (std::ranges::find(all, file, &Known::file) != all.end()) continue;
    auto table = load_delegate_library(file);
    const std::string name = table ? table->name : file;
    const auto first = std::ranges::find_if(
        all, [&](const Known& each) { return each.table && each.name == name; });
    // Ambiguous: the user may mean either.
    if (table && first != all.end()) table = tl::unexpected(same_name(*first->table, *table));
    all.push_back({name, file, std::move(table)});
  }
  return known_.emplace(std::move(all));
}

void Delegates::add(const px_delegate* table) {
  const MutexLock lock(mutex_);
  (void)known();
  auto checked = check_table(table, "");
  known_->push_back({checked ? checked->name : "", "", std::move(checked)});
}

Result<std::shared_ptr<const OpenDelegate>> Delegates::open(const std::string& spec) {
  const MutexLock lock(mutex_);
  return open_locked(spec);
}

Result<std::shared_ptr<const OpenDelegate>> Delegates::open_locked(const std::string& spec) {
  if (const auto found = opened_.find(spec); found != opened_.end()) {
    if (found->second->is_here()) return found->second;
    opened_.erase(found);
  }
  const std::string name = spec.substr(0, spec.find(':'));
  std::vector<std::string> names;
  const Error* not_loaded = nullptr;
  for (const Known& each : known())
    if (each.name == name && !each.table) return tl::unexpected(each.table.error());
  for (const Known& each : known()) {
    if (!each.table) {
      not_loaded = &each.table.error();
    } else if (each.name == name) {
      PX_ASSIGN(auto opened, open_delegate(*each.table, spec, cache_folder_, log_));
      opened_.emplace(spec, opened);
      return opened;
    } else {
      names.push_back(each.name);
    }
  }
  // The delegate may be in the file that did not load.
  if (not_loaded != nullptr) return tl::unexpected(*not_loaded);
  return tl::unexpected(
      Error{Stage::kPartition,
            ErrorCode::kInvalidInput,
            {},
            fmt::format("there is no delegate '{}'; available: {}", name,
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))});
}

void PlacedRegions::add(std::uint64_t key, std::vector<std::string> names) {
  constexpr std::size_t kMax = 1024;  // a session may see any number of shapes
  const MutexLock lock(mutex_);
  if (names_.size() >= kMax && !names_.contains(key)) names_.erase(names_.begin());
  names_.insert_or_assign(key, std::move(names));
}

std::vector<std::string> PlacedRegions::names(std::uint64_t key) const {
  const MutexLock lock(mutex_);
  const auto found = names_.find(key);
  return found == names_.end() ? std::vector<std::string>() : found->second;
}

void PlacedRegions::give_back(DelegateReport::Failure region) {
  const MutexLock lock(mutex_);
  // A region is listed once for all shapes.
  std::erase_if(returned_, [&](const auto& each) { return each.node == region.node; });
  returned_.push_back(std::move(region));
}

std::vector<DelegateReport::Failure> PlacedRegions::returned() const {
  const MutexLock lock(mutex_);
  return returned_;
}

DelegateReport report_of(const OpenDelegate& opened) {
  DelegateReport report;
  report.name = opened.spec;
  report.file = opened.table.file;
  report.device = opened.device_name;
  report.driver = opened.driver;
  report.memory_bytes = opened.description().memory_bytes;
  report.shares_memory = opened.memory == PX_MEMORY_HOST;
  report.in_cpu_memory = opened.in_host_memory;
  report.stores_half = opened.stores_half;
  report.operators = static_cast<int>(opened.description().operators.size());
  return report;
}

std::vector<DelegateReport> Delegates::list() {
  const MutexLock lock(mutex_);
  std::vector<DelegateReport> reports;
  for (const Known& each : known()) {
    DelegateReport& report = reports.emplace_back();
    report.name = each.name;
    if (!each.table) {
      report.file = each.file;
      report.problem = each.table.error().to_string();
      continue;
    }
    const auto opened = open_locked(each.name);
    if (opened) {
      report = report_of(**opened);
    } else {
      report.file = each.table->file;
      report.problem = opened.error().to_string();
    }
  }
  return reports;
}

Result<SessionDelegates> delegates_for(const SessionOptions& options, Delegates& delegates,
                                       const Logger& log) {
  SessionDelegates result;
  for (const std::string& spec : options.delegates) {
    if (std::ranges::find(result, spec, &SessionDelegate::spec) != result.end())
      return tl::unexpected(Error{Stage::kPartition,
                                  ErrorCode::kInvalidInput,
                                  {},
                                  fmt::format("delegate '{}' is named twice", spec)});
    SessionDelegate& each = result.emplace_back();
    each.spec = spec;
    auto opened = delegates.open(spec);
    if (opened) {
      each.use.opened = *std::move(opened);
      continue;
    }
    if (options.require_full_delegation) return tl::unexpected(std::move(opened).error());
    each.problem = opened.error().to_string();
    log.warn(fmt::format(
        "{}: {}",
        options.delegates.size() == 1 ? "the CPU runs everything" : "a delegate is left out",
        each.problem));
  }
  return result;
}

}  // namespace parallax
