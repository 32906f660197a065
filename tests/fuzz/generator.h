// Makes a case of a seed. Nodes are proposed by recipes (recipes.h), computed by the oracle for all
// runs, and kept where they make sense; so every kept tensor has known values, and later recipes
// see them. Thread-safety: not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "interpret.h"
#include "random.h"

namespace parallax::fuzz {

/// Seeds from this one on make quantised graphs.
inline constexpr std::uint64_t kQuantisedSeeds = 1'000'000'000'000'000'000;

/// One list of numbers per run.
using Lists = std::vector<std::vector<std::int64_t>>;

struct Item {
  std::string name;
  DType dtype = DType::kF32;
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  Case make();

  // What recipes use.
  Random& random() { return random_; }
  std::size_t runs() const { return case_.runs.size(); }
  bool special() const { return case_.special; }
  /// How many graphs with bodies lie around what is being made.
  std::size_t depth() const { return levels_.size() - 1; }
  /// The value in a run; null where an error came before it.
  const Constant* value(const std::string& name, std::size_t run) const;
  /// Its dimensions, those of the first run where it has none.
  const Dims& dims(const std::string& name, std::size_t run) const;
  DType dtype(const std::string& name) const { return case_.dtypes.at(name); }
  int rank(const std::string& name) const { return dims(name, 0).rank(); }
  /// The dimension in all runs.
  std::vector<std::int64_t> sizes(const std::string& name, int axis) const;
  bool is_fixed(const std::string& name, int axis) const;
  /// Floats that every integer type holds.
  bool fits_byte(const std::string& name) const;

  /// A value that is there and fits, new ones preferred; empty where there is none.
  std::string find(const std::function<bool(const std::string&)>& fits);
  /// A value of that type and rank, made where none is there.
  std::string tensor(DType dtype, int min_rank, int max_rank);
  /// The same of a random numeric type, floats preferred.
  std::string numbers(int min_rank, int max_rank);
  /// A value that broadcasts with `other`, of the given type.
  std::string partner(const std::string& other, DType dtype);
  std::string constant(Constant value);
  /// A constant of random elements.
  std::string constant(DType dtype, const Dims& dims);
  /// An input of the whole graph with these dimensions, one list per run, and random elements.
  std::string input(DType dtype, const Lists& dims);
  /// A tensor of these integers, one list per run, of rank 1 or of `shape`: a constant, an input,
  /// or computed while running.
  std::string integers(const Lists& elements, DType dtype = DType::kI64,
                       std::optional<Dims> shape = {});
  /// One element, as a scalar or as a vector.
  std::string integer(const std::vector<std::int64_t>& per_run, bool scalar = true);
  std::string floats(const std::vector<float>& elements, const Dims& dims);
  Constant random_constant(DType dtype, const Dims& dims);
  /// A constant of finite floats: what passes make of others' products is not told apart.
  std::string weights(const Dims& dims);

  /// Keeps the node, whose outputs it names, where it computes; false where not.
  bool add(CaseNode& node);
  /// The same for a node with one output, whose name it gives; empty where it does not compute.
  std::string add(OpKind op, std::vector<std::string> inputs, Attributes attributes = {});

  /// Begins a body: its inputs, with their values in the first trip of each run.
  void begin_body(const std::vector<std::pair<Item, std::vector<std::optional<Constant>>>>& inputs);
  /// Adds some nodes.
  void grow(int nodes);
  /// A value of the body that is no value of the graphs around it; empty where there is none.
  std::string own_result(const std::function<bool(const std::string&)>& fits);
  CaseGraph end_body(std::vector<std::string> outputs);
  std::string fresh_name(const char* hint);

 private:
  struct Level {
    CaseGraph graph;
    std::vector<Item> items;
    std::vector<Scope> scopes;  ///< one per run
  };
  void choose_symbols();
  void choose_nodes();
  std::string new_input(DType dtype, const Lists& dims);
  CaseDim dim_of(const std::vector<std::int64_t>& sizes);
  void keep(Level& level, const Item& item, std::size_t run, Constant value);
  std::string given(const Lists& elements, DType dtype, const Dims& shape);
  std::string from_shapes(const Lists& elements);
  /// A Reshape whose shape is computed and has a 0: that copies a dimension, but where it is one of
  /// another tensor Parallax takes it for what it says.
  bool is_slow(const CaseNode& node, const std::vector<Constant>& outputs) const;
  bool copies_nothing(const CaseNode& node) const;
  bool is_quantised() const { return case_.seed >= kQuantisedSeeds; }
  bool sensible(const CaseNode& node, const std::vector<Constant>& outputs);
  void choose_outputs();

  Random random_;
  Case case_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> symbols_;
  bool large_ = false, errors_ = false;
  std::int64_t most_elements_ = 0;
  int names_ = 0;
};

}  // namespace parallax::fuzz
