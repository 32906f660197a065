#include "parallax/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files/mapped_file.h"
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

TEST(InspectFile, ReadsAFileInMemory) {
  const auto file = MappedFile::open(digits_file());
  ASSERT_TRUE(file) << file.error().to_string();
  const auto report = inspect_file((*file)->bytes());
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->inputs[0].name, "image");
  const std::span<const std::byte> nowhere(static_cast<const std::byte*>(nullptr), 7);
  EXPECT_EQ(inspect_file(nowhere).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(inspect_file(std::span<const std::byte>()).error().code, ErrorCode::kInvalidModel);
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

TEST(ModelCheck, ListsNothingOfAModelThatRuns) {
  const auto nodes = Model::check(digits_file());
  ASSERT_TRUE(nodes) << nodes.error().to_string();
  EXPECT_THAT(*nodes, IsEmpty());
}

TEST(ModelCheck, HasTheErrorsOfLoad) {
  const std::string readme = PX_SOURCE_DIR "/README.md";
  const ModelBytes nowhere{{static_cast<const std::byte*>(nullptr), 7}};
  const LoadOptions deep{.max_nesting = -1}, unknown{.disabled_passes = {"no_pass"}};
  const auto expect_same = [](const auto& checked, const auto& loaded) {
    ASSERT_FALSE(checked || loaded);
    EXPECT_EQ(checked.error().to_string(), loaded.error().to_string());
    EXPECT_EQ(checked.error().code, loaded.error().code);
  };
  expect_same(Model::check("nowhere.onnx"), Model::load("nowhere.onnx"));
  expect_same(Model::check(readme), Model::load(readme));
  expect_same(Model::check(nowhere), Model::load(nowhere));
  for (const LoadOptions& options : {deep, unknown})
    expect_same(Model::check(digits_file(), options), Model::load(digits_file(), options));
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
