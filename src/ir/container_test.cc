#include "ir/container.h"

#include <gtest/gtest.h>

#include "ir/snapshot.h"
#include "ir/strings.h"
#include "ir/text/text.h"

namespace parallax {
namespace {

ContainerType type_of(const std::string& text) {
  const auto graph = parse_graph("input x " + text + "\noutput x");
  return graph ? graph->values[ValueId{0}].container : nullptr;
}

TEST(Container, JoinsWhatIsKnownOfTensors) {
  struct Row {
    const char *a, *b, *both;
  };
  for (const Row& row :
       {Row{"sequence f32 [2, 3]", "sequence f32 [2, 4]", "sequence f32 [2, _]"},
        {"sequence f32 none", "sequence f32 [2]", "sequence f32 [2]"},
        {"sequence f32 [2]", "sequence f32 [2, 2]", "sequence f32 any"},
        {"optional sequence f32 [2]", "sequence f32 [2]", "optional sequence f32 [2]"},
        {"sequence f32 [2]", "optional f32 [2]", ""}}) {
    const ContainerType both = join(type_of(row.a), type_of(row.b));
    EXPECT_EQ(both == nullptr ? "" : to_string(*both, DType::kF32), row.both) << row.a;
    EXPECT_TRUE(same(both, join(type_of(row.b), type_of(row.a)))) << row.a;
  }
  EXPECT_EQ(join(type_of("map_i64 f32 []"), type_of("map_string f32 []")), nullptr);
}

constexpr const char* kGraph = R"(input a sequence f32 [2, _]
input b optional sequence string any
input c sequence map_string f32 []
const d string [2] = ["x", "\x01\"y"]
y: sequence f32 none = SequenceEmpty() @e
output y, d
)";

TEST(Container, TypesAndStringsSurviveTextAndSnapshots) {
  const auto graph = parse_graph(kGraph);
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_TRUE(verify(*graph, Stage::kLoad)) << verify(*graph, Stage::kLoad).error().to_string();
  EXPECT_EQ(print(*graph), kGraph);
  const GraphSnapshot snapshot = snapshot_of(*graph);
  std::size_t next = 0;
  const auto again = graph_of(snapshot.bytes, [&](std::int64_t) -> std::optional<SharedBytes> {
    const Constant& constant = *snapshot.constants[next++];
    return SharedBytes{constant.bytes, constant.owner};
  });
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(print(*again), kGraph);
}

TEST(Strings, AreChecked) {
  const std::string_view texts[] = {"a", "bc"};
  EXPECT_FALSE(make_strings({3}, texts));
  Constant constant = *make_strings({2}, texts);
  EXPECT_EQ((*strings_of(constant))[1], "bc");
  constant.dims = {3};
  EXPECT_FALSE(strings_of(constant));
  constant.dims = {std::int64_t{1} << 62};
  EXPECT_FALSE(strings_of(constant));
  constant.dims = {2};
  constant.bytes = constant.bytes.first(constant.bytes.size() - 1);
  EXPECT_FALSE(strings_of(constant));
}

}  // namespace
}  // namespace parallax
