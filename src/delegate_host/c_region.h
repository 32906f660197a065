// Represents a region of a compiled graph, and its sizes under one binding, as structs of
// delegate.h.
// Thread-safety: const functions; objects do not move, so the structs' pointers stay valid.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/c_types.h"
#include "compile/compiled.h"
#include "device/support.h"
#include "parallax/delegate.h"
#include "run/device.h"

namespace parallax {

/// Owns a px_region and everything that it points to.
class CRegion {
 public:
  /// Computes the region's deferred constants, which stay computed while this object lives. Errors:
  /// those of the computation; kInternal if `compiled` has no such region.
  static Result<std::shared_ptr<const CRegion>> make(const Compiled& compiled, RegionId region);
  /// Returns a region of one node, for px_delegate::supports. All results are outputs. Constants
  /// that are deferred stay so: their data is null.
  static std::shared_ptr<const CRegion> of_node(const Graph& graph, NodeId node);
  CRegion(const CRegion&) = delete;
  CRegion& operator=(const CRegion&) = delete;

  /// Returns the struct for px_delegate::compile. It is valid while this object lives.
  const px_region& get() const { return region_; }
  /// Equal for the same region in graphs of other bindings, whose values have other ids. Covers
  /// everything that a delegate receives when it compiles: regions that are split for the sizes of
  /// one binding have other keys. Constants are compared by address, so keys are only valid while
  /// the constants live.
  const std::string& key() const { return key_; }
  /// The values that px_region::inputs, outputs and values stand for, in the same order.
  std::vector<ValueId> inputs, outputs, values;

 private:
  CRegion() = default;
  /// Returns the index of a value, which is added if it is new; -1 for absent values.
  std::int32_t index_of(const Graph& graph, ValueId id);
  /// Appends a node and the values that it reads and writes.
  void add_node(const Graph& graph, const Node& node);
  /// Converts an attribute; the result points into the deques.
  px_attribute attribute(const std::string& name, const AttributeValue& value);
  /// Converts a constant, of which a copy keeps the bytes alive. The data of a deferred one is null
  /// unless computes_.
  const px_tensor* tensor(const Constant& constant);
  /// Finds the inputs of a run, each once, and its outputs: values that others read.
  void find_boundary(const Compiled& compiled, const std::vector<NodeId>& nodes);
  /// Fills in the px_region from the lists, and completes the key.
  void finish(std::string name);

  std::unordered_map<ValueId, std::int32_t> index_;  ///< index of each value in the region
  std::vector<std::string> symbols_;                 ///< names, once a value has needed them
  bool computes_ = false;                            ///< whether deferred constants are computed
  // Deques, because pointers into them must stay valid.
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

/// The dims of all values of `region` in `compiled`, and their elements if these are known. Owns
/// the px_sizes. Errors: kUnsupported if a size is unknown, or if an input or output of the region
/// has no elements.
class CSizes {
 public:
  /// `told`: sizes that became known during the run. `compiled` and `told` must outlive the result,
  /// which points to their dims.
  static Result<std::unique_ptr<CSizes>> make(const Compiled& compiled, const CRegion& region,
                                              std::span<const ValueDims> told = {});
  /// Returns the sizes for px_delegate::supports, without elements. A value whose size `shapes`
  /// does not have gets a null pointer. `shapes` must outlive the result.
  static std::unique_ptr<CSizes> of_node(const Graph& graph, const ConcreteShapes& shapes,
                                         const CRegion& region);
  CSizes(const CSizes&) = delete;
  CSizes& operator=(const CSizes&) = delete;
  /// Returns the struct for px_delegate::bind, one tensor per value of the region; `data` is null
  /// if elements are not known.
  const px_sizes& get() const { return sizes_; }

 private:
  CSizes() = default;
  std::vector<px_tensor> tensors_;      ///< in the order of CRegion::values
  std::vector<const px_tensor*> list_;  ///< pointers to tensors_
  px_sizes sizes_{};
};

}  // namespace parallax
