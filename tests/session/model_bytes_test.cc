// A model from memory is the model from a file with the same bytes, wherever these lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "base/status.h"
#include "cache/test_folder.h"
#include "load/onnx_test_util.h"
#include "parallax/session.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// Weights of each size of element, read in place, packed, computed with and gathered from. The
/// length of the name `first` shifts all that follow. The weights v, unless `outside` is null, lie
/// in a file of that name.
std::string bytes_model(const std::string& first = "w", const char* outside = nullptr) {
  std::string v = float_tensor("v", {4, 4}, ramp(16));
  if (outside != nullptr) {
    v = tensor_head("v", kOnnxFloat, {4, 4}) + message([&](protozero::pbf_writer& w) {
          w.add_message(13, message([&](protozero::pbf_writer& e) {
                          e.add_string(1, "location");
                          e.add_string(2, outside);
                        }));
          w.add_int32(14, 1);
        });
  }
  const std::vector<Dim> shape = {std::string("batch"), std::int64_t{1}, std::int64_t{6},
                                  std::int64_t{4}};
  return model(
      {{node("Conv", {"x", "k"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})}),
        node("MatMul", {"c", first}, {"a"}), node("Transpose", {"v"}, {"vt"}),
        node("MatMul", {"a", "vt"}, {"b"}), node("LayerNormalization", {"b", "scale"}, {"n"}),
        node("Gather", {"n", "rows"}, {"g"}, {attribute("axis", 2)}),
        node("Gather", {"table", "picks"}, {"t"}), node("Where", {"which", "g", "t"}, {"y"})},
       {float_tensor(first, {4, 4}, ramp(16)), v, float_tensor("k", {1, 1, 3, 3}, ramp(9)),
        float_tensor("scale", {4}, ramp(4)), int_tensor("rows", {5, 0, 3}),
        float_tensor("table", {3, 4}, ramp(12)),
        raw_tensor("picks", kOnnxInt32, {3}, raw_data(std::vector<std::int32_t>{2, 0, 1})),
        raw_tensor("which", kOnnxBool, {4}, std::string("\1\0\1\0", 4))},
       {value_info("x", kOnnxFloat, shape)},
       {value_info("y"), value_info("t")}});
}

/// The outputs of a run, or the error.
std::string run(const Model& model) {
  const auto outcome = [&]() -> Result<std::string> {
    PX_ASSIGN(Session session, Session::create(model, {.threads = 2}));
    PX_ASSIGN(Tensor x, Tensor::allocate(DType::kF32, {2, 1, 6, 4}));
    const std::vector<float> values = ramp(48);
    std::memcpy(x.mutable_view().bytes.data(), values.data(), sizeof(float) * values.size());
    const std::vector<NamedInput> inputs = {{"x", x.view()}};
    PX_ASSIGN(const auto outputs, session.run(inputs));
    std::string text;
    for (const Tensor& tensor : outputs)
      text += tensor.dims().to_string() + " " + text_of(tensor.view().bytes);
    return text;
  }();
  return outcome ? *outcome : outcome.error().to_string();
}

class ModelBytesTest : public FolderTest {
 protected:
  /// The model `bytes`, `shift` bytes behind an address for all types.
  static ModelBytes at(const std::string& bytes, std::size_t shift = 0, const fs::path& near = {}) {
    const auto memory = std::make_shared<std::vector<double>>(bytes.size() / sizeof(double) + 3);
    auto* const begin = reinterpret_cast<std::byte*>(memory->data()) + shift;
    std::memcpy(begin, bytes.data(), bytes.size());
    return {{begin, bytes.size()}, memory, near};
  }
  Runtime with_cache() const {
    RuntimeOptions options;
    options.cache = folder_ / "cache";
    return *Runtime::create(options);
  }
};

TEST_F(ModelBytesTest, GivesWhatTheFileGivesAtAnyAddress) {
  for (const std::string first : {"w", "wx", "wxy", "wxyz"}) {
    write(folder_ / "model.onnx", bytes_model(first));
    const auto file = Model::load(folder_ / "model.onnx");
    ASSERT_TRUE(file) << file.error().to_string();
    const std::string outputs = run(*file);
    ASSERT_THAT(outputs, StartsWith("2x1x3x4 "));
    for (std::size_t shift = 0; shift < sizeof(double); ++shift) {
      const auto model = Model::load(at(bytes_model(first), shift));
      ASSERT_TRUE(model) << model.error().to_string();
      EXPECT_EQ(model->file_nodes(), file->file_nodes());
      EXPECT_EQ(model->nodes(), file->nodes());
      EXPECT_EQ(run(*model), outputs) << shift;
    }
  }
}

TEST_F(ModelBytesTest, LivesAsLongAsItsReaders) {
  std::weak_ptr<const void> memory;
  {
    std::optional<Session> session;
    {
      ModelBytes bytes = at(bytes_model(), 1);
      memory = bytes.owner;
      const auto model = Model::load(std::move(bytes));
      ASSERT_TRUE(model);
      session.emplace(*Session::create(*model, {.threads = 1}));
    }
    EXPECT_FALSE(memory.expired());
    const Tensor x = *Tensor::allocate(DType::kF32, {1, 1, 6, 4});
    EXPECT_TRUE(session->run(std::vector<NamedInput>{{"x", x.view()}}));
  }
  EXPECT_TRUE(memory.expired());
}

TEST_F(ModelBytesTest, NeedsNoOwner) {
  const std::string bytes = bytes_model();
  const auto model = Model::load(ModelBytes{as_bytes(bytes)});
  ASSERT_TRUE(model);
  EXPECT_THAT(run(*model), StartsWith("2x1x3x4 "));
}

TEST_F(ModelBytesTest, RefusesWhatIsNoModel) {
  const std::string whole = bytes_model();
  const struct {
    ModelBytes bytes;
    ErrorCode code;
    std::string message;
  } rows[] = {
      {{}, ErrorCode::kInvalidModel, "empty"},
      {{{static_cast<const std::byte*>(nullptr), 7}}, ErrorCode::kInvalidInput, "without memory"},
      {at("this is no model"), ErrorCode::kInvalidModel, "not an ONNX model"},
      {at(whole.substr(0, whole.size() / 2)), ErrorCode::kInvalidModel, "damaged"},
      {at(bytes_model("w", "v.bin")), ErrorCode::kUnsupported, "no folder"},
      {at(bytes_model("w", "v.bin"), 0, folder_), ErrorCode::kIo, "'v.bin'"},
      {at(bytes_model("w", "../v.bin"), 0, folder_), ErrorCode::kInvalidModel, "has '..'"},
  };
  for (const auto& row : rows) {
    for (const bool cached : {false, true}) {
      const auto model = cached ? Model::load(row.bytes, {}, with_cache()) : Model::load(row.bytes);
      ASSERT_FALSE(model) << row.message;
      EXPECT_EQ(model.error().code, row.code) << model.error().to_string();
      EXPECT_THAT(model.error().message, HasSubstr(row.message));
    }
  }
}

TEST_F(ModelBytesTest, TakesExternalWeightsFromItsFolder) {
  write(folder_ / "v.bin", raw_data(ramp(16)));
  const auto inside = Model::load(at(bytes_model()));
  const auto outside = Model::load(at(bytes_model("w", "v.bin"), 3, folder_));
  ASSERT_TRUE(inside && outside);
  EXPECT_EQ(run(*outside), run(*inside));
}

TEST_F(ModelBytesTest, TakesExternalWeightsThroughLinksToTheLinkedFolder) {
  const fs::path blobs = folder_ / "blobs", links = folder_ / "links";
  fs::create_directories(blobs);
  fs::create_directories(links);
  write(blobs / "2b", raw_data(ramp(16)));
  fs::create_symlink("../blobs/2b", links / "v.bin");
  ModelBytes bytes = at(bytes_model("w", "v.bin"), 0, links);
  const auto refused = Model::load(bytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidModel);
  bytes.linked_folder = blobs;
  const auto linked = Model::load(bytes);
  ASSERT_TRUE(linked) << linked.error().to_string();
  EXPECT_EQ(run(*linked), run(*Model::load(at(bytes_model()))));
}

TEST_F(ModelBytesTest, HasTheFilesMetadataFromACacheToo) {
  const std::string bytes = bytes_model() + message([](protozero::pbf_writer& w) {
                              w.add_string(6, "described");
                              w.add_message(14, message([](protozero::pbf_writer& entry) {
                                              entry.add_string(1, "key");
                                              entry.add_string(2, "value");
                                            }));
                            });
  for (const bool cached : {false, true}) {
    const auto model = Model::load(at(bytes), {}, with_cache());
    ASSERT_TRUE(model) << model.error().to_string();
    EXPECT_EQ(model->load_times().passes_ms == 0, cached);
    EXPECT_EQ(model->metadata().doc_string, "described");
    EXPECT_EQ(model->metadata().graph_name, "g");
    EXPECT_THAT(model->metadata().properties, testing::ElementsAre(testing::Pair("key", "value")));
    EXPECT_THAT(run(*model), StartsWith("2x1x3x4 "));  // which writes the cache
  }
}

TEST_F(ModelBytesTest, IsKnownToTheCacheByItsBytes) {
  const std::string outputs = run(*Model::load(at(bytes_model())));
  for (const std::size_t shift : {0, 1, 4}) {
    const auto model = Model::load(at(bytes_model(), shift), {}, with_cache());
    ASSERT_TRUE(model);
    EXPECT_EQ(run(*model), outputs) << shift;
    const CacheReport report = model->cache();
    EXPECT_EQ(report.problem, "");
    EXPECT_THAT(fs::path(report.file).filename().string(), StartsWith("memory-"));
    EXPECT_EQ(report.written_bytes > 0, shift == 0);
    EXPECT_EQ(report.hits > 0, shift != 0);
    EXPECT_EQ(model->load_times().passes_ms == 0, shift != 0);
  }
  std::string other = bytes_model();  // of the same length
  other[other.find(raw_data(ramp(16))) + 1] = 1;
  const auto model = Model::load(at(other), {}, with_cache());
  ASSERT_TRUE(model);
  EXPECT_EQ(run(*model), run(*Model::load(at(other))));
  EXPECT_NE(run(*model), outputs);
  EXPECT_EQ(model->cache().hits, 0);
  EXPECT_EQ(model->cache().problem, "");
}

TEST_F(ModelBytesTest, IsKnownToTheCacheByItsExternalWeightsToo) {
  const std::string bytes = bytes_model("w", "v.bin");
  std::string outputs[2];
  for (int round = 0; round < 2; ++round) {
    for (const int which : {0, 1}) {
      const fs::path near = folder_ / std::to_string(which);
      fs::create_directories(near);
      std::vector<float> weights = ramp(16);
      weights[0] = static_cast<float>(which) * 9 - 4;
      if (round == 0) write(near / "v.bin", raw_data(weights));
      const auto model = Model::load(at(bytes, 0, near), {}, with_cache());
      ASSERT_TRUE(model) << model.error().to_string();
      const std::string now = run(*model);
      if (round == 0) outputs[which] = now;
      EXPECT_EQ(now, outputs[which]);
      EXPECT_EQ(model->load_times().passes_ms == 0, round == 1);
    }
  }
  EXPECT_NE(outputs[0], outputs[1]);
  write(folder_ / "0" / "v.bin", raw_data(ramp(16)));
  const auto changed = Model::load(at(bytes, 0, folder_ / "0"), {}, with_cache());
  ASSERT_TRUE(changed);
  EXPECT_EQ(run(*changed), run(*Model::load(at(bytes_model()))));
}

}  // namespace
}  // namespace parallax
