#include <functional>
#include <queue>
#include <string>

#include "base/status.h"
#include "load/names.h"
#include "load/tflite/verify.h"

namespace parallax {
namespace {

namespace schema = tflite_schema;

/// Sorts the operators of one subgraph.
class OperatorOrder {
 public:
  OperatorOrder(const TfliteChecks& checks, std::size_t subgraph)
      : file_(checks.file),
        uses_(checks.uses[subgraph]),
        subgraph_(subgraph),
        graph_(*checks.file.subgraphs[subgraph].graph),
        count_(length_of(graph_.operators())) {}

  Result<std::vector<std::int32_t>> sorted() {
    PX_RETURN_IF_ERROR(check_reads());
    note_readers();
    std::vector<std::int32_t> order = first_come();
    if (order.size() == count_) return order;
    return invalid("it depends on its own output", on_cycle());
  }

 private:
  std::span<const std::int32_t> inputs(std::size_t op) const {
    return elements_of(graph_.operators()->Get(static_cast<flatbuffers::uoffset_t>(op))->inputs());
  }
  /// Returns the operator that makes a tensor, which may be -1; kNone if no operator does.
  std::int32_t writer(std::int32_t tensor) const {
    return tensor == -1 ? TfliteUses::kNone : uses_[static_cast<std::size_t>(tensor)].writer;
  }
  bool is_defined(std::int32_t tensor) const {
    if (tensor == -1) return true;
    const TfliteUses& use = uses_[static_cast<std::size_t>(tensor)];
    return use.writer != TfliteUses::kNone || use.input || use.fixed || use.empty;
  }
  tl::unexpected<Error> invalid(std::string message, std::size_t op) const {
    return invalid_model(std::move(message), operator_name(file_, subgraph_, op));
  }

  Status check_reads() const {
    for (std::size_t op = 0; op < count_; ++op) {
      for (const std::int32_t tensor : inputs(op)) {
        if (!is_defined(tensor))
          return invalid("nothing defines its input " + tensor_name(graph_, tensor), op);
      }
    }
    for (const std::int32_t tensor : elements_of(graph_.outputs())) {
      if (!is_defined(tensor))
        return invalid_model("nothing defines the output " + tensor_name(graph_, tensor));
    }
    return {};
  }

  /// Sorts the reads of what operators make by the operator that makes it: those of operator i are
  /// readers_[first_[i]] up to readers_[first_[i + 1]].
  void note_readers() {
    first_.assign(count_ + 1, 0);
    waiting_.assign(count_, 0);
    const auto each = [&](auto visit) {
      for (std::size_t op = 0; op < count_; ++op) {
        for (const std::int32_t tensor : inputs(op)) {
          const std::int32_t made_by = writer(tensor);
          if (made_by != TfliteUses::kNone) visit(static_cast<std::size_t>(made_by), op);
        }
      }
    };
    each([&](std::size_t made_by, std::size_t reader) {
      ++first_[made_by + 1];
      ++waiting_[reader];
    });
    for (std::size_t op = 0; op < count_; ++op) first_[op + 1] += first_[op];
    readers_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    each([&](std::size_t made_by, std::size_t reader) {
      readers_[next[made_by]++] = static_cast<std::int32_t>(reader);
    });
  }

  /// Takes the operator that comes first in the file among those whose inputs are there.
  std::vector<std::int32_t> first_come() {
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
    for (std::size_t op = 0; op < count_; ++op)
      if (waiting_[op] == 0) ready.push(static_cast<std::int32_t>(op));
    std::vector<std::int32_t> order;
    order.reserve(count_);
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      const auto op = static_cast<std::size_t>(order.back());
      for (std::size_t i = first_[op]; i < first_[op + 1]; ++i) {
        const std::int32_t reader = readers_[i];
        if (--waiting_[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
    }
    return order;
  }

  /// Returns an operator on a cycle: goes from one that waits to one that it waits for, until it
  /// comes back.
  std::size_t on_cycle() const {
    std::size_t op = 0;
    while (waiting_[op] == 0) ++op;
    for (std::vector<bool> seen(count_); !seen[op];) {
      seen[op] = true;
      for (const std::int32_t tensor : inputs(op)) {
        const std::int32_t made_by = writer(tensor);
        if (made_by == TfliteUses::kNone || waiting_[static_cast<std::size_t>(made_by)] == 0)
          continue;
        op = static_cast<std::size_t>(made_by);
        break;
      }
    }
    return op;
  }

  const TfliteFile& file_;
  const std::vector<TfliteUses>& uses_;
  std::size_t subgraph_;
  const schema::SubGraph& graph_;
  std::size_t count_;                  // operators of the subgraph
  std::vector<std::size_t> waiting_;   // inputs of an operator that are not yet made
  std::vector<std::size_t> first_;     // place in readers_
  std::vector<std::int32_t> readers_;  // operators
};

}  // namespace

Result<std::vector<std::int32_t>> operator_order(const TfliteChecks& checks, std::size_t subgraph) {
  return OperatorOrder(checks, subgraph).sorted();
}

}  // namespace parallax
