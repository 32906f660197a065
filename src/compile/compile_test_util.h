// Helpers for tests of compiling and running: graphs from text.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "compile/compiled.h"
#include "ir/text/text.h"
#include "ops/infer.h"

namespace parallax {

/// Parses and checks `text`; throws the error.
inline std::shared_ptr<GraphContext> context_of(std::string_view text) {
  auto graph = parse_graph(text);
  if (!graph) throw std::runtime_error(graph.error().to_string());
  if (auto status = infer_graph(*graph); !status)
    throw std::runtime_error(status.error().to_string());
  if (auto status = verify(*graph, Stage::kLoad); !status)
    throw std::runtime_error(status.error().to_string());
  return std::make_shared<GraphContext>(*std::move(graph));
}

}  // namespace parallax
