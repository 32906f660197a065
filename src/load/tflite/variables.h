// Variables of a TFLite file: resources, which READ_VARIABLE and ASSIGN_VARIABLE name by handles,
// and tensors in which recurrent operators leave their state. Not thread-safe.
//
// Variables that no run changes become constants. Others become inputs of the graph and, after the
// run's last operator, outputs (Graph::states); State keeps them between runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "load/tflite/tflite_file.h"

namespace parallax {

/// Whether the operator makes, reads, writes or initialises variables (assemble_variables.cc).
bool is_tflite_variable(tflite_schema::BuiltinOperator code);

/// The caller changes `first` and `latest` while operators are written; `input` is set by
/// add_state().
struct TfliteVariable {
  std::string_view name;          ///< in the file; may be empty
  bool assigned = false;          ///< whether a run may change it
  std::optional<Constant> first;  ///< the value before the first run; nullopt: zeros
  ValueId input, latest;          ///< at the beginning of a run, and for the next operator
};

/// The variables of one file while its graph is written. Names point into the file. Pointers to
/// variables stay valid as long as this lives.
class TfliteVariables {
 public:
  /// Finds all variables, in time linear in the file. A resource counts as assigned if an operator
  /// outside of the subgraphs that CALL_ONCE runs assigns it. REQUIRES: open_tflite() has checked
  /// the file.
  explicit TfliteVariables(const TfliteFile& file);

  /// Returns the variable that a tensor is, or is a handle of; null for any other tensor. Handles
  /// are found in the subgraph of their VAR_HANDLE only.
  TfliteVariable* find(std::size_t subgraph, std::int32_t tensor) const;
  /// Notes that a subgraph initialises variables. Returns false if it has done so before.
  bool initialise(std::size_t subgraph) { return initialised_.insert(subgraph).second; }
  /// Makes a variable an input of the graph, after those before it.
  void add_state(TfliteVariable& variable, ValueId input);
  /// The variables that are inputs, in their order.
  const std::vector<TfliteVariable*>& states() const { return states_; }

 private:
  using Place = std::pair<std::size_t, std::int32_t>;  ///< subgraph, tensor

  void add(const TfliteFile& file, std::size_t subgraph, const tflite_schema::Operator& op);
  void mark(const TfliteFile& file, std::size_t subgraph, const tflite_schema::Operator& op);

  std::map<std::pair<std::string_view, std::string_view>, TfliteVariable> resources_;
  std::map<Place, TfliteVariable> tensors_;
  std::map<Place, TfliteVariable*> places_;
  std::set<std::size_t> initialisers_, initialised_;
  std::vector<TfliteVariable*> states_;
};

}  // namespace parallax
