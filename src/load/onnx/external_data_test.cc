#include "load/onnx/external_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "load/onnx/onnx_test_util.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

/// A folder with weights of 12 bytes, and one beside it that a model must not reach.
class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "parallax-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "sub");
    fs::create_directories(root_ / "other");
    for (const fs::path& path : {folder_ / "w.bin", folder_ / "sub" / "w.bin", folder_ / "hard",
                                 root_ / "other" / "secret"}) {
      std::ofstream(path, std::ios::binary) << "abcdefghijkl";
    }
    std::ofstream(folder_ / "empty");
    fs::create_symlink("../other/secret", folder_ / "link");
    fs::create_symlink("w.bin", folder_ / "inner_link");
    fs::create_directory_symlink("../other", folder_ / "link_folder");
    fs::create_hard_link(folder_ / "hard", folder_ / "hard_2");
    ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_, folder_;
};

using Entries = std::vector<OnnxEntry>;

TEST_F(ExternalDataTest, ReadsRangesOfMappedFiles) {
  ExternalData data(folder_);
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
  };
  for (const auto& c : cases) {
    const auto read = data.read(c.entries, c.size);
    ASSERT_TRUE(read) << read.error().to_string();
    const std::string text(reinterpret_cast<const char*>(read->bytes.data()), read->bytes.size());
    EXPECT_EQ(text, c.expected);
  }
  const auto first = data.read(cases[0].entries, 12);
  const auto again = data.read(cases[0].entries, 12);
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
      {{{"location", "..\\other\\secret"}}},
      {{{"location", "C:w.bin"}}},
      {{{"location", "\\\\host\\share"}}},
      {{{"location", zero}}},
      {{{"location", "w\n.bin"}}},
      {{{"location", "link"}}},
      {{{"location", "inner_link"}}},
      {{{"location", "link_folder/secret"}}},
      {{{"location", "hard"}}},
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
    ExternalData data(folder_);
    const auto read = data.read(c.entries, 4);
    const std::string name(c.entries.empty() ? "" : c.entries.front().value);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().stage, Stage::kLoad) << name;
    EXPECT_EQ(read.error().code, c.code) << name << ": " << read.error().message;
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(ExternalDataTest, SaysThatAFileHasASecondName) {
  ExternalData data(folder_);
  const auto read = data.read(Entries{{"location", "hard"}}, 4);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("'hard' has a second name"), std::string::npos)
      << read.error().message;
}

TEST_F(ExternalDataTest, NeedsAFolder) {
  ExternalData data({});
  const Entries entries = {{"location", "w.bin"}};
  const auto read = data.read(entries, 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

TEST_F(ExternalDataTest, ReachesInitializers) {
  const std::string weights =
      tensor_head("w", kOnnxFloat, {2}) + message([](protozero::pbf_writer& w) {
        w.add_message(13, message([](protozero::pbf_writer& e) {
                        e.add_string(1, "location");
                        e.add_string(2, "w.bin");
                      }));
        w.add_int32(14, 1);
      });
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
