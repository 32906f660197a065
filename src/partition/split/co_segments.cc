#include "partition/split/co_segments.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace parallax {
namespace {

/// Nodes of a stretch, at most: keeps planning linear.
constexpr std::size_t kMaxNodes = 512;
/// A stretch that grows on saves no more than waiting so often, and this share of its work.
constexpr double kMaxWaits = 8, kMaxSaved = 0.1;
/// A stretch whose parts make so much together, of what is there, ends: more nodes in front of it
/// would be made twice.
constexpr double kMaxTwice = 1.7;

/// Returns an order in which nodes that wait for no node that is cut come first, so that they
/// divide no stretch.
std::vector<NodeId> order_of(const Graph& graph, const RowAxes& axes) {
  std::vector<NodeId> first, others;
  IdVector<NodeId, bool> late(graph.nodes.size(), false);
  for (const NodeId id : graph.nodes.ids()) {
    late[id] = axes.rule[id].has_value();
    for (const ValueId input : graph.nodes[id].inputs)
      if (input.valid() && graph.values[input].kind == ValueKind::kResult)
        late[id] = late[id] || late[graph.values[input].producer];
    (late[id] ? others : first).push_back(id);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

/// A stretch that grows towards the front.
class Stretch {
 public:
  Stretch(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
          const CoCosts& costs, CoPlan& plan)
      : graph_(graph),
        shapes_(shapes),
        axes_(axes),
        costs_(costs),
        plan_(plan),
        last_reader_(graph.values.size(), 0),
        bytes_(graph.values.size(), 0.0),
        values_(graph.values.size()) {
    for (const ValueId id : graph.values.ids())
      if (shapes[id])
        bytes_[id] = static_cast<double>(
            parallax::bytes_of(graph.values[id].dtype, *shapes[id]).value_or(0));
    for (const NodeId id : graph.nodes.ids()) {
      own_.push_back(axes.rule[id] ? own_rows(id) : PartRows{});
      read_by_both_.push_back(axes.rule[id] ? read_by_both(id) : 0);
    }
    for (std::size_t i = 0; i < plan.order.size(); ++i)
      for (const ValueId input : graph.nodes[plan.order[i]].inputs)
        if (input.valid()) last_reader_[input] = i;
    for (const ValueId output : graph.outputs) last_reader_[output] = plan.order.size();
  }

  /// Starts with no node; nodes from position `end` on come after the stretch.
  void start(std::size_t end) {
    ++stamp_;
    end_ = end;
    once_ = cpu_ = device_ = between_ = copies_[0] = copies_[1] = 0;
    regions_ = 1;
    on_device_ = true;
    twice_ = 0;
  }
  /// Adds the previous node. Returns false if that is impossible or not worthwhile.
  bool add(NodeId id);
  /// Returns the predicted time, without the wait at the end of the stretch.
  double seconds() const {
    const double alone = cpu_ + copies_[0] + between_;
    const double parallel = device_ + copies_[1] + between_ + regions_ * costs_.region_seconds;
    return std::max(alone, parallel);
  }
  /// Returns the time of one node that one side runs completely.
  double whole_seconds(NodeId id) const {
    double bytes = 0;
    for (const ValueId input : graph_.nodes[id].inputs)
      if (input.valid() && axes_.axis[input] >= 0) bytes += bytes_[input];
    return costs_.cpu[id] + bytes / costs_.copied_bytes_per_second;
  }
  /// Returns a lower bound of the time, however far the stretch grows: copies may become
  /// unnecessary, rows computed twice stay.
  double work_seconds() const { return std::max(cpu_, device_) + between_; }

 private:
  struct Needed {
    std::int64_t stamp = 0;
    PartRows rows;
    std::array<double, kParts> copied{};
  };

  /// Returns the rows of the results that no other part computes.
  PartRows own_rows(NodeId id) const {
    const SplitRule& rule = *axes_.rule[id];
    const std::int64_t rows = rows_of(shapes_, graph_.nodes[id], rule);
    const std::int64_t pieces = rows / rule.granule;
    const auto first = static_cast<std::int64_t>(std::llround(
        static_cast<double>(rows) * (1 - plan_.device_share) / static_cast<double>(rule.granule)));
    const std::int64_t cut = std::clamp<std::int64_t>(first, 1, pieces - 1) * rule.granule;
    return {Rows{0, cut}, Rows{cut, rows}};
  }
  Needed& needed(ValueId id) {
    Needed& entry = values_[id];
    if (entry.stamp != stamp_) entry = {stamp_, {}, {}};
    return entry;
  }
  /// Returns the seconds of reading data that both parts read.
  double read_by_both(NodeId id) const {
    const auto& inputs = graph_.nodes[id].inputs;
    double bytes = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].valid() && graph_.values[inputs[i]].constant &&
          axes_.rule[id]->inputs[i].axis < 0)
        bytes += bytes_[inputs[i]];
    return bytes / costs_.read_bytes_per_second;
  }
  Rows wanted(NodeId id, std::size_t part);
  bool need(ValueId id, const InputRows& input, std::size_t part, const Rows& made, bool may_miss);
  void copied(ValueId id, std::size_t part, int axis);

  const Graph& graph_;
  const ConcreteShapes& shapes_;
  const RowAxes& axes_;
  const CoCosts& costs_;
  CoPlan& plan_;
  IdVector<ValueId, std::size_t> last_reader_;
  IdVector<ValueId, double> bytes_;
  IdVector<NodeId, PartRows> own_;
  IdVector<NodeId, double> read_by_both_;
  IdVector<ValueId, Needed> values_;
  std::int64_t stamp_ = 0;
  std::size_t end_ = 0;
  double once_ = 0, twice_ = 0;  // work, and what both parts make of it
  double cpu_ = 0, device_ = 0;  // work of the CPU's part and of the device's part
  double between_ = 0;           // on the CPU, for the device's part
  std::array<double, kParts> copies_{};
  int regions_ = 1;
  bool on_device_ = true;
};

/// Returns the rows of the node's results that `part` needs.
Rows Stretch::wanted(NodeId id, std::size_t part) {
  Rows rows;
  for (const ValueId output : graph_.nodes[id].outputs) {
    if (!output.valid()) continue;
    rows = hull(rows, needed(output).rows[part]);
    if (last_reader_[output] >= end_) rows = hull(rows, own_[id][part]);
  }
  if (rows.empty()) return {};
  const SplitRule& rule = *axes_.rule[id];
  const std::int64_t all = rows_of(shapes_, graph_.nodes[id], rule);
  const std::int64_t end = (rows.end + rule.granule - 1) / rule.granule * rule.granule;
  return {rows.begin / rule.granule * rule.granule, std::min(end, all)};
}

/// Updates the cost for `part` of copying the rows of a value from outside, along `axis`, -1: all
/// of it.
void Stretch::copied(ValueId id, std::size_t part, int axis) {
  Needed& entry = needed(id);
  copies_[part] -= entry.copied[part];
  entry.copied[part] = 0;
  const Value& value = graph_.values[id];
  const bool cut = axes_.axis[id] >= 0;
  if (value.kind == ValueKind::kResult && cut) {
    if (entry.rows[part] == own_[value.producer][part]) return;
  } else if (axis < 0 || value.kind == ValueKind::kConstant || value.kind == ValueKind::kSymbolic) {
    return;
  }
  const int along = cut ? axes_.axis[id] : axis;
  const auto rows = static_cast<double>((*shapes_[id])[along]);
  entry.copied[part] = bytes_[id] * static_cast<double>(entry.rows[part].count()) / rows /
                       costs_.copied_bytes_per_second;
  copies_[part] += entry.copied[part];
}

/// Records the rows of an input that `part` needs to compute `made`. Returns false if it needs
/// none.
bool Stretch::need(ValueId id, const InputRows& input, std::size_t part, const Rows& made,
                   bool may_miss) {
  if (!id.valid() || !shapes_[id]) return true;
  Rows rows;
  const int cut = axes_.axis[id];
  if (input.axis >= 0) {
    rows = overlap_of(input.of(made), {0, (*shapes_[id])[input.axis]});
    if (rows.empty()) return may_miss;
  }
  if (cut >= 0 && cut != input.axis) rows = {0, (*shapes_[id])[cut]};
  Needed& entry = needed(id);
  entry.rows[part] = hull(entry.rows[part], rows);
  copied(id, part, cut >= 0 ? cut : input.axis);
  return true;
}

bool Stretch::add(NodeId id) {
  const auto& rule = axes_.rule[id];
  if (!rule) return false;
  const Node& node = graph_.nodes[id];
  const auto all = static_cast<double>(rows_of(shapes_, node, *rule));
  PartRows made;
  for (std::size_t part = 0; part < kParts; ++part) made[part] = wanted(id, part);
  for (const ValueId output : node.outputs) {
    if (!output.valid()) continue;
    Needed& entry = needed(output);
    for (std::size_t part = 0; part < kParts; ++part)
      copies_[part] -= std::exchange(entry.copied[part], 0);
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    if (made[part].empty()) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!need(node.inputs[i], rule->inputs[i], part, made[part], node.op == OpKind::kConcat))
        return false;
  }
  plan_.made[id] = made;
  const auto share = [&](std::size_t part) {
    return static_cast<double>(made[part].count()) / all;
  };
  const double read = read_by_both_[id];
  const auto taken = [&](double whole, std::size_t part) {
    return made[part].empty() ? 0 : whole * share(part) + std::min(read, whole) * (1 - share(part));
  };
  once_ += costs_.cpu[id] * std::min(1.0, share(0) + share(1));
  twice_ += costs_.cpu[id] * (share(0) + share(1));
  cpu_ += taken(costs_.cpu[id], 0);
  const bool on_device = costs_.can_run[id];
  if (costs_.cpu[id] > 0 || on_device) {
    (on_device ? device_ : between_) += taken((on_device ? costs_.device : costs_.cpu)[id], 1);
    if (on_device && !on_device_) ++regions_;
    on_device_ = on_device;
  }
  return twice_ <= kMaxTwice * once_ + costs_.region_seconds;
}

}  // namespace

CoPlan plan_stretches(const Graph& graph, const ConcreteShapes& shapes, const RowAxes& axes,
                      const CoCosts& costs, double device_share) {
  CoPlan plan;
  plan.order = order_of(graph, axes);
  plan.made.resize(graph.nodes.size());
  plan.device_share = device_share;
  Stretch stretch(graph, shapes, axes, costs, plan);
  const std::size_t count = plan.order.size();
  std::vector<double> best(count + 1, 0);
  std::vector<std::size_t> from(count + 1, 0);
  std::vector<bool> split(count + 1, false);
  for (std::size_t end = 1; end <= count; ++end) {
    best[end] = best[end - 1] + stretch.whole_seconds(plan.order[end - 1]);
    from[end] = end - 1;
    stretch.start(end);
    for (std::size_t begin = end; begin-- > 0 && end - begin <= kMaxNodes;) {
      if (!stretch.add(plan.order[begin])) break;
      const double work = stretch.work_seconds();
      if (best[begin] + work * (1 - kMaxSaved) > best[end] + kMaxWaits * costs.region_seconds)
        break;
      const double seconds = best[begin] + stretch.seconds() + costs.region_seconds;
      if (seconds >= best[end]) continue;
      best[end] = seconds;
      from[end] = begin;
      split[end] = true;
    }
  }
  plan.seconds = best[count];
  for (std::size_t end = count; end > 0; end = from[end]) {
    plan.stretches.push_back({from[end], end, split[end]});
    stretch.start(end);
    for (std::size_t at = end; split[end] && at-- > from[end];) (void)stretch.add(plan.order[at]);
  }
  std::ranges::reverse(plan.stretches);
  return plan;
}

}  // namespace parallax
