#include "planning/plan_pin.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/status.h"
#include "partition/region_key.h"

namespace parallax {
namespace {

/// Returns a hash of all nodes, and of the sizes of a binding unless `shapes` is empty.
std::uint64_t key_of_graph(const Graph& graph, const ConcreteShapes& shapes) {
  std::vector<NodeId> nodes;
  for (const NodeId id : graph.nodes.ids()) nodes.push_back(id);
  return region_key(node_keys(graph, shapes), nodes);
}

Result<std::uint64_t> key_of_sizes(const Graph& graph, const Binding& binding) {
  PX_ASSIGN(const ConcreteShapes shapes, concrete_shapes(graph, binding));
  return key_of_graph(graph, shapes);
}

/// The plans of a file's text, and the number of its bytes that are complete.
struct PinText {
  PinnedPlans plans;
  std::size_t bytes = 0;
};

/// Parses a file of which the last entry, or `head`, the beginning of every file, may be incomplete
/// because a process was killed while it wrote.
Result<std::optional<PinText>> parse_written(std::string_view text, const std::string& head,
                                             const std::string& file) {
  if (head.starts_with(text)) return std::nullopt;
  auto plans = parse_pins(text, file);
  if (plans) return PinText{*std::move(plans), text.size()};
  if (text.size() > kMaxPinBytes) return tl::unexpected(std::move(plans).error());
  const std::size_t complete = incomplete_pins_entry(text);
  auto before = parse_pins(text.substr(0, complete), file);
  if (!before) return tl::unexpected(std::move(plans).error());
  return PinText{*std::move(before), complete};
}

}  // namespace

Result<std::shared_ptr<PlanPin>> PlanPin::open(const std::filesystem::path& file,
                                               const std::string& delegate,
                                               const Graph& canonical) {
  std::shared_ptr<PlanPin> pin(new PlanPin(file, {delegate, key_of_graph(canonical, {}), {}}));
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return pin;
  PX_ASSIGN(const LockedFile kept, LockedFile::open(file, LockedFile::Access::kRead));
  const MutexLock lock(pin->mutex_);
  PX_RETURN_IF_ERROR(pin->read(kept));
  return pin;
}

Result<std::optional<PinnedPlans::Regions>> PlanPin::find(const Graph& canonical,
                                                          const Binding& binding) const {
  PX_ASSIGN(const std::uint64_t key, key_of_sizes(canonical, binding));
  const MutexLock lock(mutex_);
  const auto found = plans_.plans.find(key);
  if (found == plans_.plans.end()) return std::nullopt;
  return found->second;
}

Status PlanPin::keep(const Graph& canonical, const Binding& binding, PinnedPlans::Regions regions,
                     const Logger& log) {
  PX_ASSIGN(const std::uint64_t key, key_of_sizes(canonical, binding));
  PX_ASSIGN(const bool has_room, add(key, std::move(regions)));
  if (!has_room)
    log.warn(fmt::format("'{}' is full: plans for further sizes are not pinned", file_.string()));
  return {};
}

/// Adds an entry to the file. Returns false the first time that the file is full.
Result<bool> PlanPin::add(std::uint64_t sizes, PinnedPlans::Regions regions) {
  const MutexLock lock(mutex_);
  if (full_ || plans_.plans.contains(sizes)) return true;
  PX_ASSIGN(LockedFile file, LockedFile::open(file_, LockedFile::Access::kWrite));
  if (file.size() != bytes_ || bytes_ == 0) PX_RETURN_IF_ERROR(read(file));
  // This session continues with its own plan if another process was faster.
  if (plans_.plans.contains(sizes)) {
    plans_.plans[sizes] = std::move(regions);
    return true;
  }
  const std::string entry = pins_entry(sizes, regions);
  const std::string head = pins_head(plans_);
  full_ = std::max(bytes_, head.size()) + entry.size() > kMaxPinBytes;
  if (full_) return false;
  PX_RETURN_IF_ERROR(parse_pins(head + entry, "a plan to pin"));
  PX_RETURN_IF_ERROR(file.replace_after(bytes_, bytes_ == 0 ? head + entry : entry));
  bytes_ = file.size();
  plans_.plans.emplace(sizes, std::move(regions));
  return true;
}

/// Adds the plans that only the file has.
Status PlanPin::read(const LockedFile& file) {
  PX_ASSIGN(const std::string text, file.read(kMaxPinBytes + 1));
  PX_ASSIGN(auto written, parse_written(text, pins_head(plans_), file_.string()));
  bytes_ = 0;
  if (!written) return {};
  const auto refuse = [&](const std::string& whose) {
    return tl::unexpected(
        Error{Stage::kPartition,
              ErrorCode::kInvalidInput,
              {},
              fmt::format("'{}' keeps a plan of {}; remove it, or pin the plan to another file",
                          file_.string(), whose)});
  };
  if (written->plans.model != plans_.model) return refuse("another model");
  if (written->plans.delegate != plans_.delegate)
    return refuse(fmt::format("delegate '{}'", written->plans.delegate));
  plans_.plans.merge(written->plans.plans);
  bytes_ = written->bytes;
  return {};
}

}  // namespace parallax
