// Packed weights that outlive the process, and the snapshot of the graph that needs them: one file
// per model in a folder that the user names. The file is mapped, so processes share its memory.
//
// The key of a block covers everything that its bytes depend on: the contents of the file with the
// weights, their place in it (or, for computed weights, their own contents) and the layout. All
// blocks of a file belong to one model and one `version`; a file for another one is replaced.
// Hashing a model needs 25 ms for 265 MB and happens once; later the file's identity replaces the
// hash, unless the file was written to a moment before. A model in memory is hashed at each load.
//
// The key of a snapshot is a name that states the options of the load. A snapshot is valid while
// the model's files have the contents from which it was made. If one of them changes, the cache is
// no longer written, because the mapped bytes, and so their hash, differ from those that were
// loaded.
//
// Thread-safe. Nothing here fails: report() states problems with reading and writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/hash.h"
#include "base/files/mapped_file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "cache/block_file.h"
#include "cache/model_source.h"
#include "cache/snapshot.h"
#include "parallax/report.h"

namespace parallax {

class WeightCache {
 public:
  struct Options {
    std::filesystem::path folder;
    std::string machine;  ///< instruction set; a part of the cache file's name
    std::string version;  ///< version of the code that makes snapshots and packs weights
    Logger log = {};      ///< receives each problem of the report
  };
  /// Opens the cache of the model in `main`, or starts an empty one. Reads the cache file. May hash
  /// a model in memory. A missing or damaged file is no error: the cache begins empty.
  WeightCache(Options options, ModelSource main);

  /// Opens a file of a snapshot by its name. Called under the cache's lock: it must not call the
  /// cache.
  using OpenFile = std::function<Result<std::shared_ptr<const MappedFile>>(const std::string&)>;
  /// Returns the snapshot of that name; its bytes and constants are in the map of the cache file,
  /// which they keep alive. nullopt if there is no such snapshot, or one of its files has changed.
  std::optional<Snapshot> snapshot(const std::string& name, const OpenFile& open);
  /// Stores a new snapshot; the next save() writes it. Either this or a successful snapshot() must
  /// come before the functions below: it defines the constants that are in no file.
  void keep_snapshot(const std::string& name, Snapshot snapshot);
  /// Adds a problem with a snapshot to the report and the log.
  void report_problem(const std::string& problem);
  /// Disables the cache: from now on it finds, stores and writes nothing. Adds `problem` to the
  /// report.
  void close(const std::string& problem);

  /// Returns the packing `layout` of the weights at `source`, `bytes` long; nullopt if the file
  /// does not contain it. The result keeps the map alive. The first call for a file of weights may
  /// hash it, under the cache's lock.
  std::optional<SharedBytes> find(const std::byte* source, const std::string& layout,
                                  std::int64_t bytes);
  /// Returns whether the file is mapped in large pages, so that reading it is as fast as other
  /// memory in large pages; if not, copy large blocks.
  bool in_large_pages() const;
  /// Stores new packed weights; save() writes them. Ignores weights that belong to no known
  /// constant.
  void keep(const std::byte* source, const std::string& layout, SharedBytes packed);
  /// Rewrites the file if there is a new snapshot, or at least an eighth of the bytes are new. The
  /// next process packs less than that again; so not every new shape rewrites the file. Problems go
  /// to the report. Returns without writing if another process is writing the same file, or if a
  /// file of the model has changed.
  void save();

  /// Returns what the cache has done so far, and its problems.
  CacheReport report() const;

 private:
  /// The inode of sources that are not files, or may have changed.
  static constexpr std::uint64_t kNoFile = 0;

  /// The place of weights: in a file, or in an element of computed_.
  struct Place {
    std::optional<MappedPlace> file;
    std::span<const std::byte> computed;
    std::int64_t offset = 0;
  };
  /// Packed weights that are not in the file.
  struct Packed {
    Place place;
    std::string layout;
    SharedBytes bytes;
  };
  struct Source {
    SourceFile file;
    bool fresh = false;  ///< a later write may leave its identity unchanged
  };

  /// Reads the cache file if it exists and belongs to this model and version.
  void open() PX_REQUIRES(mutex_);
  void add_problem(const std::string& problem) PX_REQUIRES(mutex_);
  /// Writes new problems to the log, which is foreign code: the mutex must not be held.
  void tell_log();
  /// Returns whether the file was made from the contents of the main file. May hash the model.
  bool is_of_this_model(const BlockFile& file) PX_REQUIRES(mutex_);
  /// Hashes by address and length.
  using ComputedHashes = std::map<std::pair<const std::byte*, std::size_t>, Hash128>;

  /// Returns the name of the cache file, which contains a hash of the model's path; of its contents
  /// if it is in memory.
  std::filesystem::path file_name() PX_REQUIRES(mutex_);
  /// Returns the identity of the main file; a model in memory only has a size.
  FileIdentity main_identity() const;
  Hash128 content_of_main() PX_REQUIRES(mutex_);
  /// Returns the place of weights; nullopt if they belong to no known constant.
  std::optional<Place> place_of(const std::byte* source) const PX_REQUIRES(mutex_);
  /// Returns the key of a block. May hash the file that contains the weights.
  Hash128 key_of(const Place& place, const std::string& layout) PX_REQUIRES(mutex_);
  /// Return the hash of a source, computed once.
  Hash128 content_of(const FileIdentity& identity, std::span<const std::byte> file)
      PX_REQUIRES(mutex_);
  Hash128 content_of(std::span<const std::byte> computed) PX_REQUIRES(mutex_);
  /// Finds the constants of a snapshot among the blocks. Returns false if one is missing.
  bool find_constants(const SnapshotRecord& record, std::vector<SharedBytes>& constants,
                      ComputedHashes& hashes) const PX_REQUIRES(mutex_);
  std::optional<Snapshot> find_snapshot(const std::string& name, const OpenFile& open);
  /// Opens the files of a snapshot. Returns whether all of them have the expected contents.
  bool is_unchanged(const std::vector<std::pair<std::string, Hash128>>& files, const OpenFile& open,
                    std::vector<NamedFile>& opened) PX_REQUIRES(mutex_);
  /// Returns whether the model's files still have the identity that they were loaded with.
  bool files_are_unchanged() const PX_REQUIRES(mutex_);
  /// Converts the unsaved snapshot to blocks.
  void add_snapshot() PX_REQUIRES(mutex_);
  /// Returns everything that the next file contains.
  BlockFile contents() PX_REQUIRES(mutex_);
  /// Writes the file, unless a file of the model has changed.
  void write() PX_REQUIRES(mutex_);

  const Options options_;
  const ModelSource main_;
  const std::filesystem::path folder_;  ///< folder of files next to the model, as an absolute path
  std::filesystem::path path_;          ///< set once

  mutable Mutex mutex_{LockOrder::kWeightCache};
  std::vector<std::pair<std::string, FileIdentity>> files_ PX_GUARDED_BY(mutex_);  // besides main_
  std::vector<SharedBytes> computed_ PX_GUARDED_BY(mutex_);  // sorted by address
  // The cache file, into which the first of blocks_ point.
  std::shared_ptr<const MappedFile> file_ PX_GUARDED_BY(mutex_);
  std::vector<SourceFile> known_ PX_GUARDED_BY(mutex_);  // sources, as listed in the file
  std::vector<Source> sources_ PX_GUARDED_BY(mutex_);    // sources hashed by this process
  ComputedHashes computed_hashes_ PX_GUARDED_BY(mutex_);
  // The blocks of the file, and those that were written to it later.
  std::map<Hash128, SharedBytes> blocks_ PX_GUARDED_BY(mutex_);
  std::optional<std::pair<std::string, Snapshot>> unsaved_snapshot_ PX_GUARDED_BY(mutex_);
  std::vector<Packed> unsaved_ PX_GUARDED_BY(mutex_);
  std::int64_t unsaved_bytes_ PX_GUARDED_BY(mutex_) = 0, saved_bytes_ PX_GUARDED_BY(mutex_) = 0;
  bool in_large_pages_ PX_GUARDED_BY(mutex_) = false;
  bool closed_ PX_GUARDED_BY(mutex_) = false;
  CacheReport report_ PX_GUARDED_BY(mutex_);
  std::vector<std::string> untold_ PX_GUARDED_BY(mutex_);  // problems that the log has not received
};

}  // namespace parallax
