// For tests of sessions: models from text.
#pragma once

#include <stdexcept>
#include <string_view>
#include <utility>

#include "ir/text.h"
#include "ops/infer.h"
#include "session/model_impl.h"

namespace parallax {

/// Throws what is wrong with `text`.
inline Model model_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) throw std::runtime_error(graph.error().to_string());
  if (auto status = infer_graph(*graph); !status)
    throw std::runtime_error(status.error().to_string());
  auto model = Model::Impl::make(*std::move(graph), {});
  if (!model) throw std::runtime_error(model.error().to_string());
  return *std::move(model);
}

}  // namespace parallax
