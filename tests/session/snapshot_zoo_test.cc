// What the cache of graphs rests on, with the models of the zoo.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "bind/evaluate.h"
#include "ir/snapshot.h"
#include "ir/text/text.h"
#include "load/onnx/onnx.h"
#include "lower/cpu/lower.h"
#include "ops/deferred.h"
#include "ops/infer.h"
#include "session/zoo_test_util.h"
#include "simplify/simplify.h"

namespace parallax {
namespace {

class SnapshotZoo : public testing::TestWithParam<const char*> {};

/// What the cache rests on: inference makes of the graph behind the passes what it is.
void expect_survival(const Graph& graph) {
  const GraphSnapshot snapshot = snapshot_of(graph);
  // print() reads them.
  for (const Constant* constant : snapshot.constants) ASSERT_TRUE(compute_for_good(*constant));
  std::size_t next = 0;
  auto again = graph_of(snapshot.bytes, [&](std::int64_t) -> std::optional<SharedBytes> {
    const Constant& constant = *snapshot.constants[next++];
    return SharedBytes{constant.bytes, constant.owner};
  });
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(print(*again), print(graph));
  ASSERT_TRUE(verify(*again, Stage::kLoad));
  ASSERT_TRUE(infer_graph(*again));
  EXPECT_EQ(snapshot_of(*again).bytes, snapshot.bytes);
}

TEST_P(SnapshotZoo, BothGraphsSurviveTheirSnapshots) {
  const std::filesystem::path path = unpacked(GetParam());
  if (path.empty()) GTEST_SKIP() << "xz is needed to unpack the model";
  const auto file = *MappedFile::open(path);
  auto graph = load_onnx({file->bytes(), file, path.parent_path()});
  ASSERT_TRUE(graph) << graph.error().to_string();
  const PassContext context{evaluate_node, evaluate_into};
  for (const auto passes : {simplify_passes(), lowering_passes()}) {
    ASSERT_TRUE(run_passes(passes, *graph, context));
    expect_survival(*graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SnapshotZoo, testing::ValuesIn(kZoo),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace parallax
