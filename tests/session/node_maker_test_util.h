// For tests of fused operators: a graph of one node with random shapes, attributes and constants.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/builder.h"

namespace parallax::node_makers {

using Ints = std::vector<std::int64_t>;

/// Makes a graph of one fused node.
class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  /// One dimension in twenty has no elements.
  std::int64_t dim(std::int64_t most = 7) { return chance(5) ? 0 : 1 + below(most); }
  Ints dims(std::size_t rank) {
    Ints result;
    for (std::size_t i = 0; i < rank; ++i) result.push_back(dim(4));
    return result;
  }
  /// `dims`, some of them 1, some of the first left out.
  Ints broadcast(Ints dims) {
    for (std::int64_t& dim : dims)
      if (chance(30)) dim = 1;
    const auto left_out = below(std::ssize(dims) + 1);
    dims.erase(dims.begin(), dims.begin() + left_out);
    return dims;
  }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + below(std::ssize(list)));
  }

  ValueId input(const Ints& dims, DType dtype = DType::kF32) {
    return builder_.input(fmt::format("x{}", graph.inputs.size()), dtype,
                          Shape(dims.begin(), dims.end()));
  }
  /// An input or, as weights are, a constant.
  ValueId weights(const Ints& dims) {
    if (chance(50)) return input(dims);
    std::vector<float> elements(static_cast<std::size_t>(Dims(dims).elements()));
    for (float& x : elements) x = static_cast<float>(below(2001)) / 1000 - 1;
    return builder_.constant(
        fmt::format("w{}", graph.values.size()),
        make_constant(DType::kF32, Dims(dims), std::as_bytes(std::span(elements))));
  }
  /// A constant of bytes in [low, high].
  ValueId bytes(const Ints& dims, DType dtype, std::int64_t low, std::int64_t high) {
    std::vector<std::byte> elements(static_cast<std::size_t>(Dims(dims).elements()));
    for (std::byte& x : elements) x = static_cast<std::byte>(low + below(high - low + 1));
    return builder_.constant(fmt::format("b{}", graph.values.size()),
                             make_constant(dtype, Dims(dims), elements));
  }
  /// Positive numbers.
  ValueId scales(const Ints& dims, float most) {
    std::vector<float> elements(static_cast<std::size_t>(Dims(dims).elements()));
    for (float& x : elements) x = most * static_cast<float>(1 + below(100)) / 100;
    return builder_.constant(
        fmt::format("s{}", graph.values.size()),
        make_constant(DType::kF32, Dims(dims), std::as_bytes(std::span(elements))));
  }
  ValueId ints(const Ints& elements) {
    return builder_.constant(fmt::format("i{}", graph.values.size()), make_i64(elements));
  }
  /// An input that the node sees as `dims` through the permutation in `attribute`, which it has in
  /// `often` of a hundred cases.
  ValueId permuted(const Ints& dims, std::string_view attribute, int often,
                   bool weights_too = false) {
    Ints perm(dims.size()), from(dims.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
    if (chance(often)) {
      std::ranges::shuffle(perm, random_);
      attributes.set(std::string(attribute), perm);
    }
    for (std::size_t i = 0; i < perm.size(); ++i) from[static_cast<std::size_t>(perm[i])] = dims[i];
    return weights_too ? weights(from) : input(from);
  }
  void node(OpKind op, std::vector<ValueId> inputs, int outputs = 1) {
    const NodeId id = builder_.node(op, std::move(inputs), attributes, {}, outputs);
    for (const ValueId output : graph.nodes[id].outputs) builder_.output(output);
  }

  Graph graph;
  Attributes attributes;

 private:
  std::minstd_rand random_;
  GraphBuilder builder_{graph};
};

}  // namespace parallax::node_makers
