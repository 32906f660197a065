// Writes the cache file, unless the model has changed or there is too little new data.
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "cache/weight_cache.h"

namespace parallax {
namespace {

/// 1 / this much of a file must be new before it is written again.
constexpr std::int64_t kWorthwhile = 8;

}  // namespace

bool WeightCache::files_are_unchanged() const {
  const auto same = [this](const std::filesystem::path& name, const FileIdentity& identity) {
    const auto now = MappedFile::open(folder_ / name);
    return now && (*now)->identity() == identity;
  };
  return (!main_.file || same(main_.file->path.filename(), main_.file->identity)) &&
         std::ranges::all_of(files_, [&](const auto& f) { return same(f.first, f.second); });
}

/// Returns everything that the next file contains.
BlockFile WeightCache::contents() {
  content_of_main();
  if (unsaved_snapshot_) add_snapshot();
  for (Packed& packed : unsaved_)
    blocks_.insert_or_assign(key_of(packed.place, packed.layout), std::move(packed.bytes));
  unsaved_.clear();
  BlockFile result{options_.version, {}, {}};
  for (const Source& source : sources_) {
    const bool main = source.file.identity == main_identity();
    const auto at =
        result.sources.insert(main ? result.sources.begin() : result.sources.end(), source.file);
    if (source.fresh) at->identity.inode = kNoFile;  // its contents must be hashed again
  }
  for (const auto& [key, packed] : blocks_) result.blocks.push_back({key, packed.bytes});
  return result;
}

void WeightCache::save() {
  std::vector<Packed> gone;  // destroyed without the mutex
  {
    const MutexLock lock(mutex_);
    const bool weights = unsaved_bytes_ > 0 && unsaved_bytes_ >= saved_bytes_ / kWorthwhile;
    if (!weights && !unsaved_snapshot_) return;
    try {
      write();
    } catch (const std::bad_alloc&) {
      report_.problem = "out of memory";
    }
    // If a write failed, writing the same data would fail again with the next shape.
    gone.swap(unsaved_);
    unsaved_snapshot_.reset();
    unsaved_bytes_ = 0;
  }
  tell_log();
}

void WeightCache::write() {
  const BlockFile file = contents();
  saved_bytes_ = 0;
  for (const Block& block : file.blocks) saved_bytes_ += std::ssize(block.bytes);
  // Looked at after their hashes were taken: until then anybody may write.
  if (!files_are_unchanged()) {
    add_problem("the model has changed since it was loaded; it is not cached");
    return;
  }
  const auto written = write_block_file(path_, file);
  if (!written) {
    add_problem(written.error().message);
  } else if (*written) {
    report_.written_bytes = saved_bytes_;
  }
}

}  // namespace parallax
