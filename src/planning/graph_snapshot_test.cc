// The graph in the cache: loading a model with it gives the same model as loading without, and a
// graph that is not the model's is not used.
#include "planning/graph_snapshot.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "cache/test_folder.h"
#include "ir/snapshot.h"
#include "ir/text/text.h"
#include "load/onnx_test_util.h"
#include "ops/deferred.h"
#include "parallax/session.h"
#include "session/model_impl.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

std::string external_tensor(std::string_view name, const Ints& dims, std::string_view location) {
  return tensor_head(name, kOnnxFloat, dims) + message([&](protozero::pbf_writer& w) {
           w.add_message(13, message([&](protozero::pbf_writer& e) {
                           e.add_string(1, "location");
                           e.add_string(2, location.data(), location.size());
                         }));
           w.add_int32(14, 1);
         });
}

/// A body that multiplies x, from outside, by a constant of its own.
std::string body(float by) {
  return TestGraph{
      {node("Transpose", {"k"}, {"t"}), node("MatMul", {"x", "t"}, {"y" + std::to_string(by)})},
      {float_tensor("k", {4, 4}, std::vector<float>(16, by))},
      {},
      {value_info("y" + std::to_string(by))}}
      .bytes();
}

/// A model with weights in the file, in external files and computed; free dimensions, and
/// expressions of them; a dimension that only a run determines; bodies with constants.
std::string snapshot_model() {
  const std::vector<Dim> shape = {std::string("batch"), std::string("seq"), std::int64_t{4}};
  return model(
      {{node("MatMul", {"x", "w"}, {"a"}, {}, "product"), node("Add", {"a", "b"}, {"b1"}),
        node("Transpose", {"v"}, {"vt"}), node("MatMul", {"b1", "vt"}, {"c"}),
        node("Concat", {"c", "x"}, {"d"}, {attribute("axis", 1)}),
        node("If", {"flag"}, {"e"},
             {graph_attribute("then_branch", body(2)), graph_attribute("else_branch", body(3))}),
        node("LayerNormalization", {"e", "b"}, {"f"}, {attribute("epsilon", 1e-5F)}),
        node("Add", {"f", "again"}, {"g"}), node("NonZero", {"x"}, {"found"})},
       {float_tensor("w", {4, 4}, ramp(16)), external_tensor("v", {4, 4}, "folder/v.bin"),
        external_tensor("again", {4}, "again.bin"), float_tensor("b", {4}, ramp(4))},
       {value_info("x", kOnnxFloat, shape), value_info("flag", kOnnxBool, {})},
       {value_info("d"), value_info("g"), value_info("found")}});
}

class SnapshotTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    fs::create_directories(folder_ / "folder");
    write(model_, snapshot_model());
    write(folder_ / "folder/v.bin", raw_data(ramp(16)));
    write(folder_ / "again.bin", raw_data(ramp(4)));
    // Modification times distinguish these files from later ones only after that.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }

  std::string cache_folder() const { return (folder_ / "cache").string(); }
  Runtime with_cache() const {
    RuntimeOptions options;
    options.cache = cache_folder();
    return *Runtime::create(options);
  }
  Result<Model> load(const Runtime& runtime, const LoadOptions& options = {}) const {
    return Model::load(model_, options, runtime);
  }
  Result<Model> load_uncached() const { return Model::load(model_); }

  /// Whether the graph came from the cache: no pass ran.
  static bool from_snapshot(const Model& model) { return model.load_times().passes_ms == 0; }

  static std::string describe(const Graph& graph) {
    const GraphSnapshot snapshot = snapshot_of(graph);
    std::string text = print(graph);
    for (const Constant* constant : snapshot.constants) text += text_of(constant->bytes);
    return text + text_of(snapshot.bytes);
  }

  /// Prints everything that a user can see, and the graphs.
  static std::string describe(const Model& model) {
    std::string text = fmt::format("{} {}\n", model.file_nodes(), model.nodes());
    for (const std::string& symbol : model.symbols()) text += symbol + " ";
    for (const auto* list : {&model.inputs(), &model.outputs()}) {
      for (const TensorInfo& info : *list) {
        text += fmt::format("\n{} {}", info.name, to_string(info.dtype));
        for (const Dimension& dim : info.shape)
          text += fmt::format(" {} {}", dim.value, dim.symbol);
      }
    }
    const auto canonical = impl_of(model).forms->canonical();
    if (!canonical) return canonical.error().to_string();
    return text + "\n" + describe(impl_of(model).graph()) + describe((*canonical)->graph);
  }

  /// Returns the outputs of one run, or the error. The run writes packed weights to the cache.
  static std::string run(const Model& model, Kernels kernels = Kernels::kBest) {
    auto session = Session::create(model, {.threads = 1, .kernels = kernels});
    if (!session) return session.error().to_string();
    std::vector<Tensor> tensors;
    std::vector<NamedInput> inputs;
    for (const TensorInfo& info : model.inputs()) {
      Dims dims;
      for (const Dimension& dim : info.shape) dims.push_back(dim.value < 0 ? 2 : dim.value);
      auto tensor = Tensor::allocate(info.dtype, dims);
      if (!tensor) return tensor.error().to_string();
      const MutableTensorView view = tensor->mutable_view();
      if (info.dtype == DType::kF32)
        for (std::int64_t i = 0; i < dims.elements(); ++i)
          view.as<float>()[i] = static_cast<float>(i % 5);
      else
        std::memset(view.bytes.data(), 0, view.bytes.size());
      tensors.push_back(*std::move(tensor));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i)
      inputs.push_back({model.inputs()[i].name, tensors[i].view()});
    const auto outputs = session->run(inputs);
    if (!outputs) return outputs.error().to_string();
    std::string result;
    for (const Tensor& tensor : *outputs)
      result += tensor.dims().to_string() + " " + text_of(tensor.view().bytes);
    return result;
  }

  /// Returns the file of the cache, after a first load and run.
  fs::path filled() const {
    const auto first = load(with_cache());
    EXPECT_TRUE(first) << first.error().to_string();
    run(*first);
    EXPECT_GT(first->cache().written_bytes, 0) << first->cache().problem;
    return first->cache().file;
  }

  const fs::path model_ = folder_ / "model.onnx";
};

TEST_F(SnapshotTest, IsThatOfAPlainLoad) {
  const auto plain = load_uncached();
  ASSERT_TRUE(plain) << plain.error().to_string();
  const std::string expected = describe(*plain), outputs = run(*plain);
  EXPECT_THAT(outputs, testing::StartsWith("2x4x4 "));
  for (int i = 0; i < 3; ++i) {
    const auto model = load(with_cache());
    ASSERT_TRUE(model) << model.error().to_string();
    EXPECT_EQ(from_snapshot(*model), i > 0);
    EXPECT_EQ(describe(*model), expected);
    EXPECT_EQ(run(*model), outputs);
    EXPECT_EQ(run(*model, Kernels::kReference), run(*plain, Kernels::kReference));
    EXPECT_EQ(model->cache().misses > 0, i == 0);
    EXPECT_EQ(model->cache().problem, "");
  }
}

TEST_F(SnapshotTest, ConstantsLieInFiles) {
  filled();
  const auto model = load(with_cache());
  ASSERT_TRUE(model && from_snapshot(*model));
  const auto constants = snapshot_of(impl_of(*model).graph()).constants;
  EXPECT_GE(constants.size(), 5U);
  for (const Constant* constant : constants) EXPECT_TRUE(mapped_place(constant->bytes.data()));
}

TEST_F(SnapshotTest, IsOfItsOptions) {
  filled();
  LoadOptions options;
  options.disabled_passes = {"fold_constants", "dead_code"};
  const auto other = load(with_cache(), options);
  ASSERT_TRUE(other);
  EXPECT_FALSE(from_snapshot(*other));
  run(*other);
  std::ranges::reverse(options.disabled_passes);
  const auto again = load(with_cache(), options);
  EXPECT_TRUE(again && from_snapshot(*again));
  const auto first = load(with_cache());
  EXPECT_TRUE(first && from_snapshot(*first));

  options.disabled_passes = {"no such pass"};
  EXPECT_FALSE(load(with_cache(), options));
  options = {};
  options.max_nesting = 0;
  EXPECT_FALSE(load(with_cache(), options));
}

TEST_F(SnapshotTest, IsOfAllFilesOfTheModel) {
  for (const char* const name : {"folder/v.bin", "again.bin"}) {
    filled();
    std::vector<float> other = ramp(fs::file_size(folder_ / name) / sizeof(float));
    other[2] = 100;
    write(folder_ / name, raw_data(other));
    const auto changed = load(with_cache());
    ASSERT_TRUE(changed) << changed.error().to_string();
    EXPECT_FALSE(from_snapshot(*changed)) << name;
    EXPECT_EQ(describe(*changed), describe(*load_uncached()));
    fs::remove(folder_ / name);
    EXPECT_FALSE(load(with_cache())) << name;
    fs::create_symlink("/etc/passwd", folder_ / name);
    EXPECT_FALSE(load(with_cache())) << name;
    fs::remove(folder_ / name);
    other[2] = 200;
    write(folder_ / "elsewhere.bin", raw_data(other));
    fs::create_symlink(folder_ / "elsewhere.bin", folder_ / name);
    const auto linked = load(with_cache());
    ASSERT_TRUE(linked) << linked.error().to_string();
    EXPECT_FALSE(from_snapshot(*linked)) << name;
    EXPECT_EQ(describe(*linked), describe(*load_uncached()));
    fs::remove(folder_ / name);
    write(folder_ / name, raw_data(other));
  }
}

/// Two empty files have the same address: null.
TEST_F(SnapshotTest, FilesMayBeEmpty) {
  write(model_, model({{node("Concat", {"x", "v1"}, {"y"}, {attribute("axis", 0)})},
                       {external_tensor("e1", {0}, "e1.bin"), external_tensor("e2", {0}, "e2.bin"),
                        external_tensor("v1", {4}, "v1.bin"), external_tensor("v2", {4}, "v2.bin"),
                        external_tensor("v3", {4}, "v3.bin")},
                       {value_info("x", kOnnxFloat, {std::int64_t{4}})},
                       {value_info("y"), value_info("v2"), value_info("v3")}}));
  for (const char* const name : {"e1.bin", "e2.bin"}) write(folder_ / name, "");
  for (const char* const name : {"v1.bin", "v2.bin", "v3.bin"})
    write(folder_ / name, std::string(16, name[1]));
  filled();
  const auto again = load(with_cache());
  ASSERT_TRUE(again);
  EXPECT_TRUE(from_snapshot(*again)) << again->cache().problem;
  EXPECT_EQ(describe(*again), describe(*load_uncached()));
}

TEST_F(SnapshotTest, TheModelMayLieInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  for (const bool cached : {false, true}) {
    const auto model = Model::load("model.onnx", {}, with_cache());
    ASSERT_TRUE(model) << model.error().to_string();
    EXPECT_EQ(from_snapshot(*model), cached) << model->cache().problem;
    fs::current_path(before);
    EXPECT_EQ(run(*model), run(*load_uncached()));
    fs::current_path(folder_);
  }
  fs::current_path(before);
}

/// The bytes of a mapping change with its file, and with them the meaning of their hash.
TEST_F(SnapshotTest, IsNotKeptWhereAFileHasChangedSince) {
  std::string other_model = snapshot_model();
  other_model[other_model.find("product")] = 'q';
  std::vector<float> other = ramp(16);
  other[2] = 100;
  const std::vector<std::pair<fs::path, std::string>> changes = {
      {folder_ / "folder/v.bin", raw_data(other)}, {model_, other_model}};
  for (const auto& [file, contents] : changes) {
    const auto first = load(with_cache());
    ASSERT_TRUE(first);
    write(file, contents);
    run(*first);
    EXPECT_EQ(first->cache().written_bytes, 0);
    EXPECT_NE(first->cache().problem.find("has changed"), std::string::npos);
    const auto second = load(with_cache());
    ASSERT_TRUE(second);
    EXPECT_FALSE(from_snapshot(*second)) << file;
    EXPECT_EQ(describe(*second), describe(*load_uncached()));
  }
}

TEST_F(SnapshotTest, IsOfTheModel) {
  filled();
  std::string contents = snapshot_model();
  write(model_, contents);
  const auto copied = load(with_cache());
  EXPECT_TRUE(copied && from_snapshot(*copied)) << "the same contents";
  contents[contents.find("product")] = 'q';
  write(model_, contents);
  const auto other = load(with_cache());
  ASSERT_TRUE(other);
  EXPECT_FALSE(from_snapshot(*other));
  EXPECT_EQ(describe(*other), describe(*load_uncached()));
}

TEST_F(SnapshotTest, ATornFileIsIgnored) {
  const fs::path file = filled();
  const std::string whole = read(file), expected = describe(*load_uncached());
  // Cuts are close together in the tables and the graph, which are always read.
  for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 17 : 1021) {
    write(file, whole.substr(0, size));
    const auto model = load(with_cache());
    ASSERT_TRUE(model) << size << model.error().to_string();
    EXPECT_FALSE(from_snapshot(*model)) << size;
    EXPECT_EQ(describe(*model), expected) << size;
    EXPECT_THAT(model->cache().problem, testing::HasSubstr("damaged")) << size;
  }
}

/// An external file that occupies no space on disk, and is not read completely.
TEST_F(SnapshotTest, HashesNoFileThatIsLargerThanItsWeights) {
  const auto with_bytes = [&](std::int64_t bytes) {
    const fs::path path = folder_ / "weights.bin";
    write(path, "");
    fs::resize_file(path, static_cast<std::uintmax_t>(bytes));
    return std::vector<NamedFile>{{"weights.bin", *MappedFile::open(path)}};
  };
  constexpr std::int64_t kMiB = std::int64_t{1} << 20, kGiB = std::int64_t{1} << 30;
  EXPECT_TRUE(may_hash({}, 0));
  EXPECT_TRUE(may_hash(with_bytes(64 * kMiB), 0));
  EXPECT_FALSE(may_hash(with_bytes(64 * kMiB + 1), 0));
  EXPECT_TRUE(may_hash(with_bytes(16 * kGiB), 8 * kGiB));
  EXPECT_FALSE(may_hash(with_bytes(16 * kGiB + 1), 16 * kGiB));
}

/// A file with correct checksums can hold any bytes. They are refused, or they form a valid graph:
/// it may compute something else, but only within its memory.
TEST_F(SnapshotTest, ChangedBytesAreHarmless) {
  const fs::path file = filled();
  const std::string whole = read(file), expected = describe(*load_uncached());
  const auto mapped = *MappedFile::open(model_);
  const auto open = [&](const std::string& name) -> Result<std::shared_ptr<const MappedFile>> {
    return MappedFile::open(folder_ / name);
  };
  const std::string name = "nesting 16 without ";
  const auto check = [&] {
    write(file, whole);
    {
      const auto cache = open_cache(
          cache_folder(),
          {{mapped->bytes(), mapped, folder_}, ModelSource::File{model_, mapped->identity()}});
      auto snapshot = cache->snapshot(name, open);
      RC_ASSERT(snapshot.has_value());
      std::string bytes = text_of(snapshot->bytes.bytes);
      for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
        bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] =
            static_cast<char>(*rc::gen::inRange(0, 256));
      snapshot->bytes.bytes = as_bytes(bytes);
      cache->keep_snapshot(name, *snapshot);
      cache->save();
      RC_ASSERT(cache->report().problem.empty());
    }
    const auto model = load(with_cache());
    RC_ASSERT(model.has_value());
    RC_CLASSIFY(from_snapshot(*model));
    if (from_snapshot(*model)) {
      run(*model);
      run(*model, Kernels::kReference);
    } else {
      RC_ASSERT(describe(*model) == expected);
    }
  };
  EXPECT_TRUE(rc::check(check));
}

}  // namespace
}  // namespace parallax
