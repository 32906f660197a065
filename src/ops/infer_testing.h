// Helpers for tests of shape inference: a graph as text in, dtypes, shapes and contents as text
// out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ir/text/text.h"
#include "ops/infer.h"

namespace parallax {

inline std::string describe(const Graph& graph, const Value& value) {
  const auto names = graph.symbol_names();
  if (value.container != nullptr) return to_string(*value.container, value.dtype);
  std::string text = std::string(to_string(value.dtype)) + " " + to_string(value.shape, names);
  if (!value.content) return text;
  text += " = [";
  for (std::size_t i = 0; i < value.content->size(); ++i) {
    text += (i == 0 ? "" : ", ") + (*value.content)[i].to_string(names);
  }
  return text + "]";
}

/// The graph's outputs after inference, "float32 2x3; int64 2 = [s, 4]", or the error's one line.
/// Symbols b, s, h and w exist.
inline std::string inferred(std::string_view text) {
  auto graph = parse_graph("symbols b s h w\n" + std::string(text));
  if (!graph) return "parse: " + graph.error().message;
  if (const auto status = infer_graph(*graph); !status) {
    const std::string_view code =
        status.error().code == ErrorCode::kUnsupported ? "unsupported: " : "error: ";
    return std::string(code) + status.error().message;
  }
  if (const auto status = verify(*graph, Stage::kLoad); !status) {
    return "verify: " + status.error().message;
  }
  std::string result;
  for (ValueId id : graph->outputs) {
    result += (result.empty() ? "" : "; ") + describe(*graph, graph->values[id]);
  }
  return result;
}

struct InferRow {
  std::string_view graph;     ///< statements of ir/text/text.h
  std::string_view expected;  ///< expected text of inferred()
};
inline void check_rows(const std::vector<InferRow>& rows) {
  for (const InferRow& row : rows) EXPECT_EQ(inferred(row.graph), row.expected) << row.graph;
}

/// Rows whose `expected` must occur in the error.
inline void check_refusals(const std::vector<InferRow>& rows) {
  for (const InferRow& row : rows) {
    const std::string result = inferred(row.graph);
    EXPECT_TRUE(result.starts_with("error: ") || result.starts_with("unsupported: ")) << row.graph;
    EXPECT_NE(result.find(row.expected), std::string::npos) << row.graph << "\n" << result;
  }
}

}  // namespace parallax
