#include "load/onnx/external_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "load/onnx_test_util.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

/// A folder with weights of 12 bytes, and another one that a model must not reach.
class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "parallax-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "sub");
    fs::create_directories(root_ / "other" / "deep");
    for (const fs::path& path :
         {folder_ / "w.bin", folder_ / "sub" / "w.bin", folder_ / "hard",
          folder_ / "2026-11-25T14:10:31", folder_ / "a\\b", folder_ / "w\u00e4ge",
          root_ / "other" / "secret", root_ / "other" / "deep" / "secret"}) {
      std::ofstream(path, std::ios::binary) << "abcdefghijkl";
    }
    std::ofstream(folder_ / "empty");
    fs::create_symlink("../other/secret", folder_ / "link");
    fs::create_symlink("../other/deep/secret", folder_ / "deep_link");
    fs::create_symlink("../fifo", folder_ / "sub" / "fifo_link");
    fs::create_symlink("..", folder_ / "sub" / "up");
    fs::create_symlink("round", folder_ / "round");
    fs::create_symlink("/etc/passwd", folder_ / "passwd");
    fs::create_symlink("../w.bin", folder_ / "sub" / "inner_link");
    fs::create_symlink(folder_ / "sub" / "inner_link", folder_ / "chain");
    fs::create_directory_symlink("../other", folder_ / "link_folder");
    fs::create_hard_link(folder_ / "hard", folder_ / "hard_2");
    ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_, folder_;
  LoadQuota quota_;
};

using Entries = std::vector<OnnxEntry>;

TEST_F(ExternalDataTest, ReadsRangesOfMappedFiles) {
  ExternalFiles data({folder_}, quota_);
  const struct {
    Entries entries;
    std::int64_t size;
    const char* expected;
  } cases[] = {
      {{{"location", "w.bin"}}, 12, "abcdefghijkl"},
      {{{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}}, 8, "efghijkl"},
      {{{"location", "sub/w.bin"}, {"offset", "0"}}, 2, "ab"},
      {{{"location", "./sub//w.bin"}, {"checksum", "?"}, {"offset", "11"}}, 1, "l"},
      {{{"location", "w.bin"}, {"offset", "12"}, {"length", "0"}}, 0, ""},
      {{{"location", "empty"}}, 0, ""},
      {{{"location", "2026-11-25T14:10:31"}}, 1, "a"},
      {{{"location", "a\\b"}}, 1, "a"},
      {{{"location", "w\u00e4ge"}}, 1, "a"},
      {{{"location", "sub/inner_link"}}, 1, "a"},
      {{{"location", "sub/up/w.bin"}}, 1, "a"},
      {{{"location", "chain"}}, 1, "a"},
      {{{"location", "hard"}}, 1, "a"},
      {{{"location", "w.bin"}, {"prepacked_0", "k|4096|64|0"}, {"prepacked_1", "?"}}, 1, "a"},
  };
  for (const auto& c : cases) {
    const auto read = read_external(data, c.entries, c.size);
    ASSERT_TRUE(read) << read.error().to_string();
    const std::string text(reinterpret_cast<const char*>(read->bytes.data()), read->bytes.size());
    EXPECT_EQ(text, c.expected);
  }
  const auto first = read_external(data, cases[0].entries, 12);
  const auto again = read_external(data, cases[0].entries, 12);
  EXPECT_EQ(first->bytes.data(), again->bytes.data()) << "a file is mapped once";
}

TEST_F(ExternalDataTest, RefusesWhatIsNotInTheFolder) {
  const std::string absolute = folder_ / "w.bin";
  const std::string zero("w.bin\0x", 7);
  const struct {
    Entries entries;
    ErrorCode code = ErrorCode::kInvalidModel;
  } cases[] = {
      {{{"location", absolute}}},
      {{{"location", "/dev/zero"}}},
      {{{"location", "../other/secret"}}},
      {{{"location", ".."}}},
      {{{"location", "sub/../w.bin"}}},
      {{{"location", "sub/../../other/secret"}}},
      {{{"location", "..\\other\\secret"}}, ErrorCode::kIo},
      {{{"location", "C:w.bin"}}, ErrorCode::kIo},
      {{{"location", "\\\\host\\share"}}, ErrorCode::kIo},
      {{{"location", zero}}},
      {{{"location", "w\n.bin"}}},
      {{{"location", "link"}}},
      {{{"location", "deep_link"}}},
      {{{"location", "link_folder/secret"}}},
      {{{"location", "link_folder"}}},
      {{{"location", "sub/up"}}},
      {{{"location", "sub/up/link"}}},
      {{{"location", "sub/up/../w.bin"}}},
      {{{"location", "sub/fifo_link"}}},
      {{{"location", "round"}}},
      {{{"location", "round/w.bin"}}},
      {{{"location", "passwd"}}},
      {{{"location", "fifo"}}},
      {{{"location", "sub"}}},
      {{{"location", "w.bin/x"}}},
      {{{"location", "."}}},
      {{{"location", ""}}},
      {{{"location", "w.bin"}, {"location", "w.bin"}}},
      {{{"location", "w.bin"}, {"basepath", "/"}}},
      {{{"location", "w.bin"}, {"offset", "-1"}}},
      {{{"location", "w.bin"}, {"offset", "9"}}},
      {{{"location", "w.bin"}, {"offset", "9223372036854775807"}}},
      {{{"location", "w.bin"}, {"offset", "99999999999999999999"}}},
      {{{"location", "w.bin"}, {"offset", " 1"}}},
      {{{"location", "w.bin"}, {"offset", "1x"}}},
      {{{"location", "w.bin"}, {"offset", ""}}},
      {{{"location", "w.bin"}, {"length", "5"}}},
      {{{"offset", "0"}}},
      {{}},
      {{{"location", "missing"}}, ErrorCode::kIo},
      {{{"location", "*/_ORT_MEM_ADDR_/*"}, {"offset", "4096"}}, ErrorCode::kIo},
  };
  for (const auto& c : cases) {
    ExternalFiles data({folder_}, quota_);
    const auto read = read_external(data, c.entries, 4);
    const std::string name(c.entries.empty() ? "" : c.entries.front().value);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().stage, Stage::kLoad) << name;
    EXPECT_EQ(read.error().code, c.code) << name << ": " << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(ExternalDataTest, LinksMayLeadToTheFolderOfTheModelsOwnLink) {
  const struct {
    const char* name;
    bool read;
  } cases[] = {{"link", true},    {"link_folder/secret", true},
               {"w.bin", true},   {"deep_link", false},
               {"passwd", false}, {"link_folder/deep/secret", false},
               {"secret", false}, {"../other/secret", false}};
  for (const fs::path& linked : {root_ / "other", folder_ / "link_folder"}) {
    for (const auto& c : cases) {
      ExternalFiles data({folder_, linked}, quota_);
      EXPECT_EQ(read_external(data, Entries{{"location", c.name}}, 4).has_value(), c.read)
          << c.name;
      EXPECT_EQ(open_external({folder_, linked}, c.name).has_value(), c.read) << c.name;
    }
  }
}

TEST_F(ExternalDataTest, SaysWhatWouldDo) {
  const struct {
    const char *name, *part;
  } cases[] = {{"link", "is a link that leads elsewhere (a copy of the file, or a hard link to it"},
               {"../other/secret", "has '..' in its path"},
               {"/dev/zero", "is an absolute path"},
               {"a\\c", "separated by '/'"}};
  for (const auto& c : cases) {
    ExternalFiles data({folder_}, quota_);
    const auto read = read_external(data, Entries{{"location", c.name}}, 4);
    ASSERT_FALSE(read) << c.name;
    EXPECT_NE(read.error().message.find(c.part), std::string::npos) << read.error().message;
  }
}

TEST_F(ExternalDataTest, NamesAGitLfsPointer) {
  std::ofstream(folder_ / "w.bin") << "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a";
  ExternalFiles data({folder_}, quota_);
  const auto read = read_external(data, Entries{{"location", "w.bin"}}, 4096);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("'git lfs pull'"), std::string::npos) << read.error().message;
}

TEST_F(ExternalDataTest, NamesOfOneFileCountItOnce) {
  ExternalFiles data({folder_}, quota_);
  for (const char* name : {"w.bin", "chain", "sub/inner_link", "hard", "hard_2"})
    ASSERT_TRUE(read_external(data, Entries{{"location", name}}, 12)) << name;
  EXPECT_EQ(quota_.weight_bytes_left(), 4 * 2 * 12) << "w.bin and hard";
  EXPECT_EQ(data.files().size(), 5U) << "each name may lead elsewhere later";
}

TEST_F(ExternalDataTest, NeedsAFolder) {
  ExternalFiles data({}, quota_);
  const Entries entries = {{"location", "w.bin"}};
  const auto read = read_external(data, entries, 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

TEST_F(ExternalDataTest, CountsEachByteOnce) {
  ExternalFiles data({folder_}, quota_);
  const struct {
    const char *path, *offset;
    std::int64_t size, allowed;
  } cases[] = {{"w.bin", "2", 2, 2},      {"w.bin", "2", 2, 2},  {"w.bin", "6", 2, 4},
               {"w.bin", "3", 0, 4},      {"w.bin", "3", 4, 6},  {"./w.bin", "1", 8, 8},
               {"sub/w.bin", "1", 8, 16}, {"w.bin", "0", 12, 20}};
  for (const auto& c : cases) {
    ASSERT_TRUE(read_external(data, Entries{{"location", c.path}, {"offset", c.offset}}, c.size));
    EXPECT_EQ(quota_.weight_bytes_left(), 4 * c.allowed) << c.path << c.offset;
  }
  EXPECT_FALSE(read_external(data, Entries{{"location", "w.bin"}, {"offset", "12"}}, 1));
  EXPECT_EQ(quota_.weight_bytes_left(), 4 * 20) << "what is refused counts nothing";
}

TEST_F(ExternalDataTest, HolesOfASparseFileCountNothing) {
  constexpr std::int64_t kSize = std::int64_t{1} << 30;
  fs::resize_file(folder_ / "w.bin", kSize);
  struct stat status = {};
  ASSERT_EQ(::stat((folder_ / "w.bin").c_str(), &status), 0);
  if (status.st_blocks * 512 >= kSize) GTEST_SKIP() << "files have no holes here";
  ExternalFiles data({folder_}, quota_);
  ASSERT_TRUE(read_external(data, Entries{{"location", "w.bin"}}, 8));
  EXPECT_EQ(quota_.weight_bytes_left(), 4 * 8);
  const auto whole = read_external(data, Entries{{"location", "w.bin"}}, kSize);
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::ssize(whole->bytes), kSize);
  EXPECT_GE(quota_.weight_bytes_left(), 4 * 12);
  EXPECT_LT(quota_.weight_bytes_left(), kSize) << "a few blocks are stored";
}

/// A tensor whose elements lie in w.bin.
std::string outside(std::string_view name, const Ints& dims, std::string_view offset = "0") {
  const auto entry = [](std::string_view key, std::string_view value) {
    return message([&](protozero::pbf_writer& e) {
      e.add_string(1, key.data(), key.size());
      e.add_string(2, value.data(), value.size());
    });
  };
  return tensor_head(name, kOnnxFloat, dims) + message([&](protozero::pbf_writer& w) {
           w.add_message(13, entry("location", "w.bin"));
           w.add_message(13, entry("offset", offset));
           w.add_int32(14, 1);
         });
}

TEST_F(ExternalDataTest, WeightsOfBodiesCountLikeThoseOfTheGraph) {
  const auto branch = [](const std::string& offset) {
    const std::string stored = tensor_attribute("value", outside("", {1}, offset));
    return TestGraph{{node("Constant", {}, {"k"}, {stored}), node("Add", {"k", "w"}, {"t"})},
                     {outside("w", {1})},
                     {},
                     {value_info("t")}}
        .bytes();
  };
  const std::string bytes = model({{node("If", {"c"}, {"y"},
                                         {graph_attribute("then_branch", branch("4")),
                                          graph_attribute("else_branch", branch("8"))})},
                                   {},
                                   {value_info("c", kOnnxBool, {})},
                                   {value_info("y")}});
  const auto owner = std::make_shared<std::string>(bytes);
  const auto graph = load_onnx({std::as_bytes(std::span(*owner)), owner, folder_},
                               {.max_nesting = kMaxNesting}, nullptr, &quota_);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(quota_.weight_bytes_left(), 4 * 12);
}

TEST_F(ExternalDataTest, ReachesInitializers) {
  const std::string weights = outside("w", {2});
  const std::string bytes = model({{node("Add", {"x", "w"}, {"y"})},
                                   {weights},
                                   {value_info("x", kOnnxFloat, {Dim(2)})},
                                   {value_info("y")}});
  const auto graph = load(bytes, folder_);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_FALSE(load(bytes));
}

}  // namespace
}  // namespace parallax
