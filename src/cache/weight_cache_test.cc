#include "cache/weight_cache.h"

#include <chrono>
#include <thread>

#include "cache/test_folder.h"

namespace parallax {
namespace {

namespace fs = std::filesystem;

class WeightCacheTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    write(model_, std::string(1000, 'm') + "abc");
    write(other_, "weights");
    // Only then does its time of modification tell it from a later one.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }

  ModelSource source(const std::shared_ptr<const MappedFile>& file) const {
    return {{file->bytes(), file, folder_}, ModelSource::File{model_, file->identity()}};
  }

  /// A process that loads the model and wants `layouts` of the weights at byte 10 of it.
  struct Outcome {
    CacheReport report;
    std::string weights;   ///< all layouts, one after the other
    std::string snapshot;  ///< empty if there was no snapshot
  };
  Outcome load(const std::vector<std::string>& layouts, const std::string& version = "1",
               const std::string& machine = "A") const {
    const auto file = MappedFile::open(model_);
    EXPECT_TRUE(file);
    WeightCache cache({folder_ / "cache", machine, version}, source(*file));
    Outcome outcome;
    const auto open = [&](const std::string& name) -> Result<std::shared_ptr<const MappedFile>> {
      return MappedFile::open(folder_ / name);
    };
    // The constant is the same, whether its bytes are in the cache file or here.
    std::span<const std::byte> constant = as_bytes(computed_);
    const auto kept = cache.snapshot(options_, open);
    if (kept) {
      outcome.snapshot = text_of(kept->bytes.bytes);
      EXPECT_EQ(kept->files.size(), 1U);
      EXPECT_EQ(kept->constants.size(), 2U);
      constant = kept->constants[0].bytes;
      EXPECT_EQ(text_of(constant), computed_);
      EXPECT_EQ(text_of(kept->constants[1].bytes), computed_.substr(0, 3));
    } else {
      Snapshot made;
      const auto bytes = std::make_shared<const std::string>("graph of " + read(other_));
      made.bytes = {as_bytes(*bytes), bytes};
      made.files.push_back({"other", *open("other")});
      made.constants = {{constant, nullptr}, {constant.first(3), nullptr}};
      cache.keep_snapshot(options_, std::move(made));
    }
    for (const std::string& layout : layouts) {
      const bool computes = layout.starts_with("computed");
      const std::byte* const source = computes ? constant.data() + 1 : (*file)->bytes().data() + 10;
      // The result of packing: it depends on the weights, the layout and the packers' version.
      auto fresh = std::make_shared<const std::string>(
          version + layout + (computes ? computed_ : read(model_)).substr(0, 1));
      const auto size = static_cast<std::int64_t>(fresh->size());
      const auto found = cache.find(source, layout, size);
      outcome.weights += found ? text_of(found->bytes) : *fresh;
      EXPECT_EQ(outcome.weights.substr(outcome.weights.size() - fresh->size()), *fresh);
      if (!found) cache.keep(source, layout, {as_bytes(*fresh), fresh});
    }
    cache.save();
    outcome.report = cache.report();
    return outcome;
  }

  fs::path cache_file() const { return load({}).report.file; }

  const fs::path model_ = folder_ / "model.onnx";
  const fs::path other_ = folder_ / "other";
  std::string options_ = "options";
  std::string computed_ = "computed weights";
};

void expect(const CacheReport& report, int hits, int misses) {
  EXPECT_EQ(report.hits, hits) << report.problem;
  EXPECT_EQ(report.misses, misses) << report.problem;
}

TEST_F(WeightCacheTest, TheSecondProcessPacksNothing) {
  const Outcome first = load({"a", "b", "computed"});
  expect(first.report, 0, 3);
  EXPECT_GT(first.report.written_bytes, 0);
  const Outcome second = load({"a", "b", "computed"});
  expect(second.report, 3, 0);
  EXPECT_EQ(second.weights, first.weights);
  EXPECT_EQ(second.report.bytes, std::ssize(second.weights));
  EXPECT_EQ(second.report.written_bytes, 0);
  EXPECT_EQ(second.report.problem, "");
}

TEST_F(WeightCacheTest, WhatIsNewIsAddedToWhatWasThere) {
  load({"a"});
  const std::string long_one(1000, 'l');
  expect(load({"a", long_one}).report, 1, 1);
  expect(load({long_one}).report, 1, 0);
  expect(load({"a", long_one}).report, 2, 0);
}

TEST_F(WeightCacheTest, LittleThatIsNewIsNotWorthAWrite) {
  load({std::string(1000, 'a')});
  EXPECT_EQ(load({std::string(1000, 'a'), "b"}).report.written_bytes, 0);
  expect(load({"b"}).report, 0, 1);
}

TEST_F(WeightCacheTest, TheSecondProcessGetsTheSnapshot) {
  const Outcome first = load({});
  EXPECT_EQ(first.snapshot, "");
  EXPECT_GT(first.report.written_bytes, 0);
  const Outcome second = load({});
  EXPECT_EQ(second.snapshot, "graph of weights");
  EXPECT_EQ(second.report.written_bytes, 0);
  EXPECT_EQ(load({}, "2").snapshot, "");
}

TEST_F(WeightCacheTest, ASnapshotIsOfItsOptions) {
  load({"a"});
  options_ = "others";
  const Outcome others = load({"a"});
  EXPECT_EQ(others.snapshot, "");
  expect(others.report, 1, 0);
  EXPECT_NE(load({}).snapshot, "");
  options_ = "options";
  EXPECT_NE(load({}).snapshot, "");
}

TEST_F(WeightCacheTest, ASnapshotIsOfAllItsFiles) {
  load({"a"});
  // The same length as before.
  write(other_, "WEIGHTS");
  const Outcome changed = load({"a"});
  EXPECT_EQ(changed.snapshot, "");
  EXPECT_EQ(changed.report.problem, "");
  expect(changed.report, 1, 0);
  EXPECT_EQ(load({}).snapshot, "graph of WEIGHTS");
  fs::remove(other_);
  write(other_, "WEIGHTS");
  EXPECT_EQ(load({}).snapshot, "graph of WEIGHTS");
}

TEST_F(WeightCacheTest, AChangedSnapshotIsToldThoughTheFileSeemsUntouched) {
  load({"a"});
  const fs::path file = cache_file();
  const std::string whole = read(file);
  const auto at = whole.find("graph of weights");
  ASSERT_NE(at, std::string::npos);
  for (const std::size_t byte : {std::size_t{0}, std::size_t{15}}) {
    std::string damaged = whole;
    damaged[at + byte] ^= 1;
    write_unseen(file, damaged);
    const Outcome outcome = load({"a"});
    EXPECT_EQ(outcome.snapshot, "");
    EXPECT_NE(outcome.report.problem.find("damaged"), std::string::npos);
    EXPECT_EQ(load({"a"}).snapshot, "graph of weights");
  }
}

TEST_F(WeightCacheTest, AClosedOneNeitherReadsNorWrites) {
  load({"a"});
  const auto written = fs::last_write_time(cache_file());
  const auto file = *MappedFile::open(model_);
  WeightCache cache({folder_ / "cache", "A", "1"}, source(file));
  cache.keep_snapshot("other", {});
  cache.close("too large");
  EXPECT_FALSE(cache.find(file->bytes().data() + 10, "a", 3));
  cache.keep(file->bytes().data() + 10, std::string(1000, 'b'), {file->bytes().first(900), file});
  cache.save();
  EXPECT_EQ(cache.report().problem, "too large");
  EXPECT_EQ(cache.report().written_bytes, 0);
  EXPECT_EQ(fs::last_write_time(cache_file()), written);
}

TEST(Snapshot, RecordsAreReadAsTheyWereWritten) {
  const SnapshotRecord record = {
      {{"a/b", {1, 2}}, {"", {3, 4}}}, {{{5, 6}, 7}, {{8, 9}, 1U << 20}}, as_bytes("graph")};
  const std::vector<std::byte> block = write_record(record);
  const auto again = read_record(block);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->files, record.files);
  ASSERT_EQ(again->constants.size(), 2U);
  EXPECT_EQ(again->constants[1].content, record.constants[1].content);
  EXPECT_EQ(again->constants[1].bytes, record.constants[1].bytes);
  EXPECT_EQ(text_of(again->bytes), "graph");
  for (std::size_t size = 0; size < block.size(); ++size)
    EXPECT_FALSE(read_record(std::span(block).first(size))) << size;
  for (std::size_t at = 0; at < block.size(); ++at) {
    auto changed = block;
    changed[at] ^= std::byte{16};
    EXPECT_FALSE(read_record(changed)) << at;
  }
}

TEST_F(WeightCacheTest, NeverServesAnotherModel) {
  const std::string old = read(model_);
  load({"a"});
  // The same length and times as before.
  write_unseen(model_, "n" + old.substr(1));
  const Outcome changed = load({"a"});
  expect(changed.report, 0, 1);
  EXPECT_EQ(changed.weights, "1an");
  write(model_, "longer " + old);
  expect(load({"a"}).report, 0, 1);
  expect(load({"a"}).report, 1, 0);
}

TEST_F(WeightCacheTest, ServesACopyWithTheSameContents) {
  load({"a"});
  const std::string contents = read(model_);
  fs::remove(model_);
  write(model_, contents);
  expect(load({"a"}).report, 1, 0);
}

TEST_F(WeightCacheTest, NeverServesOtherComputedWeights) {
  load({"computed"});
  // Other passes made it: with the same ones it would be the snapshot's.
  computed_[0] = 'C';
  options_ = "others";
  expect(load({"computed"}).report, 0, 1);
}

TEST_F(WeightCacheTest, AnotherVersionReplacesTheFile) {
  load({"a"}, "1");
  const Outcome second = load({"a"}, "2");
  expect(second.report, 0, 1);
  EXPECT_EQ(second.weights, "2am");
  expect(load({"a"}, "2").report, 1, 0);
  expect(load({"a"}, "1").report, 0, 1);
}

TEST_F(WeightCacheTest, AnotherInstructionSetHasAFileOfItsOwn) {
  load({"a"}, "1", "A");
  expect(load({"a"}, "1", "B").report, 0, 1);
  expect(load({"a"}, "1", "A").report, 1, 0);
}

TEST_F(WeightCacheTest, DamageIsToldAndRepaired) {
  load({"a"});
  const fs::path file = cache_file();
  const std::string whole = read(file);
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() - 1), std::string(whole.size(), 'x'),
        whole.substr(0, whole.size() - 1) + "?"}) {
    write(file, damaged);
    const Outcome outcome = load({"a"});
    expect(outcome.report, 0, 1);
    EXPECT_NE(outcome.report.problem.find("damaged"), std::string::npos) << outcome.report.problem;
    expect(load({"a"}).report, 1, 0);
  }
}

TEST_F(WeightCacheTest, DoesWithoutAFolder) {
  write(folder_ / "cache", "a file");
  const Outcome outcome = load({"a"});
  expect(outcome.report, 0, 1);
  EXPECT_NE(outcome.report.problem.find("cannot write"), std::string::npos);
}

TEST_F(WeightCacheTest, ManyMayWriteAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { load({"a", "b", "computed"}); });
  for (std::thread& thread : threads) thread.join();
  expect(load({"a", "b", "computed"}).report, 3, 0);
}

}  // namespace
}  // namespace parallax
