// Containers that open, the models in them, and files that are damaged, cut short or unsupported.
#include "load/containers/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>

#include "load/containers/container_test_util.h"
#include "load/model_file.h"
#include "load/tflite_test_util.h"

namespace parallax {
namespace {

using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;

/// y = x + x.
std::string small_tflite() {
  static const std::string bytes = tflite_bytes(
      {.graphs = {{.tensors = {{"x", {2}}, {"y", {2}}},
                   .operators = {{TfliteOp::ADD, {0, 0}, {1}, tflite_options([](auto& to) {
                                    return tflite_schema::CreateAddOptions(to);
                                  })}},
                   .inputs = {0},
                   .outputs = {1}}}});
  return bytes;
}

/// A file in memory of exactly its size, so that a sanitizer sees every byte too far.
struct InMemory {
  explicit InMemory(std::string_view text)
      : owner(std::make_shared<std::vector<std::byte>>(std::as_bytes(std::span(text)).begin(),
                                                       std::as_bytes(std::span(text)).end())) {}
  std::shared_ptr<std::vector<std::byte>> owner;
  std::span<const std::byte> bytes() const { return *owner; }
};

std::vector<std::string> lines(const std::vector<Section>& sections) {
  std::vector<std::string> result;
  for (const Section& one : sections)
    result.push_back(one.shown.name + ": " + one.shown.type +
                     (one.shown.is_model ? ", model" : "") + " " + std::to_string(one.shown.bytes));
  return result;
}

/// Opens the file, and reads the bytes of all sections.
Result<std::vector<std::string>> list_of(const std::string& text) {
  const InMemory file(text);
  auto container = open_container(file.bytes());
  if (!container) return tl::unexpected(container.error());
  if (!*container) return std::vector<std::string>{"no container"};
  unsigned sum = 0;
  for (const Section& one : (*container)->sections)
    for (const std::byte byte : one.bytes) sum += std::to_integer<unsigned>(byte);
  EXPECT_GE(sum, 0U);
  return lines((*container)->sections);
}

/// The name of the model that is found, or the error.
std::string found_in(const std::string& text, const std::string& section = {}) {
  const InMemory file(text);
  const auto model = find_model({file.bytes(), file.owner}, section);
  if (!model) return model.error().to_string();
  const auto container = *open_container(file.bytes());
  if (!container) return "the file";
  for (const Section& one : container->sections)
    if (one.bytes.data() == model->bytes.data() && one.bytes.size() == model->bytes.size())
      return one.shown.name;
  return "a copy";
}

const std::vector<ZipFile> kTwo = {{"a.tflite", small_tflite()},
                                   {.name = "labels.txt", .bytes = "cat\ndog\n", .padding = 3},
                                   {.name = "B", .bytes = small_tflite(), .padding = 4}};

TEST(Containers, ListTheirSections) {
  const std::string model = small_tflite(), size = std::to_string(model.size());
  const std::string a = "a: TFLiteModel, model " + size;
  const std::string inner = zip_bytes({{"a", model}});
  const struct {
    std::string file;
    std::vector<std::string> sections;
  } cases[] = {
      {zip_bytes(kTwo),
       {"a.tflite: TFLiteModel, model " + size, "labels.txt: file 8",
        "B: TFLiteModel, model " + size}},
      {zip_bytes({{"a", model}}), {a}},
      {zip_bytes({{.name = "a", .bytes = model, .padding = 4}}), {a}},
      {zip_bytes({{"a", model}}, true), {a}},
      {zip_bytes({{.name = "a", .bytes = model, .wide = true}}, true), {a}},
      {zip_bytes({{.name = "a", .bytes = model, .sizes_behind = true}, {"b", "PK"}}),
       {a, "b: file 2"}},
      {zip_bytes({{"a", model}}, false, "a comment"), {a}},
      {zip_bytes({{"f/", ""}, {.name = "f/a", .bytes = "packed", .method = 8}}),
       {"f/: folder 0", "f/a: compressed file 6"}},
      {zip_bytes({{"x.task", inner}, {"a", model}}),
       {"x.task: ZIP archive " + std::to_string(inner.size()),
        "x.task/a: TFLiteModel, model " + size, a}},
      {zip_bytes({}), {}},
      {litertlm_bytes({{LitertlmType::LlmMetadataProto, "some"},
                       {.bytes = model, .model_type = "tf_lite_embedder"},
                       {.bytes = model},
                       {.bytes = "no model"},
                       {LitertlmType::TFLiteWeights, "weights", "tf_lite_embedder"},
                       {LitertlmType::Deprecated, model},
                       {static_cast<LitertlmType>(77), ""}}),
       {"LlmMetadataProto: LlmMetadataProto 4", "tf_lite_embedder: TFLiteModel, model " + size,
        "TFLiteModel: TFLiteModel, model " + size, "TFLiteModel 3: TFLiteModel 8",
        "TFLiteWeights: TFLiteWeights 7", "Deprecated: Deprecated " + size, "type 77: type 77 0"}},
      {model + zip_bytes(kTwo), {"no container"}},
      {std::string(64, '\0'), {"no container"}},
      {"", {"no container"}},
  };
  for (const auto& c : cases) {
    const auto sections = list_of(c.file);
    ASSERT_TRUE(sections) << sections.error().to_string();
    EXPECT_EQ(*sections, c.sections);
  }
}

TEST(Containers, HaveModelsInPlace) {
  const std::string model = small_tflite(), one = zip_bytes({{"a", model}, {"b", "text"}});
  const std::string packed = zip_bytes({{.name = "p", .bytes = model, .method = 8}});
  const std::string lm = litertlm_bytes({{LitertlmType::SP_Tokenizer, "some"}, {.bytes = model}});
  const struct {
    std::string file, section, answer;
  } cases[] = {
      {one, "", "a"},
      {one, "a", "a"},
      {zip_bytes(kTwo), "B", "B"},
      {zip_bytes({{"x.task", zip_bytes({{"a", model}})}}), "", "x.task/a"},
      {lm, "", "TFLiteModel"},
      {lm, "TFLiteModel", "TFLiteModel"},
      {model, "", "the file"},
      {model, "a", "it is one model"},
      {zip_bytes(kTwo), "", "several models: choose a section of 'a.tflite', 'B'"},
      {zip_bytes(kTwo), "b", "no section 'b'; its models are 'a.tflite', 'B'"},
      {one, "b", "section 'b' is no model but file; models are 'a'"},
      {lm, "SP_Tokenizer", "'SP_Tokenizer' is no model but SP_Tokenizer"},
      {packed, "", "store them, as 'zip -0' does: 'p'"},
      {packed, "p", "section 'p' is compressed: store it"},
      {zip_bytes({{"data.pkl", "x"}}), "", "PyTorch's .pt files"},
      {litertlm_bytes({{LitertlmType::SP_Tokenizer, "x"}}), "", "LiteRT-LM 1.4.0 without"},
  };
  for (const auto& c : cases) EXPECT_THAT(found_in(c.file, c.section), HasSubstr(c.answer));
}

TEST(Containers, AreRefusedIfDamaged) {
  const std::string model = small_tflite();
  const auto zip = [](ZipFile file) { return zip_bytes({{"first", "12345678"}, std::move(file)}); };
  const auto with = [](std::string bytes, std::size_t behind_end, char byte) {
    bytes[bytes.size() - behind_end] = byte;
    return bytes;
  };
  const std::string good = zip_bytes({{"a", model}});
  const std::string inner = zip_bytes(std::vector<ZipFile>(1, {"a", "x"}));
  const struct {
    const char* what;
    std::string file;
    ErrorCode code;
    const char* message;
  } cases[] = {
      {"overlap", zip({.name = "first", .bytes = "9", .offset = 0, .local_name = "first"}),
       ErrorCode::kInvalidModel, "not where its directory says"},
      {"same bytes twice", zip({.name = "first", .bytes = "12345678", .offset = 0}),
       ErrorCode::kInvalidModel, "overlap"},
      {"two names", zip({"first", "x"}), ErrorCode::kInvalidModel, "two sections 'first'"},
      {"names differ", zip({.name = "b", .bytes = "x", .local_name = "c"}),
       ErrorCode::kInvalidModel, "'b' of the ZIP archive is not where"},
      {"offset", zip({.name = "b", .bytes = "x", .offset = 5}), ErrorCode::kInvalidModel,
       "not where"},
      {"far offset", zip({.name = "b", .bytes = "x", .offset = 0xFFFFFFF0}),
       ErrorCode::kInvalidModel, "not where"},
      {"two sizes", zip({.name = "b", .bytes = "x", .directory_size = 2}), ErrorCode::kInvalidModel,
       "two sizes"},
      {"encrypted", zip({.name = "b", .bytes = "x", .flags = 1}), ErrorCode::kUnsupported,
       "'b' of the ZIP archive is encrypted"},
      {"no name", zip({"", "x"}), ErrorCode::kInvalidModel, "has no name"},
      {"no UTF-8", zip({"\xFF", "x"}), ErrorCode::kInvalidModel, "an entry of the ZIP archive"},
      {"a control character", zip({"a\n", "x"}), ErrorCode::kInvalidModel, "an entry"},
      {"another disk", with(good, 18, 1), ErrorCode::kUnsupported, "one of several files"},
      {"more entries here", with(good, 14, 2), ErrorCode::kUnsupported, "one of several files"},
      {"more entries", with(with(good, 14, 2), 12, 2), ErrorCode::kInvalidModel, "contradicts"},
      {"fewer entries", with(with(good, 14, 0), 12, 0), ErrorCode::kInvalidModel, "damaged"},
      {"directory's size", with(good, 10, 1), ErrorCode::kInvalidModel, "contradicts itself"},
      {"bytes behind", good + "x", ErrorCode::kInvalidModel, "its end is missing"},
      {"damaged inside", zip({"in", inner + "x"}), ErrorCode::kInvalidModel, "end is missing"},
      {"version", litertlm_bytes({{.bytes = model}}, 2), ErrorCode::kUnsupported, "version 2"},
      {"sections overlap",
       litertlm_bytes({{.bytes = model}, {LitertlmType::SP_Tokenizer, "x", "", -1024}}),
       ErrorCode::kInvalidModel, "overlap"},
      {"behind the file", litertlm_bytes({{.bytes = model, .moved = 4096}}),
       ErrorCode::kInvalidModel, "lies outside it"},
      {"in the header", litertlm_bytes({{.bytes = model, .moved = -1000}}),
       ErrorCode::kInvalidModel, "lies outside it"},
      {"before the file", litertlm_bytes({{.bytes = model, .moved = -2000}}),
       ErrorCode::kInvalidModel, "lies outside it"},
      {"name of a section", litertlm_bytes({{.bytes = model, .model_type = "a\x01"}}),
       ErrorCode::kInvalidModel, "a section of the LiteRT-LM file"},
      {"a header cut short", litertlm_bytes({{.bytes = model, .model_type = "a"}}).substr(0, 40),
       ErrorCode::kInvalidModel, "cut short"},
  };
  for (const auto& c : cases) {
    const auto sections = list_of(c.file);
    ASSERT_FALSE(sections) << c.what;
    EXPECT_EQ(sections.error().code, c.code) << c.what;
    EXPECT_EQ(sections.error().stage, Stage::kLoad) << c.what;
    EXPECT_THAT(sections.error().message, HasSubstr(c.message)) << c.what;
  }
}

/// Names of 60 kB, each of which all entries of an archive repeat.
TEST(Containers, BoundTheMemoryForNames) {
  std::vector<ZipFile> many;
  for (int i = 0; i < 100; ++i) many.push_back({std::to_string(i), ""});
  const auto sections = list_of(zip_bytes({{std::string(60000, 'n'), zip_bytes(many)}}));
  ASSERT_FALSE(sections);
  EXPECT_THAT(sections.error().message, HasSubstr("too long"));
}

/// A thousand sections that share a long name.
TEST(Containers, BoundTheMemoryForSharedItems) {
  namespace schema = litertlm_schema;
  flatbuffers::FlatBufferBuilder to;
  const auto name = schema::CreateTextDirect(to, std::string(30000, 'n').c_str());
  const std::vector items = {
      schema::CreateKeyValuePairDirect(to, "model_type", schema::Value::StringValue, name.Union())};
  const auto section =
      schema::CreateSectionObjectDirect(to, &items, 65536, 65536, LitertlmType::TFLiteModel);
  const std::vector sections(1000, section);
  to.Finish(schema::CreateHeader(to, 0, schema::CreateSectionMetadataDirect(to, &sections)));
  std::string file = "LITERTLM" + little<std::uint64_t>(1) + little<std::uint64_t>(0) +
                     little<std::uint64_t>(32 + to.GetSize());
  file.append(reinterpret_cast<const char*>(to.GetBufferPointer()), to.GetSize());
  file.resize(65536);
  const auto opened = list_of(file);
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("share their items"));
}

TEST(Containers, AreRefusedIfCutShort) {
  const std::string lm = litertlm_bytes({{.bytes = small_tflite() + "end", .model_type = "m"}});
  for (const std::string& whole : {zip_bytes(kTwo, true), zip_bytes({{"x.task", zip_bytes(kTwo)}}),
                                   lm.substr(0, lm.find_last_not_of('\0') + 1)}) {
    ASSERT_TRUE(list_of(whole));
    for (std::size_t size = 8; size < whole.size(); ++size)
      EXPECT_FALSE(list_of(whole.substr(0, size))) << size;
  }
}

TEST(Containers, AreReadOrRefusedWithAnyByteChanged) {
  const std::string tail = zip_bytes(
      {{.name = "w", .bytes = "12345678", .wide = true}, {"x", zip_bytes({{"y", "z"}})}}, true);
  const std::string lm = litertlm_bytes({{.bytes = "m", .model_type = "name"}, {.bytes = "n"}});
  for (const std::string& whole : {tail, lm}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int change : {0x01, 0x04, 0x80, 0xFF}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ change);
        const auto sections = list_of(bytes);
        EXPECT_TRUE(sections || !sections.error().message.empty());
      }
    }
  }
}

/// MediaPipe puts models at multiples of 4.
TEST(Containers, GiveModelsThatAreNotCopied) {
  for (const std::size_t padding : {0U, 1U, 2U, 3U, 4U}) {
    const InMemory file(zip_bytes({{.name = "abc", .bytes = small_tflite(), .padding = padding}}));
    const auto model = find_model({file.bytes(), file.owner}, "");
    ASSERT_TRUE(model) << model.error().to_string();
    const auto place = static_cast<std::size_t>(model->bytes.data() - file.bytes().data());
    EXPECT_EQ(place, 33 + padding);
    const auto opened = open_tflite(model->bytes);
    ASSERT_TRUE(opened) << opened.error().to_string();
    EXPECT_EQ(opened->copy == nullptr, place % kTfliteAlignment == 0);
    EXPECT_TRUE(load_model(*model, {}));
  }
}

TEST(Containers, AreDescribed) {
  const InMemory file(zip_bytes(kTwo));
  const auto all = describe_model(file.bytes());
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(all->report.container, "ZIP archive");
  EXPECT_EQ(all->report.format, "");
  EXPECT_EQ(all->report.sections.size(), 3U);
  const auto chosen = describe_model(file.bytes(), "B");
  ASSERT_TRUE(chosen) << chosen.error().to_string();
  EXPECT_EQ(chosen->report.format, "TFLite");
  EXPECT_EQ(chosen->report.nodes, 1);
  EXPECT_EQ(chosen->report.sections.size(), 3U);
  EXPECT_THAT(describe_model(file.bytes(), "C").error().message, HasSubstr("'a.tflite', 'B'"));
}

}  // namespace
}  // namespace parallax
