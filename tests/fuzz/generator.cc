#include "generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "opsets.h"
#include "recipes.h"

namespace parallax::fuzz {
namespace {

constexpr std::size_t kMaxOutputs = 8;
constexpr int kMaxRank = 5;
/// Floats beyond this would drown everything that they are added to.
constexpr float kMaxMagnitude = 1e6F;

bool has_nan(const Constant& tensor) {
  if (tensor.dtype != DType::kF32) return false;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
    float element = 0;
    std::memcpy(&element, tensor.bytes.data() + i, sizeof(float));
    if (std::isnan(element)) return true;
  }
  return false;
}

bool is_wild(const Constant& tensor) {
  if (tensor.dtype != DType::kF32) return false;
  for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
    float element = 0;
    std::memcpy(&element, tensor.bytes.data() + i, sizeof(float));
    if (!(std::abs(element) < kMaxMagnitude)) return true;
  }
  return false;
}

}  // namespace

Generator::Generator(std::uint64_t seed) : random_(seed) {
  case_.seed = seed;
  large_ = random_.chance(8);
  case_.special = random_.chance(15);
  errors_ = random_.chance(30);
  if (is_quantised()) {
    large_ = case_.special = errors_ = false;
    case_.qlinear = random_.chance(60);
  }
  most_elements_ = large_ ? 1 << 17 : 1 << 12;
  case_.runs.resize(static_cast<std::size_t>(large_ ? 2 : random_.between(1, 3)));
  choose_symbols();
  begin_body({});
}

void Generator::choose_symbols() {
  static constexpr std::array kSmall = {1, 2, 3, 4, 5, 7, 8, 16, 17, 1, 2, 3, 0};
  static constexpr std::array kLarge = {1, 8, 64, 96, 100, 128, 256};
  std::vector<int> pool(kSmall.begin(), kSmall.end());
  if (large_) pool.assign(kLarge.begin(), kLarge.end());
  // Few sizes make free dimensions meet.
  if (random_.chance(40)) pool = {1, random_.pick(pool)};
  const std::int64_t count = random_.between(0, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> sizes;
    for (std::size_t run = 0; run < runs(); ++run) sizes.push_back(random_.pick(pool));
    symbols_.emplace_back(std::string(1, "nmk"[i]), std::move(sizes));
  }
}

std::string Generator::fresh_name(const char* hint) { return fmt::format("{}{}", hint, names_++); }

const Constant* Generator::value(const std::string& name, std::size_t run) const {
  return levels_.back()->scopes[run].find(name);
}

const Dims& Generator::dims(const std::string& name, std::size_t run) const {
  const Constant* found = value(name, run);
  return (found != nullptr ? found : value(name, 0))->dims;
}

std::vector<std::int64_t> Generator::sizes(const std::string& name, int axis) const {
  std::vector<std::int64_t> result;
  for (std::size_t run = 0; run < runs(); ++run) result.push_back(dims(name, run)[axis]);
  return result;
}

bool Generator::is_fixed(const std::string& name, int axis) const {
  const auto all = sizes(name, axis);
  return std::ranges::all_of(all, [&](std::int64_t size) { return size == all[0]; });
}

bool Generator::fits_byte(const std::string& name) const {
  for (std::size_t run = 0; run < runs(); ++run) {
    const Constant* tensor = value(name, run);
    if (tensor == nullptr) continue;
    for (std::size_t i = 0; i < tensor->bytes.size(); i += sizeof(float)) {
      float element = 0;
      std::memcpy(&element, tensor->bytes.data() + i, sizeof(float));
      if (!(element > -1 && element < 128)) return false;
    }
  }
  return true;
}

std::string Generator::find(const std::function<bool(const std::string&)>& fits) {
  std::vector<const std::string*> found;
  for (const auto& level : levels_)
    for (const Item& item : level->items)
      if (fits(item.name)) found.push_back(&item.name);
  if (found.empty()) return {};
  std::size_t at = random_.below(found.size());
  if (random_.chance(60)) at = std::max(at, random_.below(found.size()));
  return *found[at];
}

std::string Generator::own_result(const std::function<bool(const std::string&)>& fits) {
  std::vector<const std::string*> found;
  for (const CaseNode& node : levels_.back()->graph.nodes)
    for (const std::string& name : node.outputs)
      if (value(name, 0) != nullptr && fits(name)) found.push_back(&name);
  return found.empty() ? std::string() : *random_.pick(found);
}

void Generator::keep(Level& level, const Item& item, std::size_t run, Constant value) {
  case_.dtypes.insert_or_assign(item.name, item.dtype);
  case_.ranks.insert_or_assign(item.name, value.dims.rank());
  level.scopes[run].set(item.name, std::move(value));
  if (run == 0) level.items.push_back(item);
}

bool Generator::copies_nothing(const CaseNode& node) const {
  const bool given = node.inputs[1].starts_with('x') || node.inputs[1].starts_with('c');
  for (std::size_t run = 0; run < runs() && !given; ++run) {
    const Constant* shape = value(node.inputs[1], run);
    const auto wanted = shape == nullptr ? std::nullopt : parallax::integers(*shape);
    if (wanted && std::ranges::find(*wanted, 0) != wanted->end()) return true;
  }
  return false;
}

/// Whether each of the forty or so ways of running it takes a second; nodes of bodies run in up to
/// some hundred trips.
bool Generator::is_slow(const CaseNode& node, const std::vector<Constant>& outputs) const {
  const Constant* weights = node.op == OpKind::kConv ? value(node.inputs[1], 0) : nullptr;
  if (weights == nullptr || weights->dims.rank() == 0 || weights->dims[0] == 0) return false;
  const auto macs = static_cast<double>(outputs[0].dims.elements()) *
                    static_cast<double>(weights->dims.elements() / weights->dims[0]);
  return macs > (depth() == 0 ? 1e7 : 1e5);
}

bool Generator::sensible(const CaseNode& node, const std::vector<Constant>& outputs) {
  if (node.op == OpKind::kReshape && copies_nothing(node)) return false;
  if (is_slow(node, outputs)) return false;
  for (const Constant& output : outputs) {
    if (output.dims.rank() > kMaxRank || output.dims.elements() > most_elements_) return false;
  }
  if (case_.special || !std::ranges::any_of(outputs, is_wild)) return true;
  if (std::ranges::any_of(outputs, has_nan)) return false;
  for (const std::string& name : node.inputs) {
    const Constant* input = name.empty() ? nullptr : value(name, 0);
    if (input != nullptr && is_wild(*input)) return random_.chance(50);
  }
  return random_.chance(10);
}

bool Generator::add(CaseNode& node) {
  Level& level = *levels_.back();
  std::vector<std::optional<std::vector<Constant>>> results(runs());
  for (std::size_t run = 0; run < runs(); ++run) {
    auto outputs = interpret(node, level.scopes[run]);
    if (outputs && !sensible(node, *outputs)) return false;
    // A Loop of 54 trips that doubles its state would take all the memory there is.
    const bool too_large = !outputs && outputs.error().code == ErrorCode::kUnsupported;
    if (too_large) return false;
    const bool lacks = std::ranges::any_of(node.inputs, [&](const std::string& name) {
      return !name.empty() && value(name, run) == nullptr;
    });
    // The first run has no errors. In others most are no more than a recipe that did not fit. An
    // Expand that changes nothing does not look at its shape.
    const bool wrong = errors_ && node.op != OpKind::kExpand && random_.chance(80);
    const bool wanted = run > 0 && (lacks || wrong);
    if (!outputs && !wanted) return false;
    if (outputs) results[run] = *std::move(outputs);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    node.outputs[i] = fresh_name("v");
    const Item item{node.outputs[i], (*results[0])[i].dtype};
    for (std::size_t run = 0; run < runs(); ++run) {
      if (results[run] && (*results[run])[i].dtype != item.dtype) return false;
      if (results[run] && (*results[run])[i].dims.rank() != (*results[0])[i].dims.rank())
        return false;
    }
    for (std::size_t run = 0; run < runs(); ++run)
      if (results[run]) keep(level, item, run, (*results[run])[i]);
  }
  level.graph.nodes.push_back(node);
  return true;
}

std::string Generator::add(OpKind op, std::vector<std::string> inputs, Attributes attributes) {
  CaseNode node{op, std::move(attributes), std::move(inputs), {""}, {}};
  return add(node) ? node.outputs[0] : std::string();
}

void Generator::begin_body(
    const std::vector<std::pair<Item, std::vector<std::optional<Constant>>>>& inputs) {
  auto level = std::make_unique<Level>();
  for (std::size_t run = 0; run < runs(); ++run)
    level->scopes.emplace_back(levels_.empty() ? nullptr : &levels_.back()->scopes[run]);
  for (const auto& [item, values] : inputs) {
    level->graph.inputs.push_back({item.name, item.dtype, {}});
    for (std::size_t run = 0; run < runs(); ++run)
      if (values[run]) keep(*level, item, run, *values[run]);
  }
  levels_.push_back(std::move(level));
}

CaseGraph Generator::end_body(std::vector<std::string> outputs) {
  CaseGraph graph = std::move(levels_.back()->graph);
  levels_.pop_back();
  graph.outputs = std::move(outputs);
  return graph;
}

/// Findings of these still wait for a mended kernel or a row of explained.toml: sums of powers of
/// integers, -0 and NaN among unique elements, axes of empty tensors, the edge of Atanh, NaN in
/// Hardmax and in what is quantised, DFT's axis in older operator sets. Quantised graphs have
/// recipes of their own; the last operator is of a domain that the fuzzer does not write.
constexpr OpKind kNotProposed[] = {OpKind::kAtanh,          OpKind::kCumProd,
                                   OpKind::kCumSum,         OpKind::kDFT,
                                   OpKind::kHardmax,        OpKind::kReduceLogSumExp,
                                   OpKind::kUnique,         OpKind::kDynamicQuantizeLinear,
                                   OpKind::kQuantizeLinear, OpKind::kMatMulNBits,
                                   OpKind::kTreeEnsemble};

void Generator::grow(int nodes) {
  static const std::vector<OpKind> kinds = [] {
    std::vector<OpKind> result;
    for (std::size_t i = 0; i < kOpCount; ++i) {
      const OpDef& def = op_def(static_cast<OpKind>(i));
      if (!def.internal && !std::ranges::count(kNotProposed, def.kind)) result.push_back(def.kind);
    }
    return result;
  }();
  int added = 0;
  for (int attempt = 0; attempt < nodes * 4 && added < nodes; ++attempt) {
    if (random_.chance(6)) {
      added += propose_motif(*this) ? 1 : 0;
      continue;
    }
    OpKind op = random_.pick(kinds);
    if (random_.chance(5)) op = random_.pick(std::array{OpKind::kIf, OpKind::kLoop, OpKind::kScan});
    if (op_def(op).objects) continue;
    if (op_def(op).control_flow && (depth() >= 3 || (large_ && depth() >= 1))) continue;
    added += propose(*this, op) ? 1 : 0;
  }
}

void Generator::choose_outputs() {
  CaseGraph& graph = levels_.front()->graph;
  std::vector<std::string> results, unread;
  for (const CaseNode& node : graph.nodes)
    for (const std::string& name : node.outputs)
      if (value(name, 0) != nullptr) results.push_back(name);
  CaseGraph all = graph;
  std::set<std::string> read;
  const std::function<void(const CaseGraph&)> collect = [&](const CaseGraph& g) {
    for (const CaseNode& node : g.nodes) {
      read.insert(node.inputs.begin(), node.inputs.end());
      for (const CaseGraph& body : node.bodies) {
        collect(body);
        read.insert(body.outputs.begin(), body.outputs.end());
      }
    }
  };
  collect(graph);
  for (const std::string& name : results)
    if (!read.contains(name)) unread.push_back(name);
  while (unread.size() > kMaxOutputs)
    unread.erase(unread.begin() + static_cast<std::ptrdiff_t>(random_.below(unread.size())));
  for (const std::string& name : results)
    if (read.contains(name) && unread.size() < kMaxOutputs && random_.chance(8))
      unread.push_back(name);
  if (unread.empty()) unread.push_back(results.back());
  graph.outputs = std::move(unread);
}

void Generator::choose_nodes() {
  tensor(DType::kF32, 1, 4);
  if (is_quantised()) {
    for (int attempt = 0; attempt < 10 && !propose_quantised(*this); ++attempt) {
    }
    if (random_.chance(15)) grow(2);
  } else {
    grow(static_cast<int>(random_.between(2, random_.chance(20) ? 40 : 14)));
  }
  while (levels_[0]->graph.nodes.empty()) grow(1);
}

Case Generator::make() {
  choose_nodes();
  choose_outputs();
  case_.graph = levels_[0]->graph;
  remove_dead(case_.graph);
  const std::int64_t oldest =
      std::max<std::int64_t>(oldest_opset(case_.graph), is_quantised() ? 13 : 0);
  case_.opset = random_.chance(75) ? std::max<std::int64_t>(oldest, 21)
                                   : random_.between(oldest, std::max(oldest, kNewestOpset));
  return case_;
}

}  // namespace parallax::fuzz
