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

class ExprWriter {
 public:
  explicit ExprWriter(ByteWriter& out) : out_(out) {}
  void write(const Expr& e);

 private:
  struct Less {
    bool operator()(const Expr& a, const Expr& b) const;
  };
  void define(const Expr& e);

  ByteWriter& out_;
  std::map<Expr, std::uint64_t, Less> numbers_;
  /// The same by address: most are copies.
  std::unordered_map<const Expr::Polynomial*, std::uint64_t> known_;
};

class ExprReader {
 public:
  explicit ExprReader(ByteReader& in) : in_(in) {}
  /// Fails `in` for what is no expression in normal form. Symbols may be any.
  Expr read() { return read(0); }

 private:
  Expr read(int depth);
  Expr define(int depth);
  Expr atom(int depth);

  ByteReader& in_;
  std::vector<Expr> read_;
};

}  // namespace parallax
