// The fuzzer's oracle: a graph node after node, each by its reference kernel, bodies included. No
// pass, plan, arena or thread is involved. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "case.h"

namespace parallax::fuzz {

/// Values by name, those of the graphs around included.
class Scope {
 public:
  explicit Scope(const Scope* around = nullptr) : around_(around) {}
  void set(std::string name, Constant value) {
    values_.insert_or_assign(std::move(name), std::move(value));
  }
  void erase(std::string_view name);
  /// Null where there is no such value.
  const Constant* find(std::string_view name) const;

 private:
  const Scope* around_;
  std::map<std::string, Constant, std::less<>> values_;
};

/// Disturbs each computed float by up to `size` of itself: what a result changes by says how far
/// kernels that round otherwise may be off. Equal floats are disturbed equally, or, with
/// `by_place`, only those at one place, so that no tie stays one.
struct Noise {
  double size = 0;
  std::uint64_t seed = 0;
  bool by_place = false;
  /// Instead, elements below `size` of the largest magnitude, of what they are sums of too, become
  /// 0: what is left of larger ones may be rounded away.
  bool flushes = false;
  /// Instead, elements of sums change by `size` of that magnitude, some up and some down; a
  /// negative `size` turns each around. Terms that cancel leave a remainder that depends on their
  /// order.
  bool shifts = false;
  /// Gets what nodes give of which is_open() (open.h) holds, bodies' nodes too.
  std::map<std::string, OpKind, std::less<>>* open = nullptr;
  /// Gets the errors of nodes that fail, bodies' nodes too; zeros stand for their results. Null:
  /// the first error ends the run.
  std::vector<Error>* errors = nullptr;
};

/// The node's outputs. Errors: the kernel's; kInternal for what the oracle cannot tell (the shape
/// of what a loop without trips stacks, and what an input that is not there comes to).
Result<std::vector<Constant>> interpret(const CaseNode& node, const Scope& scope,
                                        const Noise& noise = {});
/// The graph's outputs for one tensor per input.
Result<std::vector<Constant>> interpret(const CaseGraph& graph, std::span<const Constant> inputs,
                                        const Scope* around = nullptr, const Noise& noise = {});

/// The values of all nodes' outputs of the whole graph, as far as they compute. With `errors`,
/// which gets those of the nodes that do not, zeros stand for what these would compute.
Scope values_of(const CaseGraph& graph, std::span<const Constant> inputs,
                std::vector<Error>* errors = nullptr);

}  // namespace parallax::fuzz
