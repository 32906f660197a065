// For tests of sessions: models from text, and what outputs hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/text/text.h"
#include "ops/infer.h"
#include "session/model_impl.h"

namespace parallax {

/// Throws what is wrong with `text`.
/// `disabled`: passes that are left out.
inline Model model_of(std::string_view text, std::vector<std::string> disabled = {}) {
  auto graph = parse_graph(text);
  if (!graph) throw std::runtime_error(graph.error().to_string());
  if (auto status = infer_graph(*graph); !status)
    throw std::runtime_error(status.error().to_string());
  LoadOptions options;
  options.disabled_passes = std::move(disabled);
  auto model = Model::Impl::make(*std::move(graph), options);
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

/// With each elementwise operator as a node, whose tensors the test counts.
inline Model unchained_model_of(std::string_view text) { return model_of(text, {"fuse_chain"}); }

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) {
    return x.dims() == y.dims() && std::ranges::equal(x.view().bytes, y.view().bytes);
  });
}

/// The bytes of the first output; none where the run failed.
inline std::vector<std::byte> bits_of(const Result<std::vector<Tensor>>& outputs) {
  if (!outputs) return {};
  const auto bytes = outputs->front().view().bytes;
  return {bytes.begin(), bytes.end()};
}

}  // namespace parallax
