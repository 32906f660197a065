// Quota of loading one model: bytes that its graph holds beyond the weights, and work. One account
// for the whole model: the nodes of the file, inference at every depth, folding and what else a
// small file can multiply draw from it, so that no number of nodes or bodies adds up to more. With
// it, loading and planning take at most 64 MiB, 8 times the file's size and 1.5 KB for each node
// that the file has in its main graph, besides what weights in other files need.
//
// What can be left out (a folded result, known elements) asks and does without where the answer is
// no; what cannot (nodes, shapes) has a part that nothing else takes, and loading fails beyond it.
// Copies of weights in other files have a part of their own, which nothing but copies of them
// takes. They count as far as they are stored: a sparse file would name terabytes for nothing.
//
// What is released gives its bytes back: set_type and settle (infer.h) for shapes and
// elements, the last owner for a constant (payment.h).
// Not thread-safe: one thread loads a model.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/saturating.h"

namespace parallax {

class LoadBudget {
 public:
  /// Bytes and work for a model without weights. The program itself takes 11 MiB of the 64.
  static constexpr std::int64_t kBytes = std::int64_t{44} << 20;
  static constexpr std::int64_t kWork = std::int64_t{1} << 30;
  /// Further bytes and work that only what cannot be left out takes.
  static constexpr std::int64_t kKeptBytes = std::int64_t{9} << 20;
  static constexpr std::int64_t kKeptWork = std::int64_t{1} << 31;
  /// About a nanosecond each: what a step costs on the reference kernels and in inference.
  static constexpr std::int64_t kWorkPerProduct = 8;
  static constexpr std::int64_t kWorkPerTerm = 128;
  static constexpr std::int64_t kWorkPerNode = 512;
  static constexpr std::int64_t kWorkPerInput = 64;

  /// More for a model whose file has `bytes` bytes.
  void allow_file(std::int64_t bytes) {
    bytes_ = saturating_add(bytes_, saturating_mul(6, bytes));
    allow_work(bytes);
  }
  /// More for weights in other files, of which passes may make copies. For the work, all of them
  /// count at most as much as the largest model's file.
  void allow_weights(std::int64_t bytes) {
    const std::int64_t before = std::min(weights_, kMostWeights);
    weights_ = saturating_add(weights_, bytes);
    allow_work(std::min(weights_, kMostWeights) - before);
  }
  /// More for what cannot be left out: nodes that the file has, which nothing multiplies.
  void allow_kept(std::int64_t bytes) { kept_bytes_ = saturating_add(kept_bytes_, bytes); }
  /// More for `count` nodes: most passes infer each of them once more.
  void allow_nodes(std::int64_t count) {
    kept_work_ = saturating_add(kept_work_, saturating_mul(kInferences * kWorkPerNode, count));
  }

  /// Takes `count`; false, with nothing taken, where too few are left.
  bool take_bytes(std::int64_t count) { return take(count, bytes_left(), taken_); }
  void return_bytes(std::int64_t count) { taken_ -= count; }
  bool take_work(std::int64_t count) { return spend(work_, count); }
  /// The same from the part for copies of weights in other files.
  bool take_weight_bytes(std::int64_t count) {
    return take(count, weight_bytes_left(), weight_bytes_taken_);
  }
  void return_weight_bytes(std::int64_t count) { weight_bytes_taken_ -= count; }
  /// The same for what cannot be left out. Nodes are never given back.
  bool need_node_bytes(std::int64_t count) { return take(count, needed_bytes_left(), nodes_); }
  bool need_work(std::int64_t count) { return spend(kept_work_, count) || spend(work_, count); }
  /// For the values of the graph: shapes are needed, known elements can be left out.
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
  /// Known elements were left out: a fresh account may give another graph.
  bool left_out() const { return left_out_; }

 private:
  static constexpr std::int64_t kWorkPerByte = 16;
  static constexpr std::int64_t kInferences = 128;
  static constexpr std::int64_t kMostWeights = std::int64_t{1} << 31;

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
