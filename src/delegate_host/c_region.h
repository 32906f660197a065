// A region of a compiled graph as the structs of delegate.h, and its sizes under one binding.
//
// Thread-safety: const functions; a CRegion and what it points to stay where they were made.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/c_types.h"
#include "compile/compiled.h"
#include "parallax/delegate.h"
#include "run/device.h"

namespace parallax {

class CRegion {
 public:
  /// Computes deferred constants, for as long as this lives. Errors: of those.
  static Result<std::shared_ptr<const CRegion>> make(const Compiled& compiled, RegionId region);
  CRegion(const CRegion&) = delete;
  CRegion& operator=(const CRegion&) = delete;

  const px_region& get() const { return region_; }
  /// Equal for the same region in the graphs of other bindings, whose values have other ids. Covers
  /// all that a delegate is told when it compiles: regions that are split for the sizes of one
  /// binding have keys of their own.
  const std::string& key() const { return key_; }
  /// The value behind each px_region::inputs, outputs and values.
  std::vector<ValueId> inputs, outputs, values;

 private:
  CRegion() = default;
  std::int32_t index_of(const Graph& graph, ValueId id);
  void add_node(const Graph& graph, const Node& node);
  px_attribute attribute(const std::string& name, const AttributeValue& value);
  const px_tensor* tensor(const Constant& constant);
  void find_boundary(const Compiled& compiled, const std::vector<NodeId>& nodes);
  void finish(std::string name);

  IdVector<ValueId, std::int32_t> index_;
  std::vector<std::string> symbols_;
  // Deques: what is in them stays where it is.
  std::deque<std::string> names_;
  std::deque<CType> types_;
  std::deque<Constant> constants_;
  std::deque<px_tensor> tensors_;
  std::deque<px_attribute> attributes_;
  std::deque<px_value> values_;
  std::deque<px_node> nodes_;
  std::deque<std::vector<std::int32_t>> indices_;
  std::deque<std::vector<std::int64_t>> integers_;
  std::deque<std::vector<float>> floats_;
  std::deque<std::vector<const px_attribute*>> lists_;
  std::vector<const px_value*> value_list_;
  std::vector<const px_node*> node_list_;
  std::vector<std::int32_t> input_list_, output_list_;
  std::string key_;
  px_region region_{};
};

/// The dims of all values of `region` in `compiled`, and what is known of their elements. Errors:
/// kUnsupported where a size is neither known nor told, or a tensor that a run brings or wants has
/// no elements.
class CSizes {
 public:
  /// `told`: what running has told of the rest.
  static Result<std::unique_ptr<CSizes>> make(const Compiled& compiled, const CRegion& region,
                                              std::span<const ValueDims> told = {});
  CSizes(const CSizes&) = delete;
  CSizes& operator=(const CSizes&) = delete;
  const px_sizes& get() const { return sizes_; }

 private:
  CSizes() = default;
  std::vector<px_tensor> tensors_;
  std::vector<const px_tensor*> list_;
  px_sizes sizes_{};
};

}  // namespace parallax
