#include "run/arena_checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "run/poison.h"

namespace parallax {

ArenaChecker::ArenaChecker(const Program& program, std::byte* arena, bool poison)
    : program_(program),
      arena_(arena),
      poison_(poison),
      made_(program.compiled().graph().nodes.size()),
      read_(program.compiled().graph().nodes.size()) {
  const auto& branches = program.compiled().context->branches.branches;
  const auto node_at = [&](const Position& position) {
    return branches[position.branch][static_cast<std::size_t>(position.index)];
  };
  for (const Buffer& buffer : program.compiled().problem.buffers) {
    const std::size_t index = reads_left_.size();
    reads_left_.push_back(buffer.reads.size());
    made_[node_at(buffer.made)].push_back(index);
    for (const Position& read : buffer.reads) read_[node_at(read)].push_back(index);
  }
}

Status ArenaChecker::begin(NodeId node) {
  const MutexLock lock(mutex_);
  const auto& buffers = program_.compiled().problem.buffers;
  const auto& offsets = program_.plan.offsets.offset;
  for (const std::size_t made : made_[node]) {
    const auto next = live_.lower_bound(offsets[made]);
    std::size_t other = made;
    if (next != live_.end() && next->first < offsets[made] + buffers[made].bytes &&
        !may_lie_on(made, next->second))
      other = next->second;
    if (next != live_.begin()) {
      const auto before = std::prev(next);
      if (before->first + buffers[before->second].bytes > offsets[made]) other = before->second;
    }
    if (other != made) {
      const auto& compiled = program_.compiled();
      const auto name = [&](std::size_t buffer) {
        const ValueId value = compiled.buffer_value[buffer];
        if (value.valid()) return compiled.graph().values[value].name;
        return std::string("the workspace of a node with bodies");
      };
      return tl::unexpected(
          Error{Stage::kRun,
                ErrorCode::kInternal,
                {},
                fmt::format("'{}' overlaps '{}', which is live", name(made), name(other))});
    }
    live_.insert_or_assign(offsets[made], made);
  }
  return {};
}

void ArenaChecker::end(NodeId node) {
  const MutexLock lock(mutex_);
  for (const std::size_t read : read_[node])
    if (--reads_left_[read] == 0) remove(read);
  for (const std::size_t made : made_[node])
    if (program_.compiled().problem.buffers[made].reads.empty()) remove(made);
}

/// Whether the node that makes `buffer` overwrites `other` and is the last to read it.
bool ArenaChecker::may_lie_on(std::size_t buffer, std::size_t other) const {
  const auto& buffers = program_.compiled().problem.buffers;
  const auto& offsets = program_.plan.offsets.offset;
  const auto& over = buffers[buffer].over;
  const auto& reads = buffers[other].reads;
  const auto own = std::count(reads.begin(), reads.end(), buffers[buffer].made);
  return offsets[buffer] == offsets[other] && buffers[buffer].bytes == buffers[other].bytes &&
         std::find(over.begin(), over.end(), static_cast<std::int32_t>(other)) != over.end() &&
         reads_left_[other] == static_cast<std::size_t>(own);
}

void ArenaChecker::remove(std::size_t buffer) {
  const std::int64_t offset = program_.plan.offsets.offset[buffer];
  const auto found = live_.find(offset);
  if (found == live_.end() || found->second != buffer) return;  // already overwritten
  live_.erase(found);
  if (poison_) {
    parallax::poison({arena_ + offset,
                      static_cast<std::size_t>(program_.compiled().problem.buffers[buffer].bytes)});
  }
}

}  // namespace parallax
