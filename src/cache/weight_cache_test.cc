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
    // Only then does its time of modification tell it from a later one.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }

  /// A process that loads the model and wants `layouts` of the weights at byte 10 of it.
  struct Outcome {
    CacheReport report;
    std::string weights;  ///< of all layouts, one after the other
  };
  Outcome load(const std::vector<std::string>& layouts, const std::string& version = "1",
               const std::string& machine = "A") const {
    const auto file = MappedFile::open(model_);
    EXPECT_TRUE(file);
    WeightCache cache({folder_ / "cache", model_, machine, version}, *file,
                      {{as_bytes(computed_), nullptr}});
    Outcome outcome;
    for (const std::string& layout : layouts) {
      const bool computes = layout.starts_with("computed");
      const std::byte* const source =
          computes ? as_bytes(computed_).data() + 1 : (*file)->bytes().data() + 10;
      // What packing would give: it depends on the weights, the layout and the packers' version.
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
  expect(load({"a", "a long one"}).report, 1, 1);
  expect(load({"a long one"}).report, 1, 0);
  expect(load({"a", "a long one"}).report, 2, 0);
}

TEST_F(WeightCacheTest, LittleThatIsNewIsNotWorthAWrite) {
  load({std::string(1000, 'a')});
  EXPECT_EQ(load({std::string(1000, 'a'), "b"}).report.written_bytes, 0);
  expect(load({"b"}).report, 0, 1);
}

TEST_F(WeightCacheTest, NeverServesAnotherModel) {
  const std::string old = read(model_);
  load({"a"});
  // As long as before, and a clock that tells nothing.
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
  computed_[0] = 'C';
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
