// What the fuzzer makes of a seed: a graph in ONNX's terms, and inputs for several runs of it.
// Bodies read the values of the graphs around them by name, as in a file. Thread-safety: plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace parallax::fuzz {

/// A number, the name of a free dimension, or a free one without a name.
using CaseDim = std::variant<std::monostate, std::int64_t, std::string>;

struct CaseInput {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<CaseDim> dims;  ///< of inputs of the whole graph; a body's have what the node gives
};

struct CaseGraph;

struct CaseNode {
  OpKind op = OpKind::kIdentity;
  Attributes attributes;
  std::vector<std::string> inputs;  ///< empty: left out
  std::vector<std::string> outputs;
  std::vector<CaseGraph> bodies;
  std::string spelling = {};  ///< its name in the file; empty: that of `op`
};

struct CaseGraph {
  std::vector<CaseInput> inputs;
  std::vector<std::pair<std::string, Constant>> constants;
  std::vector<CaseNode> nodes;  ///< in topological order
  std::vector<std::string> outputs;
};

struct Case {
  std::uint64_t seed = 0;
  std::int64_t opset = 0;
  /// NaN, infinities and -0 are among the elements, and operators do what the standard leaves open.
  bool special = false;
  /// The file has QLinearConv and QLinearMatMul where they say the same.
  bool qlinear = false;
  CaseGraph graph;
  /// Of all values, those of bodies too.
  std::map<std::string, DType, std::less<>> dtypes;
  std::map<std::string, int, std::less<>> ranks;
  /// One tensor per input of the graph and run; runs differ in free dimensions and in values.
  std::vector<std::vector<Constant>> runs;
};

/// For a person.
std::string to_string(const Case& fuzzed);
/// "f32 2x3 {1, 2, 3, 4, 5, 6}", long ones cut.
std::string to_string(const Constant& tensor);

/// Leaves out nodes and constants that no output needs, in bodies too.
void remove_dead(CaseGraph& graph);
/// The names of all that a value is computed from, itself and what bodies compute included.
std::set<std::string, std::less<>> values_behind(const CaseGraph& graph, const std::string& value);
/// Nodes of each operator, bodies included.
void count_operators(const CaseGraph& graph, std::map<OpKind, int>& counts);

/// The bytes of the ONNX file.
std::string onnx_bytes(const Case& fuzzed);

}  // namespace parallax::fuzz
