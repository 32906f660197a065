// What loading one model may still cost: bytes that its graph holds beyond the weights, and work.
// One account for the whole model: the nodes of the file, inference at every depth, folding and
// what else a small file can multiply draw from it, so that no number of nodes or bodies adds up to
// more. With it, loading and planning take at most 64 MiB and 8 times the file's size, besides what
// weights in other files need.
//
// What can be left out (a folded result, known elements) asks and does without where the answer is
// no; what cannot (nodes, shapes) has a part that nothing else takes, and loading fails beyond it.
// Not thread-safe: one thread loads a model.
#pragma once

#include <cstdint>
#include <limits>

#include "base/checked.h"

namespace parallax {

class LoadBudget {
 public:
  /// Bytes and work for a model without weights. The program itself takes 11 MiB of the 64.
  static constexpr std::int64_t kBytes = std::int64_t{44} << 20;
  static constexpr std::int64_t kWork = std::int64_t{1} << 30;
  /// Further bytes and work that only what cannot be left out takes.
  static constexpr std::int64_t kKeptBytes = std::int64_t{4} << 20;
  static constexpr std::int64_t kKeptWork = std::int64_t{1} << 31;
  /// About a nanosecond each: what a step costs on the reference kernels and in inference.
  static constexpr std::int64_t kWorkPerProduct = 8;
  static constexpr std::int64_t kWorkPerTerm = 128;
  static constexpr std::int64_t kWorkPerNode = 512;
  static constexpr std::int64_t kWorkPerInput = 64;

  /// More for a model whose file has so many bytes.
  void allow_file(std::int64_t bytes) { allow(6, bytes); }
  /// More for weights in other files, of which a pass may make copies.
  void allow_weights(std::int64_t bytes) { allow(4, bytes); }
  /// More for so many nodes: most passes infer each of them once more.
  void allow_nodes(std::int64_t count) {
    kept_work_ = add(kept_work_, mul(kInferences * kWorkPerNode, count));
  }

  /// Takes `count`; false, with nothing taken, where too few are left.
  bool take_bytes(std::int64_t count) { return take(bytes_, count); }
  bool take_work(std::int64_t count) { return take(work_, count); }
  /// For a constant of so many bytes, which kernels may keep once more as they read it.
  bool take_constant(std::int64_t bytes) { return take_bytes(mul(2, bytes)); }
  std::int64_t constant_bytes_left() const { return bytes_ / 2; }
  /// The same for what cannot be left out.
  bool need_bytes(std::int64_t count) { return take(kept_bytes_, count) || take(bytes_, count); }
  bool need_work(std::int64_t count) { return take(kept_work_, count) || take(work_, count); }
  void return_bytes(std::int64_t count) { bytes_ = add(bytes_, count); }

  std::int64_t bytes_left() const { return bytes_; }

 private:
  static constexpr std::int64_t kWorkPerByte = 16;
  static constexpr std::int64_t kInferences = 128;

  void allow(std::int64_t times, std::int64_t bytes) {
    bytes_ = add(bytes_, mul(times, bytes));
    work_ = add(work_, mul(kWorkPerByte, bytes));
  }
  static std::int64_t add(std::int64_t a, std::int64_t b) {
    return checked_add(a, b).value_or(std::numeric_limits<std::int64_t>::max());
  }
  static std::int64_t mul(std::int64_t a, std::int64_t b) {
    return checked_mul(a, b).value_or(std::numeric_limits<std::int64_t>::max());
  }
  static bool take(std::int64_t& left, std::int64_t count) {
    if (count > left) return false;
    left -= count;
    return true;
  }

  std::int64_t bytes_ = kBytes, work_ = kWork;
  std::int64_t kept_bytes_ = kKeptBytes, kept_work_ = kKeptWork;
};

}  // namespace parallax
