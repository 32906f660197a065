// The quota of loading one model: work, and the bytes that its graph holds beyond the weights. The
// whole model shares one quota: the nodes of the file, inference at every depth, folding, and all
// else that a small file can multiply are charged to it, so no number of nodes or bodies adds up to
// more. It limits loading and planning to 64 MiB, plus 8 times the file's size, 1.5 KB for each
// node of the main graph in the file, and the needs of weights in other files.
//
// Optional items (folded results, known elements) are left out if the quota is exhausted. Required
// items (nodes, shapes) have a reserved part; loading fails beyond it. Copies of weights in other
// files have a separate part. Those weights count by their stored bytes, because a sparse file
// could claim terabytes.
//
// Charges are released by set_type() and settle() (ops/infer.h) for shapes and elements, and by the
// last owner of a constant (charge.h).
//
// Not thread-safe: one thread loads a model.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/saturating.h"

namespace parallax {

/// The quota of one load.
class LoadQuota {
 public:
  /// Bytes and work for a model without weights. The program itself needs 11 MiB of the 64.
  static constexpr std::int64_t kBytes = std::int64_t{44} << 20;
  static constexpr std::int64_t kWork = std::int64_t{1} << 30;
  /// Bytes and work reserved for required items, in addition.
  static constexpr std::int64_t kKeptBytes = std::int64_t{9} << 20;
  static constexpr std::int64_t kKeptWork = std::int64_t{1} << 31;
  /// Work of a step on reference kernels and in inference; a unit is about a nanosecond.
  static constexpr std::int64_t kWorkPerProduct = 8;
  static constexpr std::int64_t kWorkPerTerm = 128;
  static constexpr std::int64_t kWorkPerNode = 512;
  static constexpr std::int64_t kWorkPerInput = 64;

  /// Raises the quota for a model whose file has `bytes` bytes.
  void allow_file(std::int64_t bytes) {
    bytes_ = saturating_add(bytes_, saturating_mul(6, bytes));
    allow_work(bytes);
  }
  /// Raises the quota for weights in other files, of which passes may make copies. For work, all of
  /// them count at most as much as the largest model's file.
  void allow_weights(std::int64_t bytes) {
    const std::int64_t before = std::min(weights_, kMaxWeights);
    weights_ = saturating_add(weights_, bytes);
    allow_work(std::min(weights_, kMaxWeights) - before);
  }
  /// Raises the reserved part for nodes that the file has: nothing multiplies them.
  void allow_kept(std::int64_t bytes) { kept_bytes_ = saturating_add(kept_bytes_, bytes); }
  /// Raises the reserved work for `count` nodes: most passes infer each of them again.
  void allow_nodes(std::int64_t count) {
    kept_work_ = saturating_add(kept_work_, saturating_mul(kInferences * kWorkPerNode, count));
  }

  /// Charges `count`; returns false and charges nothing if less is left.
  bool take_bytes(std::int64_t count) { return take(count, bytes_left(), taken_); }
  void return_bytes(std::int64_t count) { taken_ -= count; }
  bool take_work(std::int64_t count) { return spend(work_, count); }
  /// Same for copies of weights in other files.
  bool take_weight_bytes(std::int64_t count) {
    return take(count, weight_bytes_left(), weight_bytes_taken_);
  }
  void return_weight_bytes(std::int64_t count) { weight_bytes_taken_ -= count; }
  /// Same for required items. Bytes of nodes are never released.
  bool need_node_bytes(std::int64_t count) { return take(count, needed_bytes_left(), nodes_); }
  bool need_work(std::int64_t count) { return spend(kept_work_, count) || spend(work_, count); }
  /// Same for the values of the graph: shapes are required, known elements are optional.
  bool need_shape(std::int64_t bytes) { return take(bytes, needed_bytes_left(), shapes_); }
  bool take_elements(std::int64_t bytes) {
    const bool taken = take(bytes, bytes_left(), elements_);
    left_out_ = left_out_ || !taken;
    return taken;
  }
  void leave_out() { left_out_ = true; }
  void return_type(std::int64_t shape, std::int64_t elements) {
    shapes_ -= shape;
    elements_ -= elements;
  }
  /// Sets the bytes of all shapes and elements of the graph, after they were counted again.
  void settle_types(std::int64_t shapes, std::int64_t elements) {
    shapes_ = shapes;
    elements_ = elements;
  }

  /// Bytes of weights in other files.
  std::int64_t weights() const { return weights_; }
  std::int64_t bytes_left() const { return bytes_ - taken_ - elements_ - beyond_kept(); }
  std::int64_t weight_bytes_left() const {
    return saturating_mul(4, weights_) - weight_bytes_taken_;
  }
  std::int64_t needed_bytes_left() const {
    return saturating_add(bytes_left(), kept_bytes_ - (needed() - beyond_kept()));
  }
  /// Whether half of the bytes is left, and of those for copies of weights in other files.
  bool half_is_left() const {
    return bytes_left() >= bytes_ / 2 && weight_bytes_left() >= saturating_mul(2, weights_);
  }
  std::int64_t work_left() const { return work_; }
  std::int64_t needed_work_left() const { return saturating_add(kept_work_, work_); }
  /// Whether known elements were left out: a fresh quota may give another graph.
  bool left_out() const { return left_out_; }

 private:
  static constexpr std::int64_t kWorkPerByte = 16;
  static constexpr std::int64_t kInferences = 128;
  static constexpr std::int64_t kMaxWeights = std::int64_t{1} << 31;

  void allow_work(std::int64_t bytes) {
    work_ = saturating_add(work_, saturating_mul(kWorkPerByte, bytes));
  }
  static bool take(std::int64_t count, std::int64_t left, std::int64_t& taken) {
    if (count > 0 && count > left) return false;  // `left` may be below 0 after settle_types()
    taken += count;
    return true;
  }
  static bool spend(std::int64_t& left, std::int64_t count) {
    if (count > left) return false;
    left -= count;
    return true;
  }
  std::int64_t needed() const { return nodes_ + shapes_; }
  std::int64_t beyond_kept() const { return std::max<std::int64_t>(needed() - kept_bytes_, 0); }

  std::int64_t bytes_ = kBytes, kept_bytes_ = kKeptBytes, weights_ = 0;  ///< in all
  std::int64_t taken_ = 0, weight_bytes_taken_ = 0, elements_ = 0, nodes_ = 0, shapes_ = 0;
  std::int64_t work_ = kWork, kept_work_ = kKeptWork;  ///< left
  bool left_out_ = false;
};

}  // namespace parallax
