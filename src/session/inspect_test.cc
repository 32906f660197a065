#include "parallax/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "session/zoo_test_util.h"

namespace parallax {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(InspectFile, SaysWhatTheLoadedModelHas) {
  const auto report = inspect_file(digits_file());
  ASSERT_TRUE(report) << report.error().to_string();
  const auto model = Model::load(digits_file());
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_EQ(report->nodes, model->file_nodes());
  ASSERT_EQ(report->inputs.size(), model->inputs().size());
  EXPECT_EQ(report->inputs[0].name, model->inputs()[0].name);
  EXPECT_EQ(report->inputs[0].type, to_string(model->inputs()[0].dtype));
  ASSERT_FALSE(report->weights.empty());
  EXPECT_EQ(report->weights[0].type, "float32");
  EXPECT_EQ(report->weights[0].bytes, 4 * report->weights[0].parameters);
}

TEST(InspectFile, NamesTheLibrariesThatHaveKernels) {
  const auto report = inspect_file(digits_file());
  ASSERT_TRUE(report) << report.error().to_string();
  for (const FileOperator& op : report->operators) {
    EXPECT_TRUE(op.supported) << op.name;
    if (op.name == "Constant") {
      EXPECT_THAT(op.kernels, IsEmpty());
    } else {
      EXPECT_THAT(op.kernels, Contains("reference")) << op.name;
    }
  }
}

TEST(InspectFile, SaysWhyAFileCannotBeRead) {
  EXPECT_THAT(inspect_file("nowhere.onnx").error().message, HasSubstr("No such file"));
  EXPECT_THAT(inspect_file(PX_SOURCE_DIR "/README.md").error().message, HasSubstr("README.md"));
}

TEST(InspectMachine, HasVectorsAndCachesThatGrow) {
  const MachineReport machine = inspect_machine();
  EXPECT_THAT(machine.vector_bytes, testing::AnyOf(4, 16, 32, 64));
  EXPECT_GT(machine.l1_bytes, 0);
  EXPECT_GE(machine.l2_bytes, machine.l1_bytes);
  EXPECT_GE(machine.last_bytes, machine.l2_bytes);
}

}  // namespace
}  // namespace parallax
