// Expressions as bytes. Most values of a graph have the same few dimensions: each is written once
// and then named by its number. Equal expressions share memory when read. Thread-safety: plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "ir/expr.h"

namespace parallax {

/// Appends expressions to `out`, which must outlive it. One writer for all of a graph: numbers
/// refer to what it wrote before. Expressions must live as long as the writer, which knows them by
/// address.
class ExprWriter {
 public:
  explicit ExprWriter(ByteWriter& out) : out_(out) {}
  /// Appends `e`, or its number if it was written before.
  void write(const Expr& e);

 private:
  struct Less {
    bool operator()(const Expr& a, const Expr& b) const;
  };
  void define(const Expr& e);

  ByteWriter& out_;
  std::map<Expr, std::uint64_t, Less> numbers_;
  /// Likewise by address: most are copies.
  std::unordered_map<const Expr::Polynomial*, std::uint64_t> known_;
};

/// Reads what an ExprWriter wrote, in the same order. `in` must outlive it.
class ExprReader {
 public:
  explicit ExprReader(ByteReader& in) : in_(in) {}
  /// Returns the next expression. Fails `in` for what is no expression in normal form, and for one
  /// that is nested too deeply; then the result is meaningless. Symbols may be any: the caller
  /// checks them.
  Expr read() { return read(0); }

 private:
  Expr read(int depth);
  Expr define(int depth);
  Expr atom(int depth);

  ByteReader& in_;
  std::vector<Expr> read_;
};

}  // namespace parallax
